/*
 * A cell is preceded by a word that holds its size class, so that cells from
 * malloc() (large ones, and those allocated while no heap was in use) can be
 * told from cells of a heap. Under the address sanitizer every cell is from
 * malloc(), so that it sees what the grammar's scanner does with them.
 *
 * The functions are installed before main(): tree-sitter must free with the
 * allocator that it allocated with.
 */
#include "graph/facts/python/parse_heap.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>

#include "graph/base/alloc.h"

#if defined(__has_feature)
#define ALL_LARGE __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define ALL_LARGE 1
#else
#define ALL_LARGE 0
#endif

#define STEP	((size_t)16)
#define CLASSES ((size_t)64) /* cells of up to CLASSES * STEP bytes: ours */
#define BLOCK	((size_t)256 << 10)
/* How many blocks stay after clearing; a very large file may take more. */
#define BLOCKS_KEPT 128

/*
 * The parser's work is counted as WORK_CELL per cell and the size of each large
 * one, because lists of children are copied there. A text without errors takes
 * at most eight cells a token and few large ones; but recovering from errors
 * copies an ever longer list again and again, which takes a second for half a
 * gigabyte.
 */
#define WORK_CELL 64u
#define WORK_MAX  ((size_t)1 << 30)

/* Before each cell. */
struct cell {
	size_t class; /* its size in STEPs; 0: from malloc() */
};

/* A cell from malloc(), in a ring with the others of its heap. */
struct large {
	struct large *next, *prev;
	struct cell cell;
};

struct free_cell {
	struct free_cell *next;
};

struct block {
	struct block *next;
	char bytes[];
};

struct parse_heap {
	struct block *first; /* of all blocks, in use or not */
	struct block *block; /* the last one in use */
	char *at, *end;	     /* the rest of that one */
	size_t work;	     /* since the heap was cleared */
	size_t exhausted;    /* 1: work exceeds WORK_MAX */
	struct large larges; /* the head of their ring */
	struct free_cell *free[CLASSES + 1];
};

static __thread struct parse_heap *in_use;

static struct large *large_of(struct cell *c)
{
	return (struct large *)(void *)((char *)c -
					offsetof(struct large, cell));
}

/* With no heap in use, a large cell is alone in its ring. */
static void large_link(struct large *l)
{
	l->cell.class = 0;
	l->next = l->prev = l;
	if (!in_use)
		return;
	l->prev = &in_use->larges;
	l->next = in_use->larges.next;
	l->next->prev = l;
	l->prev->next = l;
}

static void large_unlink(struct large *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
}

static void count_work(size_t size)
{
	if (!in_use)
		return;
	in_use->work += WORK_CELL + (size > CLASSES * STEP ? size : 0);
	if (in_use->work > WORK_MAX)
		in_use->exhausted = 1;
}

static void *large_alloc(size_t size)
{
	struct large *l = must_alloc(sizeof(*l) + size);

	large_link(l);
	return &l->cell + 1;
}

static void *large_resize(struct large *l, size_t size)
{
	count_work(size);
	large_unlink(l);
	l = must_realloc(l, sizeof(*l) + size);
	large_link(l);
	return &l->cell + 1;
}

static struct block *block_new(void)
{
	struct block *b = must_alloc(sizeof(*b) + BLOCK);

	b->next = NULL;
	return b;
}

static void block_use(struct parse_heap *h, struct block *b)
{
	h->block = b;
	h->at = b->bytes;
	h->end = b->bytes + BLOCK;
}

static struct cell *cell_cut(struct parse_heap *h, size_t bytes)
{
	struct cell *c;

	if ((size_t)(h->end - h->at) < bytes) {
		if (!h->block->next)
			h->block->next = block_new();
		block_use(h, h->block->next);
	}
	assert((size_t)(h->end - h->at) >= bytes);
	c = (struct cell *)(void *)h->at;
	h->at += bytes;
	return c;
}

static void *heap_alloc(size_t size)
{
	struct parse_heap *h = in_use;
	size_t class = (size + STEP - 1) / STEP;
	struct free_cell *f;
	struct cell *c;

	count_work(size);
	if (!h || ALL_LARGE || class == 0 || class > CLASSES)
		return large_alloc(size);
	f = h->free[class];
	if (f) {
		h->free[class] = f->next;
		return f;
	}
	c = cell_cut(h, sizeof(*c) + class * STEP);
	c->class = class;
	return c + 1;
}

static void heap_free(void *p)
{
	struct cell *c = p;
	struct free_cell *f = p;

	if (!p)
		return;
	c--;
	assert(c->class <= CLASSES);
	if (c->class == 0) {
		large_unlink(large_of(c));
		free(large_of(c));
		return;
	}
	assert(in_use);
	f->next = in_use->free[c->class];
	in_use->free[c->class] = f;
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
	size_t held;
	void *to;

	if (!p)
		return heap_alloc(size);
	c--;
	assert(c->class <= CLASSES);
	if (c->class == 0)
		return large_resize(large_of(c), size);
	held = c->class * STEP;
	if (size <= held)
		return p;
	to = heap_alloc(size);
	memcpy(to, p, held);
	heap_free(p);
	return to;
}

__attribute__((constructor)) static void set_allocator(void)
{
	ts_set_allocator(heap_alloc, heap_calloc, heap_realloc, heap_free);
}

struct parse_heap *parse_heap_new(void)
{
	struct parse_heap *h = must_calloc(1, sizeof(*h));

	h->larges.next = h->larges.prev = &h->larges;
	h->first = block_new();
	block_use(h, h->first);
	return h;
}

static void free_larges(struct parse_heap *h)
{
	struct large *l;

	while ((l = h->larges.next) != &h->larges) {
		large_unlink(l);
		free(l);
	}
}

static void free_blocks(struct block *b)
{
	struct block *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
}

void parse_heap_clear(struct parse_heap *h)
{
	struct block *last = h->first;

	free_larges(h);
	for (unsigned n = 1; n < BLOCKS_KEPT && last->next; n++)
		last = last->next;
	free_blocks(last->next);
	last->next = NULL;
	memset(h->free, 0, sizeof(h->free));
	h->work = h->exhausted = 0;
	block_use(h, h->first);
}

void parse_heap_free(struct parse_heap *h)
{
	if (!h)
		return;
	assert(in_use != h);
	free_larges(h);
	free_blocks(h->first);
	free(h);
}

struct parse_heap *parse_heap_use(struct parse_heap *h)
{
	struct parse_heap *former = in_use;

	in_use = h;
	return former;
}

const size_t *parse_heap_exhausted(const struct parse_heap *h)
{
	return &h->exhausted;
}
