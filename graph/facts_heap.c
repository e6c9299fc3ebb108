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
 * is neither; what lacks it is left alone, and goes when the heap does.
 *
 * The functions are in place before main() is, for whatever tree-sitter took
 * must be given back as it was taken.
 */
#include "graph/facts_heap.h"

#include <stdint.h>
#include <string.h>
#include <tree_sitter/api.h>

#include "graph/base/memory.h"

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
	struct block *blocks;
	char *at, *end; /* what is left of the newest block */
	size_t bytes;
	bool lost;	     /* something was to be freed that is no cell */
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

static void *cell_from_malloc(size_t size)
{
	struct large *l = must_alloc(sizeof(*l) + size);

	large_link(l, size);
	return &l->cell + 1;
}

static void *cell_resize(struct cell *c, size_t size)
{
	struct large *l = large_of(c);

	large_unlink(l);
	l = must_realloc(l, sizeof(*l) + size);
	large_link(l, size);
	return &l->cell + 1;
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
	if (!is_cell(c)) {
		if (in_use)
			in_use->lost = true;
	} else if (class_of(c) == 0) {
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
	return h;
}

void facts_heap_free(struct facts_heap *h)
{
	struct block *next;
	struct large *l;

	if (!h)
		return;
	while ((l = h->larges.next) != &h->larges) {
		large_unlink(l);
		free(l);
	}
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

bool facts_heap_has_lost(const struct facts_heap *h)
{
	return h->lost;
}
