/*
 * An allocator of small pieces in one region. Pieces are known by numbers,
 * which stay valid when the region is written to a file and mapped at another
 * address. A piece has no header: the caller passes its size to heap_give(),
 * which growable lists know anyway.
 *
 * A piece keeps its address until it is given back. The process ends if memory
 * runs out. One thread at a time.
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
		uint64_t used; /* cells handed out so far, free ones included */
		uint64_t idle; /* free ones among them */
		heap_t given[HEAP_CLASSES]; /* heads of the free lists */
	} numbers;
};

void heap_init(struct heap *h);
void heap_release(struct heap *h);

/* Uninitialized. Of 0 bytes: 0. */
heap_t heap_take(struct heap *h, size_t bytes);
/* Free a piece; `bytes` as it was taken, or what heap_room() says of that. */
void heap_give(struct heap *h, heap_t piece, size_t bytes);
/* The usable size of a piece that was taken for `bytes`. */
size_t heap_room(size_t bytes);

/*
 * Reallocate *piece, a list of *size elements, to hold at least `need`. The
 * size of an element divides HEAP_CELL. Grows by half, like must_grow(), but a
 * new list gets just the room it needs.
 */
void heap_grow(struct heap *h, heap_t *piece, uint32_t *size, size_t need,
	       size_t element);

static inline void *heap_at(const struct heap *h, heap_t piece)
{
	return h->region.at + (size_t)piece * HEAP_CELL;
}

/* The number of the piece at an address; of NULL: 0. */
static inline heap_t heap_number(const struct heap *h, const void *at)
{
	return at ? (heap_t)((size_t)((const char *)at - h->region.at) /
			     HEAP_CELL)
		  : 0;
}

/* The parts to write to a file and to map again. */
#define HEAP_PARTS 2
void heap_parts(struct heap *h, struct region_part *ret);

#endif
