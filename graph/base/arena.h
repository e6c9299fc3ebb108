/*
 * Memory that is given back all at once. Nothing in an arena is freed alone,
 * and what was taken keeps its address until then.
 *
 * A zeroed struct is an empty arena. Memory that cannot be had ends the
 * process (base/alloc.h), so no call fails. One thread's at a time.
 */
#ifndef STATETAPE_GRAPH_BASE_ARENA_H
#define STATETAPE_GRAPH_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* the newest first */
	size_t left;		    /* bytes in that one */
	size_t bytes;		    /* held from malloc(), all in all */
};

/* Aligned for any type, not set. Of size 0: an address, not NULL. */
void *arena_take(struct arena *a, size_t size);
/* A copy of `len` bytes, with a NUL behind them. */
char *arena_copy(struct arena *a, const char *text, size_t len);
/* All of it is given back, and the arena is empty again. */
void arena_release(struct arena *a);

#endif
