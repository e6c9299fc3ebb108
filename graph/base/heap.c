/*
 * Sizes are counted in cells and rounded up to size classes: every number up
 * to 8, then four classes per doubling. Each class has a free list, linked
 * through the first cell of its pieces. Pieces are never split or joined:
 * lists come in few sizes, and one list grows into the piece that another
 * outgrew.
 */
#include "graph/base/heap.h"

#include <assert.h>
#include <string.h>

/* For the address sanitizer: forbid free pieces, and bytes beyond a size. */
#if defined(__SANITIZE_ADDRESS__)
#define HEAP_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEAP_SANITIZED
#endif
#endif
#ifdef HEAP_SANITIZED
#include <sanitizer/asan_interface.h>
#define FORBID(at, size) ASAN_POISON_MEMORY_REGION(at, size)
#define ALLOW(at, size)	 ASAN_UNPOISON_MEMORY_REGION(at, size)
#else
#define FORBID(at, size) ((void)(at), (void)(size))
#define ALLOW(at, size)	 ((void)(at), (void)(size))
#endif

#include "graph/base/alloc.h"

#define EXACT 8 /* the classes up to this one hold one size each */

static unsigned class_of(size_t cells)
{
	unsigned shift;

	if (cells <= EXACT)
		return (unsigned)cells;
	/* 4 << shift < cells <= 8 << shift */
	shift = 61 - (unsigned)__builtin_clzll(cells - 1);
	return EXACT + 4 * (shift - 1) + (unsigned)((cells - 1) >> shift) - 3;
}

static size_t class_cells(unsigned class)
{
	unsigned step = class - EXACT;

	if (class <= EXACT)
		return class;
	return (size_t)(5 + (step - 1) % 4) << ((step - 1) / 4 + 1);
}

static size_t cells_of(size_t bytes)
{
	return bytes / HEAP_CELL + (bytes % HEAP_CELL != 0);
}

size_t heap_room(size_t bytes)
{
	size_t cells = cells_of(bytes), room = class_cells(class_of(cells));

	assert(room >= cells);
	return room * HEAP_CELL;
}

void heap_init(struct heap *h)
{
	*h = (struct heap){ .numbers = { .used = 1 } };
	region_init(&h->region);
	region_need(&h->region, 1, HEAP_CELL);
}

void heap_release(struct heap *h)
{
	ALLOW(h->region.at, h->region.size);
	region_release(&h->region);
}

heap_t heap_take(struct heap *h, size_t bytes)
{
	unsigned class = class_of(cells_of(bytes));
	size_t cells = class_cells(class);
	heap_t piece;

	assert(class < HEAP_CLASSES);
	piece = h->numbers.given[class];
	if (!cells)
		return 0;
	if (piece) {
		ALLOW(heap_at(h, piece), HEAP_CELL);
		memcpy(&h->numbers.given[class], heap_at(h, piece),
		       sizeof(piece));
		h->numbers.idle -= cells;
	} else {
		if (h->numbers.used + cells > UINT32_MAX)
			(void)must_alloc(SIZE_MAX / 2);
		piece = (heap_t)h->numbers.used;
		h->numbers.used += cells;
		region_need(&h->region, h->numbers.used, HEAP_CELL);
	}
	ALLOW(heap_at(h, piece), bytes);
	return piece;
}

void heap_give(struct heap *h, heap_t piece, size_t bytes)
{
	unsigned class = class_of(cells_of(bytes));

	if (!piece)
		return;
	assert(class < HEAP_CLASSES);
	ALLOW(heap_at(h, piece), HEAP_CELL);
	memcpy(heap_at(h, piece), &h->numbers.given[class], sizeof(piece));
	h->numbers.given[class] = piece;
	h->numbers.idle += class_cells(class);
	FORBID(heap_at(h, piece), class_cells(class) * HEAP_CELL);
}

void heap_grow(struct heap *h, heap_t *piece, uint32_t *size, size_t need,
	       size_t element)
{
	size_t more = *size ? (size_t)*size + *size / 2 : need;
	heap_t larger;

	assert(element && HEAP_CELL % element == 0);
	if (need <= *size)
		return;
	if (more < need)
		more = need;
	more = heap_room(more * element) / element;
	larger = heap_take(h, more * element);
	memcpy(heap_at(h, larger), heap_at(h, *piece), *size * element);
	heap_give(h, *piece, *size * element);
	*piece = larger;
	*size = (uint32_t)more;
	assert(*size >= need);
}

void heap_parts(struct heap *h, struct region_part *ret)
{
	/* Free pieces are written, too. */
	ALLOW(h->region.at, h->region.size);
	ret[0] = (struct region_part){ .numbers = &h->numbers,
				       .bytes = sizeof(h->numbers) };
	ret[1] = (struct region_part){ .region = &h->region,
				       .bytes = h->numbers.used * HEAP_CELL };
}
