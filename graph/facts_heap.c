/*
 * A cell is preceded by a word that tells its size and whose it is, so that
 * cells from malloc() (large ones, and those from before a heap was in use)
 * can be told from ours. Under the address sanitizer all are malloc()'s.
 */
#include "graph/facts_heap.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <tree_sitter/api.h>

#include "graph/base/memory.h"

#define STEP	16u
#define CLASSES 64u /* cells of up to CLASSES * STEP bytes are ours */
#define BLOCK	(256u << 10)

struct cell {
	uint32_t class; /* 0: from malloc() */
	uint32_t size;	/* asked for, at most UINT32_MAX */
};

struct free_cell {
	struct free_cell *next;
};

struct block {
	struct block *next;
	char bytes[];
};

struct facts_heap {
	struct block *blocks;
	char *at, *end; /* what is left of the newest block */
	size_t bytes;
	struct free_cell *free[CLASSES + 1];
};

static __thread struct facts_heap *in_use;

static void *cell_from_malloc(size_t size)
{
	struct cell *c = must_alloc(sizeof(*c) + size);

	c->class = 0;
	c->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	return c + 1;
}

static struct cell *cell_cut(struct facts_heap *h, size_t bytes)
{
	struct cell *c;

	if ((size_t)(h->end - h->at) < bytes) {
		struct block *b = must_alloc(sizeof(*b) + BLOCK);

		b->next = h->blocks;
		h->blocks = b;
		h->at = b->bytes;
		h->end = b->bytes + BLOCK;
		h->bytes += BLOCK;
	}
	c = (struct cell *)(void *)h->at;
	h->at += bytes;
	return c;
}

static void *heap_alloc(size_t size)
{
	struct facts_heap *h = in_use;
	uint32_t class = (uint32_t)((size + STEP - 1) / STEP);
	struct free_cell *f;
	struct cell *c;

	if (!h || size == 0 || size > CLASSES * STEP)
		return cell_from_malloc(size);
	f = h->free[class];
	if (f) {
		h->free[class] = f->next;
		c = (struct cell *)(void *)f - 1;
	} else {
		c = cell_cut(h, sizeof(*c) + class * STEP);
		c->class = class;
	}
	c->size = (uint32_t)size;
	return c + 1;
}

static void heap_free(void *p)
{
	struct cell *c = p;
	struct free_cell *f = p;

	if (!p)
		return;
	c--;
	if (!c->class) {
		free(c);
	} else if (in_use) {
		f->next = in_use->free[c->class];
		in_use->free[c->class] = f;
	}
}

static void *heap_calloc(size_t count, size_t size)
{
	void *p = heap_alloc(count * size);

	memset(p, 0, count * size);
	return p;
}

static void *heap_realloc(void *p, size_t size)
{
	struct cell *c = p;
	void *to;

	if (!p)
		return heap_alloc(size);
	c--;
	if (c->class && size <= c->class * STEP) {
		c->size = (uint32_t)size;
		return p;
	}
	if (!c->class && size > CLASSES * STEP) {
		c = must_realloc(c, sizeof(*c) + size);
		c->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
		return c + 1;
	}
	to = heap_alloc(size);
	memcpy(to, p, c->size < size ? c->size : size);
	heap_free(p);
	return to;
}

static void set_allocator(void)
{
#ifndef __SANITIZE_ADDRESS__
	ts_set_allocator(heap_alloc, heap_calloc, heap_realloc, heap_free);
#endif
}

struct facts_heap *facts_heap_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, set_allocator);
	return must_calloc(1, sizeof(struct facts_heap));
}

void facts_heap_free(struct facts_heap *h)
{
	struct block *next;

	if (!h)
		return;
	for (struct block *b = h->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(h);
}

struct facts_heap *facts_heap_use(struct facts_heap *h)
{
	struct facts_heap *former = in_use;

	in_use = h;
	return former;
}

size_t facts_heap_bytes(const struct facts_heap *h)
{
	return h->bytes;
}
