/*
 * Memory that is freed all at once: arena_release() frees every piece taken
 * from the arena, and until then no piece moves or is freed alone.
 *
 * A zeroed struct is an empty arena. No call fails: the process ends if memory
 * runs out (graph/base/alloc.h). One thread at a time.
 */
#ifndef STATETAPE_GRAPH_BASE_ARENA_H
#define STATETAPE_GRAPH_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* newest first */
	size_t left;		    /* free bytes in the newest */
	size_t bytes;		    /* of all chunks */
};

/* Aligned for any type, uninitialized. Of size 0: not NULL either. */
void *arena_take(struct arena *a, size_t size);
/* A copy of `len` bytes with a NUL after them. */
char *arena_copy(struct arena *a, const char *text, size_t len);
/* Frees everything; the arena is empty again. */
void arena_release(struct arena *a);

#endif
