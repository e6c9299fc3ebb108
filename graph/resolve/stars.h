/*
 * Star imports of modules. One that binds a name replaces what an earlier
 * statement bound it to, as any binding does.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_STARS_H
#define STATETAPE_GRAPH_RESOLVE_STARS_H

#include "graph/resolve/flow.h"
#include "graph/resolve/state.h"

/*
 * The values that the name has by star imports behind binding *star of module
 * n, once the module has run. *star: the one that replaces all before it, or
 * as it was.
 */
set_t stars_eval(struct graph *g, unit_t n, atom_t name, uint32_t *star);
/* flow_eval() in a module, with its star imports. */
bool stars_flow_eval(struct graph *g, const struct flow_use *use, set_t *ret);
/* First star import from binding `from` on; NONE: no more. */
uint32_t stars_after(const struct unit *u, uint32_t from);

/* ASK_BRINGS, ASK_CIRCULAR. */
uint32_t stars_brings_solve(struct graph *g, unit_t module, atom_t name);
uint32_t stars_circular_solve(struct graph *g, unit_t from, unit_t n);

#endif
