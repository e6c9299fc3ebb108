/*
 * What a change falsifies: a delta of the graph, sorted into the sets that the
 * tape keeps (graph/README.md, X, dX and R). Pure: takes a delta and the
 * settled graph it came from, returns symbols.
 *
 * V is functions, methods and classes. Modules and module-level variables are
 * kept apart, in the extended sets.
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
	struct diff_set x;		/* of V: removed, or the text differs */
	struct diff_set dx;		/* of V: gained or lost an edge of E */
	struct diff_set added;		/* of V: new; falsifies nothing */
	struct diff_set extended_x;	/* modules, variables: as x */
	struct diff_set extended_r;	/* of V: reads a variable in extended_x;
					   names other functions or classes */
	struct diff_set extended_added; /* modules, variables: new */
};

/*
 * Sort `d`, the delta that graph_settle() on `g` just returned. Symbols of dx
 * and extended_r existed before, exist now and are not in x. Release `ret`
 * with diff_release().
 */
void diff_init(struct diff *ret, const struct graph *g,
	       const struct graph_delta *d);
/* Accepts a zeroed struct. */
void diff_release(struct diff *d);

#endif
