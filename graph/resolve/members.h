/*
 * Classes: the order in which bases are searched (MRO), members, attributes
 * of any value, methods.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_MEMBERS_H
#define STATETAPE_GRAPH_RESOLVE_MEMBERS_H

#include "graph/resolve/state.h"

#define ORDER_MAX 512 /* classes in an MRO; further ones are left out */

/* The class and its bases in MRO; `ret` has room for ORDER_MAX. */
uint32_t class_order(struct graph *g, unit_t class, unit_t *ret);
bool class_is_subclass(struct graph *g, unit_t class, unit_t base);
/* Until `visit` returns true: library classes among the bases, own or
   inherited. Returns whether it did. */
typedef bool library_visitor(const struct graph *g, atom_t library, void *arg);
bool class_library_base(struct graph *g, unit_t class, library_visitor *visit,
			void *arg);
/* The class of an instance, a class itself; SET_NONE of anything else. */
set_t class_of_term(struct graph *g, term_t id);

/* value.name */
set_t attr_of_set(struct graph *g, set_t base, atom_t name);
set_t attr_of_term(struct graph *g, term_t base, atom_t name);

/* value.name as its class has it, not yet bound to the value. */
set_t member_of_term(struct graph *g, term_t base, atom_t name);
/* The same in the class of the value alone: how Python finds __len__. */
set_t member_of_type(struct graph *g, term_t value, atom_t name);

/* A class's member of that name, if it is a function; NONE. */
unit_t method_find(struct graph *g, unit_t class, atom_t name);
/* What calling a method of the value returns; SET_NONE: it has none. */
set_t method_call(struct graph *g, term_t self, atom_t name);
/* The method it overrides: of the first class behind its own; NONE. */
unit_t method_overridden(struct graph *g, unit_t method);

/* ASK_ORDER, ASK_ENUM, ASK_META, ASK_MEMBER, ASK_ATTR, ASK_METHOD. */
uint32_t class_order_solve(struct graph *g, unit_t class);
uint32_t class_enum_solve(struct graph *g, unit_t class);
set_t class_meta_solve(struct graph *g, unit_t class);
set_t member_solve(struct graph *g, unit_t class, atom_t name);
set_t attr_solve(struct graph *g, unit_t class, atom_t name);
set_t method_solve(struct graph *g, term_t self, atom_t name);

#endif
