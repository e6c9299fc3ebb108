/*
 * Which entry wrote each line of one version of a file. Start with the lines of
 * that version, then go back entry by entry, newest first: a line that an entry
 * wrote is that entry's, any other is followed to its place before the entry.
 * Going back needs the ranges alone, no older content. Pure.
 */
#ifndef STATETAPE_TAPE_QUERY_LINES_H
#define STATETAPE_TAPE_QUERY_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "tape/store/entry.h"

struct lines {
	uint64_t *entry; /* of each line, 0: none found so far */
	uint32_t *place; /* of those in the version reached, from 1 */
	uint32_t count;
	uint32_t left; /* lines without an entry */
};

/* Release it with lines_release(), which accepts a zeroed struct. */
void lines_init(struct lines *l, uint32_t count);
void lines_release(struct lines *l);

/*
 * Entry `n` made the version reached by these ranges, in order as in an entry,
 * from an older one: that one is reached next.
 */
void lines_back(struct lines *l, uint64_t n, const struct entry_range *ranges,
		size_t count);
/* All lines that are left are entry `n`'s. */
void lines_rest(struct lines *l, uint64_t n);

#endif
