/*
 * The value of a container after a store: d["a"] = f, or d.update(a=f). Under
 * a constant key the new value replaces the old one; otherwise it is joined to
 * all of them. The new container is computed from the old one term by term,
 * and grows when that or the value does.
 */
#include "graph/resolve/stores.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "graph/resolve/calls.h"
#include "graph/resolve/eval.h"
#include "graph/resolve/flow.h"
#include "graph/resolve/modules.h"
#include "graph/resolve/names.h"
#include "graph/resolve/outers.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/words.h"

/* Imports followed from a name to its constant: they may be cyclic. */
#define CONST_HOPS 8

/* Does a function of the module bind it with `global`? */
static bool bound_from_below(const struct graph *g, unit_t module, atom_t name)
{
	struct outers o = outers_in(g, module, name, OUTER_GLOBAL);

	return outers_next(g, &o);
}

/* The last binding of a module's name, if no other counts; else NONE. */
static uint32_t only_bind(struct graph *g, unit_t module, atom_t name)
{
	const struct unit *u;
	uint32_t k, bind;

	solve_need(g, KEY_NAME, module, name);
	solve_need(g, KEY_STARS, module, 0);
	u = unit_of(g, module);
	if (!unit_lives(g, module) || u->starred ||
	    bound_from_below(g, module, name))
		return NONE;
	k = name_first(u, name);
	if (k == u->names_count || u->names[k].atom != name)
		return NONE;
	while (k + 1 < u->names_count && u->names[k + 1].atom == name)
		k++;
	bind = u->names[k].bind;
	return bind_of(u, bind)->block == 1 ? bind : NONE;
}

static bool const_here(const struct unit *u, uint32_t e, struct facts_expr *ret)
{
	struct facts_expr x;

	if (e == FACTS_NONE)
		return false;
	x = *expr_of(u, e);
	if (x.kind != EXPR_CONST || x.b == FACTS_NONE)
		return false;
	if (x.a == CONST_STR)
		x.b = atom_of(u, x.b);
	*ret = x;
	return true;
}

static bool const_bound(struct graph *g, unit_t module, uint32_t bind,
			struct facts_expr *ret)
{
	for (int hops = 0; bind != NONE && hops < CONST_HOPS; hops++) {
		const struct unit *u = unit_of(g, module);
		const struct facts_bind b = *bind_of(u, bind);
		atom_t name, from;

		if (b.kind == BIND_VALUE)
			return const_here(u, b.value, ret);
		if (b.kind == BIND_TYPED)
			return const_here(u, b.extra, ret);
		if (b.kind != BIND_FROM)
			return false;
		name = atom_of(u, b.value);
		from = module_absolute_name(g, module, b.level,
					    atom_of(u, b.module));
		module = module_find(g, from);
		bind = module == NONE ? NONE : only_bind(g, module, name);
	}
	return false;
}

/* A module's own slots see the bindings before them. */
static bool is_in_effect(const struct graph *g, unit_t n, uint32_t bind,
			 uint32_t e)
{
	return !flow_own_place(g, n) ||
	       bind < flow_binds_before(&g->units[n], e);
}

static bool const_named(struct graph *g, unit_t n, uint32_t e,
			struct facts_expr *ret)
{
	struct facts_expr x = *expr_of(unit_of(g, n), e);
	atom_t name = atom_of(unit_of(g, n), x.a);
	uint32_t bind;
	unit_t p = n;

	if (block_of(unit_of(g, n), x.b)->scope != 0)
		return false;
	for (; unit_of(g, p)->u->kind != UNIT_MODULE;
	     p = unit_of(g, p)->parent) {
		solve_need(g, KEY_NAME, p, name);
		if (name_is_bound(unit_of(g, p), name))
			return false;
	}
	bind = only_bind(g, p, name);
	if (bind == NONE || (p == n && !is_in_effect(g, n, bind, e)))
		return false;
	return const_bound(g, p, bind, ret);
}

