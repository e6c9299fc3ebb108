/*
 * From a name to its values: bindings of modules, classes and functions.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_NAMES_H
#define STATETAPE_GRAPH_RESOLVE_NAMES_H

#include "graph/resolve/state.h"

/* Expression e of unit n, an EXPR_NAME. */
set_t name_eval(struct graph *g, unit_t n, uint32_t e);
/*
 * Expression e of unit n, an EXPR_ATTR: true if the unit assigned to or
 * narrowed that dotted name on every way to e.
 */
bool name_path_eval(struct graph *g, unit_t n, uint32_t e, set_t *ret);
/* Binding number `at` of unit n. */
set_t name_bind_eval(struct graph *g, unit_t n, uint32_t at);

/* ASK_NAME, ASK_EXPORT. */
set_t name_solve(struct graph *g, unit_t n, atom_t name);
set_t name_export_solve(struct graph *g, unit_t module, atom_t name);

/* Does the unit's own scope bind the name? */
bool name_is_bound(const struct unit *u, atom_t name);
/* Index in u->names of the first binding of that name, or where it would be. */
uint32_t name_first(const struct unit *u, atom_t name);

#endif
