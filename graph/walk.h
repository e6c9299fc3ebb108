/*
 * The neighbourhood of a symbol: what can be reached from it in a number of
 * steps of chosen kinds, each symbol once, with the path to it. Pure; the
 * graph must be settled.
 */
#ifndef STATETAPE_GRAPH_WALK_H
#define STATETAPE_GRAPH_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

/* A step, named for what it leads to. */
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

/* The kind of edge a step follows, and whether it follows it backwards. */
enum edge_kind walk_edge(enum walk_step step);
bool walk_is_back(enum walk_step step);

struct walk_place {
	symbol_t symbol;
	uint32_t depth;	     /* 0: the start */
	uint32_t from;	     /* index of the place before it; of the start 0 */
	enum walk_step step; /* that led here from there */
};

/*
 * Places are sorted by depth, and by name within one depth; the first is the
 * start. Of several shortest paths to a symbol, `from` follows the one whose
 * last place but one comes first, and of several steps between two places the
 * first in walk_step.
 */
struct walk {
	struct walk_place *places;
	size_t count;
	bool cut; /* places beyond `max` were left out */
};

/*
 * Walk from `start` by `steps` (a bit per walk_step) up to `depth` steps or
 * `max` places. Release `ret` with walk_release().
 */
void walk_init(struct walk *ret, const struct graph *g, symbol_t start,
	       unsigned steps, uint32_t depth, size_t max);
/* Accepts a zeroed struct. */
void walk_release(struct walk *w);

#endif
