/*
 * The fields of a NamedTuple are the names annotated in the body of the class
 * that has NamedTuple among its bases, in their order. A subclass adds none.
 */
#include "graph/resolve/fields.h"

#include <assert.h>
#include <string.h>

#include "graph/resolve/eval.h"
#include "graph/resolve/library.h"
#include "graph/resolve/members.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/types.h"
#include "graph/resolve/words.h"

static bool is_namedtuple(const struct graph *g, set_t s)
{
	const term_t *terms;
	const struct term *t;

	if (set_terms(g->terms, s, &terms) != 1)
		return false;
	t = term_of(g->terms, terms[0]);
	return t->kind == TERM_LIBRARY &&
	       library_kind_of(g, t->a) == LIBRARY_NAMEDTUPLE;
}

static bool has_fields(struct graph *g, unit_t class)
{
	solve_need(g, KEY_BASES, class, 0);
	if (!unit_lives(g, class))
		return false;
	for (uint32_t k = 0; k < unit_of(g, class)->u->bases.count; k++) {
		const struct unit *u = unit_of(g, class);
		uint32_t e = list_of(u, u->u->bases.from + k);

		if (is_namedtuple(g, eval_expr(g, class, e)))
			return true;
	}
	return false;
}

/* Up to TUPLE_MAX + 1: of longer tuples the items are joined. */
static uint32_t fields_in(struct graph *g, unit_t class)
{
	const struct unit *u = unit_of(g, class);
	atom_t names[TUPLE_MAX + 1];
	uint32_t count = 0;

	solve_need(g, KEY_FLOW, class, 0);
	for (uint32_t k = 0; k < u->u->binds.count && count <= TUPLE_MAX; k++) {
		const struct facts_bind *b = bind_of(u, k);

		if (b->block == 1 &&
		    (b->kind == BIND_ANNOTATION || b->kind == BIND_TYPED))
			names[count++] = atom_of(u, b->name);
	}
	return terms_run(g->terms, names, count) + 1;
}

uint32_t fields_solve(struct graph *g, unit_t class)
{
	unit_t order[ORDER_MAX];
	uint32_t count = class_order(g, class, order);

	for (uint32_t k = 0; k < count; k++)
		if (has_fields(g, order[k]))
			return fields_in(g, order[k]);
	return 0;
}

bool fields_tuple(struct graph *g, term_t instance, set_t *ret)
{
	struct term t = *term_of(g->terms, instance);
	uint32_t run = solve_ask(g, ASK_FIELDS, t.a, 0), count;
	const atom_t *items;
	atom_t names[TUPLE_MAX + 1];
	set_t values[TUPLE_MAX + 1];

	assert(t.kind == TERM_INSTANCE || t.kind == TERM_SELF);
	if (!run)
		return false;
	items = terms_run_items(g->terms, run - 1, &count);
	memcpy(names, items, count * sizeof(*names));
	for (uint32_t k = 0; k < count; k++)
		values[k] = attr_of_term(g, instance, names[k]);
	*ret = set_tuple(g->terms, values, count);
	return true;
}

set_t fields_call(struct graph *g, unit_t n, uint32_t list)
{
	struct facts_expr x = *expr_of(unit_of(g, n), list);
	set_t items[TUPLE_MAX];

	if ((x.kind != EXPR_LIST && x.kind != EXPR_TUPLE) || x.c > TUPLE_MAX)
		return SET_NONE;
	for (uint32_t k = 0; k < x.c; k++) {
		const struct unit *u = unit_of(g, n);
		const struct facts_expr *pair = expr_of(u, list_of(u, x.b + k));

		items[k] = SET_NONE;
		if (pair->kind == EXPR_TUPLE && pair->c == 2)
			items[k] = type_eval(g, n, list_of(u, pair->b + 1));
	}
	return set_one(g->terms, TERM_TYPE, set_tuple(g->terms, items, x.c), 0);
}
