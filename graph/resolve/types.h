/* Annotations, decorations of functions, pytest fixtures. */
#ifndef STATETAPE_GRAPH_RESOLVE_TYPES_H
#define STATETAPE_GRAPH_RESOLVE_TYPES_H

#include "graph/resolve/state.h"

/* The values that annotation e of unit n allows. */
set_t type_eval(struct graph *g, unit_t n, uint32_t e);
/* Instances of the types in a set. */
set_t type_instances(struct graph *g, set_t types);
/* Instances of what[index], `what` being a name of the library. */
set_t type_library_index(struct graph *g, atom_t what, unit_t n,
			 uint32_t index);
/* The innermost class around unit n, n included; NONE: there is none. */
unit_t class_around(const struct graph *g, unit_t n);

/* How a function's decorators change what its name stands for. */
enum decoration {
	DECO_PROPERTY = 1 << 0,
	DECO_STATIC = 1 << 1,
	DECO_CLASS = 1 << 2,
	DECO_MANAGER = 1 << 3,
	DECO_OVERLOAD = 1 << 4,
	DECO_FIXTURE = 1 << 5,
};
unsigned function_decorations(struct graph *g, unit_t f);
uint32_t function_decorations_solve(struct graph *g, unit_t f);
/* The functions and objects that its decorators put in its place. */
set_t function_wrappers(struct graph *g, unit_t f);
set_t function_wrappers_solve(struct graph *g, unit_t f); /* ASK_WRAPPERS */

/* The value of parameter `name` of function f, if a fixture provides it. */
set_t fixture_find(struct graph *g, unit_t f, atom_t name);
/* The name that @fixture(name="...") gives the function; WORD_EMPTY: none. */
atom_t fixture_alias(const struct graph *g, unit_t f);

#endif
