/*
 * Two texts, line by line: what was replaced by what, where a line went, and
 * the same as a unified diff. Pure.
 *
 * Lines are compared by their bytes, without their line ends. The last line
 * may lack one.
 */
#ifndef STATETAPE_MANAGER_DECIDE_LINEDIFF_H
#define STATETAPE_MANAGER_DECIDE_LINEDIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "graph/base/myers.h"

struct linediff_line {
	const char *at;
	uint32_t len; /* without its end */
};

struct linediff_lines {
	ARRAY(struct linediff_line) rows; /* point into the text */
};

void linediff_lines(struct linediff_lines *ret, const char *text, size_t len);
void linediff_lines_release(struct linediff_lines *l);
/* Lines `first`.. (from 0), at most `count`, as bytes of the text. */
const char *linediff_slice(const struct linediff_lines *l, uint32_t first,
			   uint32_t count, size_t *ret_len);

struct linediff {
	struct linediff_lines before, after;
	struct myers hunks; /* of lines, from 0 */
};

/* The texts must outlive it. */
void linediff_init(struct linediff *ret, const char *before, size_t before_len,
		   const char *after, size_t after_len);
void linediff_release(struct linediff *d);

/*
 * Where the lines [*first, *last) of the text before are in the one after; a
 * line that went counts as the place where it was. False: none of them is
 * left, and the range is empty there.
 */
bool linediff_carry(const struct linediff *d, uint32_t *first, uint32_t *last);
/* Does a hunk touch the lines [first, last) of the text before? */
bool linediff_touches(const struct linediff *d, uint32_t first, uint32_t last);

/*
 * Append hunks that touch [first, last) of the text before, in unified form
 * with `context` lines around. -EMSGSIZE: more than `out` may hold; then
 * nothing was appended.
 */
int linediff_unified(const struct linediff *d, uint32_t first, uint32_t last,
		     uint32_t context, struct buf *out);

#endif
