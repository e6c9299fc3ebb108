/* Constants, and containers after a store into them. */
#ifndef STATETAPE_GRAPH_RESOLVE_STORES_H
#define STATETAPE_GRAPH_RESOLVE_STORES_H

#include "graph/resolve/state.h"

/*
 * true: expression e is a constant, or a name whose only binding is one;
 * *ret is that EXPR_CONST, with an atom for a string.
 */
bool store_const(struct graph *g, unit_t n, uint32_t e, struct facts_expr *ret);
/* A constant as the key of a record; NONE: not a constant that can be one. */
atom_t store_key(struct graph *g, unit_t n, uint32_t e);
/* Expression e of unit n, an EXPR_STORE. */
set_t store_eval(struct graph *g, unit_t n, uint32_t e);

#endif
