/*
 * Small pieces of memory in one region, known by numbers that stay what they
 * are when the region is written to a file and mapped elsewhere. Who gives a
 * piece back says how large it was, so no piece has a header: lists that grow
 * keep their room anyway.
 *
 * Pieces keep their addresses as long as they are taken. Memory that cannot
 * be had ends the process. One thread's at a time.
 */
#ifndef STATETAPE_GRAPH_BASE_HEAP_H
#define STATETAPE_GRAPH_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "graph/base/region.h"

#define HEAP_CELL    8 /* bytes; pieces are aligned to this */
#define HEAP_CLASSES 128

typedef uint32_t heap_t; /* a piece; 0: none */

struct heap {
	struct region region;
	struct {
		uint64_t used; /* cells, from the start of the region */
		uint64_t idle; /* of them, given back */
		heap_t given[HEAP_CLASSES]; /* first given back of a size */
	} numbers;
};

void heap_init(struct heap *h);
void heap_release(struct heap *h);

/* Not set. Of 0 bytes: none. */
heap_t heap_take(struct heap *h, size_t bytes);
/* A piece of `bytes` bytes, or of as many as heap_room() made of them. */
void heap_give(struct heap *h, heap_t piece, size_t bytes);
/* How many bytes a piece has that was taken for `bytes`. */
size_t heap_room(size_t bytes);

/*
 * A list of *size elements, *piece, made to hold at least `need` of them. Of
 * elements a whole number makes a cell. Grows by half, as must_grow() does,
 * but begins with what is needed.
 */
void heap_grow(struct heap *h, heap_t *piece, uint32_t *size, size_t need,
	       size_t element);

static inline void *heap_at(const struct heap *h, heap_t piece)
{
	return h->region.at + (size_t)piece * HEAP_CELL;
}

/* Of an address within the heap's region; NULL is none. */
static inline heap_t heap_number(const struct heap *h, const void *at)
{
	return at ? (heap_t)((size_t)((const char *)at - h->region.at) /
			     HEAP_CELL)
		  : 0;
}

/* What it consists of. */
#define HEAP_PARTS 2
void heap_parts(struct heap *h, struct region_part *ret);

#endif
