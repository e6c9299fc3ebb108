/*
 * The lines of a file as BLAME answers them, for `blame -l` and `notes`.
 */
#ifndef STATETAPE_TOOLS_VERB_BLAME_LINES_H
#define STATETAPE_TOOLS_VERB_BLAME_LINES_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct tape_reader;

/*
 * Ask for the lines of `path` (relative to the root) as of entry `n`,
 * UINT64_MAX: now. On failure returns a negative errno; `why` (if given) is the
 * sentence (free it).
 */
int blame_lines_ask(struct tape_reader *t, const char *path, uint64_t n,
		    cJSON **ret, char **why);
/* The entry of that number in the answer; NULL: the tape has it no more. */
const cJSON *blame_lines_entry(const cJSON *answer, uint64_t n);

/* `statetape blame -l FILE`. Returns an exit code, after a message. */
int blame_lines(struct tape_reader *t, const char *file, bool json);

#endif
