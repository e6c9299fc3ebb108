/*
 * The difference of two texts by lines: hunks, where a line went, and a unified
 * diff. Pure.
 *
 * Lines are compared by their bytes without the line end, which the last line
 * may lack.
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
/* The bytes of at most `count` lines from `first` (from 0) on. */
const char *linediff_slice(const struct linediff_lines *l, uint32_t first,
			   uint32_t count, size_t *ret_len);

/* Lines [first, last), from 0. */
struct range {
	uint32_t first, last;
};

struct linediff {
	struct linediff_lines before, after;
	struct myers hunks; /* of lines, from 0 */
};

/* The texts must outlive *ret. */
void linediff_init(struct linediff *ret, const char *before, size_t before_len,
		   const char *after, size_t after_len);
void linediff_release(struct linediff *d);

/*
 * Map lines [*first, *last) of the old text to the new one; a removed line maps
 * to the position it had. False: no line is left, and the range is empty.
 */
bool linediff_carry(const struct linediff *d, uint32_t *first, uint32_t *last);
/* Does a hunk touch lines [first, last) of the old text? */
bool linediff_touches(const struct linediff *d, uint32_t first, uint32_t last);

/*
 * Does each hunk that touches one of these ranges of the old text lie inside
 * one? Else its new lines may be those of other places, too.
 */
bool linediff_inside(const struct linediff *d, const struct range *ranges,
		     uint32_t count);

/*
 * Append the hunks inside `ranges` of the old text as a unified diff with up to
 * `context` lines around, none of them outside of the ranges. -EMSGSIZE: `out`
 * cannot hold it, and nothing was appended.
 */
int linediff_unified(const struct linediff *d, const struct range *ranges,
		     uint32_t count, uint32_t context, struct buf *out);

#endif
