/*
 * Which lines differ between two texts, as ranges of a diff. Lines end with a
 * line feed; a last line without one counts, and differs from the same line
 * with one. Pure.
 *
 * The ranges are minimal (Myers) as long as few lines differ. Where finding
 * these would cost too much, ranges are larger than necessary, but never miss a
 * changed line.
 */
#ifndef STATETAPE_TAPE_RANGES_H
#define STATETAPE_TAPE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "tape/store/entry.h"

struct ranges {
	struct entry_range *ranges; /* in order, none touching another */
	size_t count;
	uint32_t plus, minus; /* lines added, lines removed */
};

/* Release `ret` with ranges_release(). */
void ranges_init(struct ranges *ret, const char *before, size_t before_len,
		 const char *after, size_t after_len);
/* Accepts a zeroed struct. */
void ranges_release(struct ranges *l);

/* How many lines a text has. */
uint32_t ranges_lines(const char *text, size_t len);

#endif
