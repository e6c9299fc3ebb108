/*
 * The neighbourhood of a symbol: what can be reached from it in so many steps
 * of chosen kinds, each symbol once, with the way that led there. Pure; the
 * graph must be settled.
 */
#ifndef STATETAPE_GRAPH_WALK_H
#define STATETAPE_GRAPH_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

/* One step, named for what it leads to. */
enum walk_step {
	WALK_CALLERS,
	WALK_CALLEES,
	WALK_SUBCLASSES,
	WALK_BASES,
	WALK_OVERRIDERS,
	WALK_OVERRIDDEN,
	WALK_READERS,
	WALK_READ,
	WALK_IMPORTERS,
	WALK_IMPORTED,
	WALK_STEPS
};

/* The kind of edge such a step goes along, and whether against it. */
enum edge_kind walk_edge(enum walk_step step);
bool walk_is_back(enum walk_step step);

struct walk_place {
	symbol_t symbol;
	uint32_t depth;	     /* 0: where we began */
	uint32_t from;	     /* the place before it, by its index; 0's is 0 */
	enum walk_step step; /* that led here from there */
};

/*
 * The first place is the beginning; then by depth, and by name within one.
 * Of several ways of the same length the one whose last place but one comes
 * first is told, and of several steps between two the first of walk_step.
 */
struct walk {
	struct walk_place *places;
	size_t count;
	bool cut; /* there were more than `max` */
};

/*
 * Walk from `start` by `steps` (a bit per walk_step) up to `depth`, and stop
 * at `max` places. Release `ret` with walk_release().
 */
void walk_init(struct walk *ret, const struct graph *g, symbol_t start,
	       unsigned steps, uint32_t depth, size_t max);
/* Accepts a zeroed struct. */
void walk_release(struct walk *w);

#endif
