/*
 * Three-way merge of texts by lines, as diff3 and git do it. Pure.
 *
 * `base` was changed in two ways, into `mine` and into `theirs`; the result has
 * both. Changes of the two sides conflict if no unchanged line lies between
 * them, unless they are the same change. Lines end with a line feed; a last
 * line without one differs from the same line with one.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_MERGE_H
#define STATETAPE_TOOLS_VERB_UNDO_MERGE_H

#include <stddef.h>
#include <stdint.h>

struct merge_text {
	const char *at;
	size_t len;
};

/* Which side a conflict is decided for. */
enum merge_favour { MERGE_NONE, MERGE_MINE, MERGE_THEIRS };

/* Lines of `mine`, from 1; `count` may be 0: behind line `line`. */
struct merge_conflict {
	uint32_t line, count;
};

struct merge {
	char *text; /* with a NUL behind it; NULL: conflicts, and no favour */
	size_t len;
	struct merge_conflict *conflicts; /* also those that were decided */
	size_t conflicts_count;
};

/* Release `ret` with merge_release(). */
void merge_init(struct merge *ret, struct merge_text base,
		struct merge_text mine, struct merge_text theirs,
		enum merge_favour favour);
/* Accepts a zeroed struct. */
void merge_release(struct merge *m);

#endif
