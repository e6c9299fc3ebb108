/*
 * Functions and methods of Python's library that pass on the values they are
 * called with.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_LIBRARY_H
#define STATETAPE_GRAPH_RESOLVE_LIBRARY_H

#include "graph/resolve/state.h"
#include "graph/resolve/words.h"

/* enum library_kind: what the resolver knows of that dotted name. */
unsigned library_kind_of(const struct graph *g, atom_t name);
/* Call it, with the arguments of expression `call` of unit n. */
set_t library_call(struct graph *g, atom_t name, unit_t n, uint32_t call);
/* A method of a list, dict, tuple or record; SET_NONE: none we know. */
set_t library_container_attr(struct graph *g, term_t of, atom_t name);
/* Call it. `n` and `call` may be NONE: the arguments are not known. */
set_t library_container_call(struct graph *g, term_t of, atom_t method,
			     unit_t n, uint32_t call);

#endif
