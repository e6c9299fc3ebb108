/* NamedTuples: classes whose instances are tuples, too. */
#ifndef STATETAPE_GRAPH_RESOLVE_FIELDS_H
#define STATETAPE_GRAPH_RESOLVE_FIELDS_H

#include "graph/resolve/state.h"

/* The instance as a tuple; false: its class is no NamedTuple. */
bool fields_tuple(struct graph *g, term_t instance, set_t *ret);
/* NamedTuple("P", [("a", A), ..]): the type of such tuples. */
set_t fields_call(struct graph *g, unit_t n, uint32_t list);

/* ASK_FIELDS. */
uint32_t fields_solve(struct graph *g, unit_t class);

#endif
