/*
 * The shortest diff of two sequences, by Myers' greedy method. Pure. The
 * process ends if memory runs out (graph/base/alloc.h).
 */
#ifndef STATETAPE_GRAPH_BASE_MYERS_H
#define STATETAPE_GRAPH_BASE_MYERS_H

#include <stdbool.h>
#include <stdint.h>

/* Elements count from 0. `before_count` elements became `after_count` others;
   one of the counts may be 0. */
struct myers_hunk {
	uint32_t before, before_count;
	uint32_t after, after_count;
};

/* Zeroed: no hunks. An array as in graph/base/array.h. */
struct myers {
	struct myers_hunk *at; /* rising; at least one element between two */
	uint32_t count;
	uint32_t size;
};

/* Two sequences, which the caller compares. */
struct myers_input {
	uint32_t before_count, after_count;
	/* Is element `before` of the one equal to `after` of the other? */
	bool (*is_same)(const void *ctx, uint32_t before, uint32_t after);
	const void *ctx;
	/*
	 * The most elements that may differ, below 32768; time and memory grow
	 * with its square. If more differ, everything between the common start
	 * and end is one hunk: longer than need be, but it misses nothing.
	 */
	uint32_t edits_max;
};

/* Into `ret`, which holds nothing yet. */
void myers_diff(const struct myers_input *in, struct myers *ret);
void myers_release(struct myers *m);

#endif
