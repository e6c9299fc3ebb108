/*
 * From dotted names to files: modules, packages, directories without code,
 * and the module an import statement means.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_MODULES_H
#define STATETAPE_GRAPH_RESOLVE_MODULES_H

#include "graph/resolve/state.h"

/* The module unit of that name; NONE: the repository has none. */
unit_t module_find(struct graph *g, atom_t dotted);
/* What `import dotted` in unit `from` gives: a module, package or library. */
set_t module_imported(struct graph *g, unit_t from, atom_t dotted);
set_t module_import_solve(struct graph *g, atom_t dir, atom_t dotted);
/* The module or package package.name; SET_NONE: there is none. */
set_t module_in_package(struct graph *g, atom_t package, atom_t name);
/* The absolute name of a relative import with `level` dots in unit `from`. */
atom_t module_absolute_name(struct graph *g, unit_t from, uint32_t level,
			    atom_t name);
/* Does __all__ (or, without one, the underscore rule) export the name? */
bool module_star_exports(struct graph *g, unit_t module, atom_t name);

/* a.b; if one of them is empty, the other. */
atom_t atom_dotted(struct graph *g, atom_t a, atom_t b);

#endif
