/*
 * Calls that the text does not spell as calls: which functions the syntax at a
 * site runs. They are returned as a set of callees, as eval_expr() does for
 * the callee of a call.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_IMPLICIT_H
#define STATETAPE_GRAPH_RESOLVE_IMPLICIT_H

#include "graph/facts/facts.h"
#include "graph/resolve/state.h"

/* Site of unit n whose kind is SITE_SET or a later one; its expression is e. */
set_t implicit_at(struct graph *g, unit_t n, enum facts_site_kind kind,
		  uint32_t e);
/*
 * Loading the attribute `name` of `base`: what it runs, and the functions and
 * classes that it names. Both are added to.
 */
void implicit_get(struct graph *g, set_t base, atom_t name, set_t *called,
		  set_t *named);
/* A call of the library's `function`, such as len(): EXPR_CALL of unit n. */
set_t implicit_by_library(struct graph *g, atom_t function, unit_t n,
			  uint32_t call);
/* What calling a class runs beside __init__. */
set_t implicit_by_class(struct graph *g, unit_t class);
/* What the class statement runs in its bases, metaclass and attributes. */
set_t implicit_by_definition(struct graph *g, unit_t class);
/* The value of EXPR_BINARY where a class defines the operator. */
set_t implicit_operator_value(struct graph *g, set_t left, set_t right,
			      uint32_t op);

#endif