bool store_const(struct graph *g, unit_t n, uint32_t e, struct facts_expr *ret)
{
	const struct unit *u = unit_of(g, n);

	if (expr_of(u, e)->kind == EXPR_NAME)
		return const_named(g, n, e, ret);
	return const_here(u, e, ret);
}

atom_t store_key(struct graph *g, unit_t n, uint32_t e)
{
	struct facts_expr x;
	char number[16];
	int len;

	if (!store_const(g, n, e, &x))
		return NONE;
	if (x.a == CONST_STR)
		return x.b;
	if (x.a != CONST_INT)
		return NONE;
	/* No string constant in the facts begins with this byte. */
	len = snprintf(number, sizeof(number), "\1%u", x.b);
	return atom_intern(g, number, (size_t)len);
}

/* One value to store. */
struct put {
	atom_t key;	/* of a dict; NONE: not constant */
	uint32_t place; /* in a list; NONE: not constant */
	set_t keys;	/* values of the key, if it is not constant */
	set_t value;
	bool many; /* into a slice: store the value's elements */
};

static set_t put_value(struct graph *g, const struct put *p)
{
	return p->many ? value_element(g, p->value, false) : p->value;
}

static set_t put_into_list(struct graph *g, const struct put *p, set_t elements)
{
	return set_one(g->terms, TERM_LIST,
		       set_join(g->terms, elements, put_value(g, p)), 0);
}

static set_t put_into_tuple(struct graph *g, const struct put *p,
			    const struct term *t)
{
	uint32_t count = term_length(g->terms, t);
	set_t items[TUPLE_MAX];

	if (p->many)
		return put_into_list(g, p, value_items(g, t));
	memcpy(items, term_items(g->terms, t), count * sizeof(*items));
	for (uint32_t k = 0; k < count; k++)
		if (p->place == k)
			items[k] = p->value;
		else if (p->place == NONE)
			items[k] = set_join(g->terms, items[k], p->value);
	return set_tuple(g->terms, items, count);
}

static set_t put_into_record(struct graph *g, const struct put *p,
			     const struct term *t)
{
	uint32_t keys[TUPLE_MAX + 1], count;
	set_t values[TUPLE_MAX + 1], more = SET_NONE;

	memcpy(keys, terms_run_items(g->terms, t->a, &count),
	       term_length(g->terms, t) * sizeof(*keys));
	assert(count == term_length(g->terms, t) && count <= TUPLE_MAX);
	memcpy(values, term_items(g->terms, t), count * sizeof(*values));
	if (p->key == NONE) {
		for (uint32_t k = 0; k < count; k++)
			values[k] = set_join(g->terms, values[k], p->value);
		more = set_one(g->terms, TERM_DICT, p->keys, p->value);
	} else if (count == 1 && keys[0] == RECORD_REST) {
		values[0] = set_join(g->terms, values[0], p->value);
	} else {
		keys[count] = p->key;
		values[count++] = p->value;
	}
	return set_join(g->terms, set_record(g->terms, keys, values, count),
			more);
}

static set_t put_into_term(struct graph *g, const struct put *p, term_t id)
{
	struct term t = *term_of(g->terms, id);

	switch (t.kind) {
	case TERM_LIST:
		return put_into_list(g, p, t.a);
	case TERM_TUPLE:
		return put_into_tuple(g, p, &t);
	case TERM_RECORD:
		return put_into_record(g, p, &t);
	case TERM_DICT:
		return set_one(g->terms, TERM_DICT,
			       set_join(g->terms, t.a, p->keys),
			       set_join(g->terms, t.b, p->value));
	default:
		return set_term(g->terms, id);
	}
}

static set_t put_into(struct graph *g, const struct put *p, set_t of)
{
	const term_t *terms;
	size_t count = set_terms(g->terms, of, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < count; k++)
		s = set_join(g->terms, s, put_into_term(g, p, terms[k]));
	return s;
}

static struct put put_at(struct graph *g, unit_t n, uint32_t index)
{
	struct put p = { .key = NONE, .place = NONE };
	struct facts_expr x = *expr_of(unit_of(g, n), index);

