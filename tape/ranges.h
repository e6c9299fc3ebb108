/*
 * Which lines differ between two texts: ranges as a diff tells them. Lines end
 * with a line feed; a last one without it is a line too, and another one than
 * the same with it. Pure.
 *
 * The ranges are the fewest that can be (Myers) as long as few lines differ;
 * where finding these would cost too much, ranges are larger than need be,
 * but never miss a line that changed.
 */
#ifndef STATETAPE_TAPE_RANGES_H
#define STATETAPE_TAPE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "tape/store/entry.h"

struct ranges {
	struct entry_range *ranges; /* in order, none touching another */
	size_t count;
	uint32_t plus, minus; /* lines that came, lines that went */
};

/* Release `ret` with ranges_release(). */
void ranges_init(struct ranges *ret, const char *before, size_t before_len,
		 const char *after, size_t after_len);
/* Accepts a zeroed struct. */
void ranges_release(struct ranges *l);

/* How many lines a text has. */
uint32_t ranges_lines(const char *text, size_t len);

#endif
