/* An order of terms that does not depend on how the graph came about. */
#ifndef STATETAPE_GRAPH_RESOLVE_ORDER_H
#define STATETAPE_GRAPH_RESOLVE_ORDER_H

#include "graph/resolve/state.h"

/* As terms_set_order() wants it, of a struct graph. */
int order_terms(const void *graph, term_t a, term_t b);

#endif
