/*
 * What a change means for whoever knew the code before it: a delta of the
 * graph, sorted into the sets the tape keeps (spec, sections 3 and 4). Pure:
 * a delta and the settled graph it came from go in, names come out.
 *
 * V is functions, methods and classes. Modules and module-level variables
 * stand beside it, in the extended sets.
 */
#ifndef STATETAPE_GRAPH_DIFF_H
#define STATETAPE_GRAPH_DIFF_H

#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

/* Symbols, each once, sorted by the bytes of their names. */
struct diff_set {
	symbol_t *symbols;
	size_t count;
	uint32_t size; /* allocated */
};

struct diff {
	struct diff_set x;     /* of V: removed, or their text differs */
	struct diff_set dx;    /* of V: a call edge of theirs came or went */
	struct diff_set added; /* of V: new; falsifies nothing */
	struct diff_set extended_x; /* x of modules and variables */
	struct diff_set extended_r; /* of V: read a variable in extended_x */
	struct diff_set extended_added; /* new modules and variables */
};

/*
 * Sort `d`, which graph_settle() on `g` has just given. dx and extended_r
 * hold symbols that existed before and exist now, and none of x. Release
 * `ret` with diff_release().
 */
void diff_init(struct diff *ret, const struct graph *g,
	       const struct graph_delta *d);
/* Accepts a zeroed struct. */
void diff_release(struct diff *d);

#endif
