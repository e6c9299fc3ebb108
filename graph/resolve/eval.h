/* The values an expression may have. */
#ifndef STATETAPE_GRAPH_RESOLVE_EVAL_H
#define STATETAPE_GRAPH_RESOLVE_EVAL_H

#include "graph/resolve/state.h"

/* Expression e of unit n. */
set_t eval_expr(struct graph *g, unit_t n, uint32_t e);

#endif
