/*
 * The bindings of a name that one of its uses sees, by the flow of control in
 * its unit: those before the use, back to the nearest one that lies on every
 * way to it (its block holds the use's block), and, inside a loop, those
 * further down in that loop.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_FLOW_H
#define STATETAPE_GRAPH_RESOLVE_FLOW_H

#include "graph/resolve/state.h"

/* A use of a name in unit n: expression `expr`, in that block. */
struct flow_use {
	unit_t n;
	atom_t name;
	uint32_t block;
	uint32_t expr;
};

/* The values it sees. false: none of the bindings lies on every way to it. */
bool flow_eval(struct graph *g, const struct flow_use *use, set_t *ret);
/*
 * The same in a lambda or comprehension, where all bindings of its scope
 * count. false: that scope does not bind the name.
 */
bool flow_inner_eval(struct graph *g, const struct flow_use *use,
		     uint32_t scope, set_t *ret);
/* The binding that ends the walk of flow_eval(); NONE: none does. */
uint32_t flow_settler(const struct unit *u, const struct flow_use *use);
/* The values of those it sees that are before it, and behind `after`. */
set_t flow_between(struct graph *g, const struct flow_use *use, uint32_t after);
/* Does that block hold the use's block? */
bool flow_is_around(const struct unit *u, uint32_t block,
		    const struct flow_use *use);
/* Post the present frame at KEY_FLOW of unit n, unless it needs no posting. */
void flow_need(struct graph *g, unit_t n);
/* Is the present frame a slot of unit n itself, or a question of its flow? */
bool flow_own_place(const struct graph *g, unit_t n);

/* ASK_BEFORE, ASK_SETTLED, ASK_BEHIND. */
set_t flow_before_solve(struct graph *g, unit_t n, uint32_t run);
uint32_t flow_settled_solve(struct graph *g, unit_t n, uint32_t run);
set_t flow_behind_solve(struct graph *g, unit_t n, uint32_t bind);

/* Does the binding replace earlier values of the name? */
bool flow_settles(const struct facts_bind *b);
/* First binding of that name from binding `from` on; NONE: no more. */
uint32_t flow_bind_from(const struct unit *u, atom_t name, uint32_t from);
/* The last binding of that name before binding `to`; NONE: no more. */
uint32_t flow_bind_before(const struct unit *u, atom_t name, uint32_t to);
/* How many bindings of the unit take effect before expression e. */
uint32_t flow_binds_before(const struct unit *u, uint32_t e);

#endif
