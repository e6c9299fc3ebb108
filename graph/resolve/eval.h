/* The values an expression may have. */
#ifndef STATETAPE_GRAPH_RESOLVE_EVAL_H
#define STATETAPE_GRAPH_RESOLVE_EVAL_H

#include "graph/resolve/state.h"

/* Expression e of unit n. */
set_t eval_expr(struct graph *g, unit_t n, uint32_t e);
/* Between these, while a slot of unit n is resolved, values are remembered. */
void eval_begin(struct graph *g, unit_t n);
void eval_end(struct graph *g);

#endif
