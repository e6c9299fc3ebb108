/*
 * Names that units bind outside of themselves: `global`, `nonlocal`, self.x.
 * Each file has a sorted list of them.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_OUTERS_H
#define STATETAPE_GRAPH_RESOLVE_OUTERS_H

#include "graph/resolve/state.h"

/* Iterates over the bindings of `name` in `around` by units inside it. */
struct outers {
	unit_t around;
	atom_t name;
	enum outer_kind kind;
	uint32_t next;
};
struct outers outers_in(const struct graph *g, unit_t around, atom_t name,
			enum outer_kind kind);
/* NULL: no more. */
const struct outer *outers_next(const struct graph *g, struct outers *o);

/* Make the file's list anew from its units. */
void outers_make(struct graph *g, struct source_file *f);
/* Of what one unit adds to its file's list; 0: nothing. */
uint64_t outers_fingerprint(const struct graph *g, unit_t n);

#endif