	if (x.kind == EXPR_SLICE) {
		p.many = true;
		return p;
	}
	p.key = store_key(g, n, index);
	if (p.key == NONE)
		p.keys = eval_expr(g, n, index);
	else if (store_const(g, n, index, &x) && x.a == CONST_INT)
		p.place = x.b;
	return p;
}

/* of[i][..] = value; `path` has the indexes, the first one last. */
static set_t store_path(struct graph *g, unit_t n, set_t of,
			const uint32_t *path, uint32_t count, set_t value)
{
	struct put p = put_at(g, n, path[count - 1]);

	assert(count > 0 && count <= TERM_DEPTH);
	if (count > 1) {
		set_t inner = value_index(g, of, n, path[count - 1]);

		if (inner == SET_NONE)
			return of;
		value = store_path(g, n, inner, path, count - 1, value);
	}
	p.value = value;
	return put_into(g, &p, of);
}

static set_t store_index(struct graph *g, unit_t n, uint32_t place,
			 uint32_t value)
{
	uint32_t path[TERM_DEPTH] = { 0 }, count = 0;
	struct facts_expr x = *expr_of(unit_of(g, n), place);
	set_t of;

	for (; x.kind == EXPR_INDEX; x = *expr_of(unit_of(g, n), place)) {
		if (count < TERM_DEPTH)
			path[count] = x.b;
		count++;
		place = x.a;
	}
	of = eval_expr(g, n, place);
	/* Terms are cut at TERM_DEPTH anyway. */
	if (of == SET_NONE || count > TERM_DEPTH)
		return of;
	return store_path(g, n, of, path, count, eval_expr(g, n, value));
}

/* Store all items of the dicts in `from` into `of`. */
static set_t update_from(struct graph *g, set_t of, set_t from)
{
	const term_t *terms;
	size_t count = set_terms(g->terms, from, &terms);

	for (size_t k = 0; k < count; k++) {
		struct term t = *term_of(g->terms, terms[k]);
		struct put p = { .key = NONE, .place = NONE };

		for (uint32_t m = 0;
		     t.kind == TERM_RECORD && m < term_length(g->terms, &t);
		     m++) {
			p.key = terms_run_items(g->terms, t.a,
						&(uint32_t){ 0 })[m];
			p.value = term_items(g->terms, &t)[m];
			if (p.key == RECORD_REST)
				p.key = NONE;
			of = put_into(g, &p, of);
		}
		if (t.kind != TERM_DICT)
			continue;
		p.keys = t.a;
		p.value = t.b;
		of = put_into(g, &p, of);
	}
	return of;
}

static set_t update_call(struct graph *g, unit_t n, set_t of, uint32_t call)
{
	struct facts_expr x = *expr_of(unit_of(g, n), call);

	for (uint32_t k = 0; k < x.c; k++) {
		const struct unit *u = unit_of(g, n);
		uint32_t e = list_of(u, x.b + k);
		struct facts_expr argument = *expr_of(u, e);
		struct put p = { .key = NONE, .place = NONE };

		if (argument.kind == EXPR_KEYWORD) {
			p.key = atom_of(u, argument.b);
			p.value = eval_expr(g, n, argument.a);
			of = put_into(g, &p, of);
		} else if (argument.kind != EXPR_STAR) {
			of = update_from(g, of, eval_expr(g, n, e));
		}
	}
	return of;
}

set_t store_eval(struct graph *g, unit_t n, uint32_t e)
{
	struct facts_expr x = *expr_of(unit_of(g, n), e);
	struct facts_expr place = *expr_of(unit_of(g, n), x.a), callee;
	set_t of;

	if (place.kind == EXPR_INDEX)
		return store_index(g, n, x.a, x.b);
	callee = *expr_of(unit_of(g, n), place.a);
	of = eval_expr(g, n, callee.a);
	if (of == SET_NONE)
		return of;
	return update_call(g, n, of, x.a);
}
