/*
 * What operations on a value give: calling, iterating, entering, unpacking,
 * indexing, awaiting.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_CALLS_H
#define STATETAPE_GRAPH_RESOLVE_CALLS_H

#include "graph/resolve/state.h"

/*
 * Call it. `call` is the EXPR_CALL of unit n with the arguments; NONE for
 * both: the arguments are not known.
 */
set_t call_set(struct graph *g, set_t callee, unit_t n, uint32_t call);
/* ASK_RESULT, ASK_LAMBDA. */
set_t call_result_solve(struct graph *g, unit_t f);
set_t call_lambda_solve(struct graph *g, unit_t n, uint32_t e);

set_t value_element(struct graph *g, set_t of, bool async); /* for x in .. */
set_t value_entered(struct graph *g, set_t of, bool async); /* with .. as x */
set_t value_awaited(struct graph *g, set_t of);
/* An item when it is unpacked: position and flags as in EXPR_ITEM. */
set_t value_item(struct graph *g, set_t of, uint32_t position, uint32_t how);
/* of[index], an expression of unit n. */
set_t value_index(struct graph *g, set_t of, unit_t n, uint32_t index);
/* All values that a tuple or record holds. */
set_t value_items(struct graph *g, const struct term *t);
/* An instance of a class; of an instance, itself. */
set_t value_instance(struct graph *g, term_t self);
/* The set with TERM_SELF and TERM_CLS replaced by `self` and its class. */
set_t value_replace_self(struct graph *g, set_t in, term_t self);

#endif
