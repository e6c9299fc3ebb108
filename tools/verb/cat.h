/* The argument and the answer that cat and restore share. */
#ifndef STATETAPE_TOOLS_VERB_CAT_H
#define STATETAPE_TOOLS_VERB_CAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tape_reader;

/* Parse "N:PATH". On failure prints a message and returns false. */
bool cat_split(const char *verb, const char *argument, uint64_t *ret_n,
	       const char **ret_path);
/* The file as of entry `n` (free it); NULL: failed, with a message. */
char *cat_fetch(struct tape_reader *t, uint64_t n, const char *path,
		size_t *ret_len);

#endif
