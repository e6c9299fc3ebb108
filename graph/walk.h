/*
 * The neighbourhood of symbols: what can be reached from them in a number of
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
	WALK_IMPLICIT_CALLERS,
	WALK_IMPLICIT_CALLEES,
	WALK_USERS,
	WALK_USED,
	WALK_STEPS
};
#define WALK_ALL_CALLERS (1U << WALK_CALLERS | 1U << WALK_IMPLICIT_CALLERS)
#define WALK_ALL_CALLEES (1U << WALK_CALLEES | 1U << WALK_IMPLICIT_CALLEES)

/* The kind of edge a step follows, and whether it follows it backwards. */
enum edge_kind walk_edge(enum walk_step step);
bool walk_is_back(enum walk_step step);

struct walk_place {
	symbol_t symbol;
	uint32_t depth; /* 0: a start */
	uint32_t from;	/* index of the place before it; of a start its own */
	enum walk_step step; /* that led here from there */
	/*
	 * Not SYMBOL_NONE: the edge leads to or from this method, which the
	 * place (or the one before it) overrides: who calls the one on an
	 * object that is not known better may reach the other.
	 */
	symbol_t via;
};

/*
 * Places are sorted by depth, and by name within one depth; the starts come
 * first, as they were given. Of several shortest paths to a symbol, `from`
 * follows the one whose last place but one comes first; of several steps
 * between two places one without `via`, and the first in walk_step.
 */
struct walk {
	struct walk_place *places;
	size_t count;
	bool cut; /* places beyond `max` were left out */
};

struct walk_from {
	const symbol_t *starts; /* each once */
	size_t count;
	unsigned steps; /* a bit per walk_step */
	uint32_t depth;
	size_t max;	 /* places, the starts included */
	bool skip_tests; /* leave out what walk_is_test() */
};
/* Release `ret` with walk_release(). */
void walk_init(struct walk *ret, const struct graph *g,
	       const struct walk_from *rules);
/* Does the path belong to tests, as they are usually named? */
bool walk_is_test(const char *path);
/* Accepts a zeroed struct. */
void walk_release(struct walk *w);

#endif
