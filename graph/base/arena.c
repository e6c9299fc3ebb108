#include "graph/base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "graph/base/alloc.h"

#define CHUNK ((size_t)64 * 1024) /* bytes of a chunk, with its header */

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
	alignas(max_align_t) char memory[];
};

/*
 * A large piece gets a chunk of its own. It is linked after the newest chunk,
 * which keeps serving small pieces from the room it has left.
 */
static void *take_large(struct arena *a, size_t size)
{
	struct arena_chunk *c = must_alloc(sizeof(*c) + size);

	c->size = sizeof(*c) + size;
	a->bytes += c->size;
	if (a->chunks) {
		c->next = a->chunks->next;
		a->chunks->next = c;
	} else {
		c->next = NULL;
		a->chunks = c;
		a->left = 0;
	}
	return c->memory;
}

static void add_chunk(struct arena *a)
{
	struct arena_chunk *c = must_alloc(CHUNK);

	c->size = CHUNK;
	c->next = a->chunks;
	a->chunks = c;
	a->left = CHUNK - sizeof(*c);
	a->bytes += CHUNK;
}

void *arena_take(struct arena *a, size_t size)
{
	const size_t align = alignof(max_align_t);
	char *end;

	if (size > SIZE_MAX - CHUNK)
		abort();
	size = (size + align - 1) & ~(align - 1);
	if (size > CHUNK / 4)
		return take_large(a, size);
	if (size > a->left || !a->chunks)
		add_chunk(a);
	assert(size <= a->left && a->left < a->chunks->size);
	end = (char *)a->chunks + a->chunks->size;
	a->left -= size;
	return end - a->left - size;
}

char *arena_copy(struct arena *a, const char *text, size_t len)
{
	char *copy = arena_take(a, len + 1);

	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void arena_release(struct arena *a)
{
	struct arena_chunk *c, *next;

	for (c = a->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	*a = (struct arena){ 0 };
}
