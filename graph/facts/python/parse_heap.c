/*
 * A cell is preceded by a word that tells its size and whose it is, so that
 * cells from malloc() (large ones, and those from before a heap was in use)
 * can be told from ours. Under the address sanitizer all are malloc()'s.
 *
 * That word also guards against a mistake of tree-sitter 0.20, which keeps a
 * node's number of children in 16 bits. The node of an error takes all that
 * is open when the text ends, and a hundred thousand brackets are open easily.
 * Such a node is read short, which does no harm; but when it is freed, its
 * memory is taken to begin later than it does, among the children, and free()
 * would end the process. A child is a pointer or a small node: a word whose
 * last three bits are zero, or whose last one is set. Ours end in MARK, which
 * is neither; what lacks it is left alone, and goes when the heap is cleared.
 *
 * The functions are in place before main() is, for whatever tree-sitter took
 * must be given back as it was taken.
 */
#include "graph/facts/python/parse_heap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
#define CLASSES 64u /* cells of up to CLASSES * STEP bytes are ours */
#define BLOCK	((size_t)256 << 10)
/* What a very large file left behind is not kept for the next small one. */
#define BLOCKS_KEPT 128

/*
 * What work is: a cell, and every byte of a large one, for children are copied
 * there. A text without errors takes at most eight cells a token, and large
 * ones are few; but recovering from errors copies an ever longer list again and
 * again, which is a second for half a gigabyte.
 */
#define WORK_CELL 64u
#define WORK_MAX  ((size_t)1 << 30)

#define MARK_BITS 3
#define MARK	  2u

struct cell {
	uint32_t tag;  /* class, and MARK; of class 0: from malloc() */
	uint32_t size; /* asked for, at most UINT32_MAX */
};

/* A cell from malloc(), and those taken before and after it. */
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

struct facts_heap {
	struct block *first; /* of those that are here, in use or not */
	struct block *block; /* the last in use */
	char *at, *end;	     /* what is left of it */
	size_t work;	     /* since it was clear */
	size_t weary;	     /* 1: it is more than WORK_MAX */
	struct large larges; /* the head of their ring */
	struct free_cell *free[CLASSES + 1];
};

static __thread struct facts_heap *in_use;

static uint32_t tag_of(uint32_t class)
{
	return class << MARK_BITS | MARK;
}

static uint32_t class_of(const struct cell *c)
{
	return c->tag >> MARK_BITS;
}

static bool is_cell(const struct cell *c)
{
	return (c->tag & ((1u << MARK_BITS) - 1)) == MARK;
}

static struct large *large_of(struct cell *c)
{
	return (struct large *)(void *)((char *)c -
					offsetof(struct large, cell));
}

/* Outside of any heap it is alone in its ring. */
static void large_link(struct large *l, size_t size)
{
	l->cell.tag = tag_of(0);
	l->cell.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
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

static void work(size_t size)
{
	if (!in_use)
		return;
	in_use->work += WORK_CELL + (size > CLASSES * STEP ? size : 0);
	if (in_use->work > WORK_MAX)
		in_use->weary = 1;
}

static void *cell_from_malloc(size_t size)
{
	struct large *l = must_alloc(sizeof(*l) + size);

	large_link(l, size);
	return &l->cell + 1;
}

static void *cell_resize(struct cell *c, size_t size)
{
	struct large *l = large_of(c);

	work(size);
	large_unlink(l);
	l = must_realloc(l, sizeof(*l) + size);
	large_link(l, size);
	return &l->cell + 1;
}

static struct block *block_new(void)
{
	struct block *b = must_alloc(sizeof(*b) + BLOCK);

	b->next = NULL;
	return b;
}

static void block_use(struct facts_heap *h, struct block *b)
{
	h->block = b;
	h->at = b->bytes;
	h->end = b->bytes + BLOCK;
}

static struct cell *cell_cut(struct facts_heap *h, size_t bytes)
{
	struct cell *c;

	if ((size_t)(h->end - h->at) < bytes) {
		if (!h->block->next)
			h->block->next = block_new();
		block_use(h, h->block->next);
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

	work(size);
	if (!h || ALL_LARGE || size == 0 || size > CLASSES * STEP)
		return cell_from_malloc(size);
	f = h->free[class];
	if (f) {
		h->free[class] = f->next;
		c = (struct cell *)(void *)f - 1;
	} else {
		c = cell_cut(h, sizeof(*c) + class * STEP);
		c->tag = tag_of(class);
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
	if (!is_cell(c))
		return;
	if (class_of(c) == 0) {
		large_unlink(large_of(c));
		free(large_of(c));
	} else if (in_use) {
		f->next = in_use->free[class_of(c)];
		in_use->free[class_of(c)] = f;
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
	if (class_of(c) && size <= class_of(c) * STEP) {
		c->size = (uint32_t)size;
		return p;
	}
	if (!class_of(c) && size > CLASSES * STEP)
		return cell_resize(c, size);
	to = heap_alloc(size);
	memcpy(to, p, c->size < size ? c->size : size);
	heap_free(p);
	return to;
}

__attribute__((constructor)) static void set_allocator(void)
{
	ts_set_allocator(heap_alloc, heap_calloc, heap_realloc, heap_free);
}

struct facts_heap *facts_heap_new(void)
{
	struct facts_heap *h = must_calloc(1, sizeof(*h));

	h->larges.next = h->larges.prev = &h->larges;
	h->first = block_new();
	block_use(h, h->first);
	return h;
}

static void free_larges(struct facts_heap *h)
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

void facts_heap_clear(struct facts_heap *h)
{
	struct block *last = h->first;

	free_larges(h);
	for (unsigned n = 1; n < BLOCKS_KEPT && last->next; n++)
		last = last->next;
	free_blocks(last->next);
	last->next = NULL;
	memset(h->free, 0, sizeof(h->free));
	h->work = h->weary = 0;
	block_use(h, h->first);
}

void facts_heap_free(struct facts_heap *h)
{
	if (!h)
		return;
	free_larges(h);
	free_blocks(h->first);
	free(h);
}

struct facts_heap *facts_heap_use(struct facts_heap *h)
{
	struct facts_heap *former = in_use;

	in_use = h;
	return former;
}

const size_t *facts_heap_weary(const struct facts_heap *h)
{
	return &h->weary;
}
