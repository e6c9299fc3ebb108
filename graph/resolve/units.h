/* Orders and lookups that do not depend on how the graph came about. */
#ifndef STATETAPE_GRAPH_RESOLVE_UNITS_H
#define STATETAPE_GRAPH_RESOLVE_UNITS_H

#include "graph/resolve/state.h"

/* By name, file and ordinal. */
int unit_order(const struct graph *g, unit_t a, unit_t b);
void units_sort(const struct graph *g, unit_t *units, uint32_t count);
/* Index among the variables of the file; NONE: it has none of that name. */
uint32_t variable_find(const struct source_file *f, atom_t name);

#endif
