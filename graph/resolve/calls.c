/*
 * What operations on values give: calling, iterating, entering, unpacking,
 * indexing, awaiting.
 */
#include "graph/resolve/calls.h"

#include <assert.h>
#include <string.h>

#include "graph/resolve/eval.h"
#include "graph/resolve/fields.h"
#include "graph/resolve/library.h"
#include "graph/resolve/members.h"
#include "graph/resolve/names.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/stores.h"
#include "graph/resolve/types.h"
#include "graph/resolve/words.h"

static set_t replaced_term(struct graph *g, term_t id, term_t self);

set_t value_replace_self(struct graph *g, set_t in, term_t self)
{
	const term_t *terms;
	size_t count;
	set_t s = SET_NONE;

	count = set_terms(g->terms, in, &terms);
	for (size_t k = 0; k < count; k++)
		s = set_join(g->terms, s, replaced_term(g, terms[k], self));
	return s;
}

set_t value_instance(struct graph *g, term_t self)
{
	struct term t = *term_of(g->terms, self);

	switch (t.kind) {
	case TERM_CLASS:
		return set_one(g->terms, TERM_INSTANCE, t.a, 0);
	case TERM_CLS:
		return set_one(g->terms, TERM_SELF, t.a, 0);
	case TERM_INSTANCE:
	case TERM_SELF:
		return set_term(g->terms, self);
	default:
		return SET_NONE;
	}
}

static set_t replaced_tuple(struct graph *g, const struct term *t, term_t self)
{
	uint32_t keys[TUPLE_MAX];
	set_t items[TUPLE_MAX];
	uint32_t count = term_length(g->terms, t), k;

	assert(count <= TUPLE_MAX);
	for (k = 0; k < count; k++)
		items[k] =
			value_replace_self(g, term_items(g->terms, t)[k], self);
	if (t->kind == TERM_TUPLE)
		return set_tuple(g->terms, items, count);
	memcpy(keys, terms_run_items(g->terms, t->a, &k),
	       count * sizeof(*keys));
	return set_record(g->terms, keys, items, count);
}

set_t value_items(struct graph *g, const struct term *t)
{
	set_t s = SET_NONE;

	for (uint32_t k = 0; k < term_length(g->terms, t); k++)
		s = set_join(g->terms, s, term_items(g->terms, t)[k]);
	return s;
}

/* Self in the result of a method is the object it was called on. */
static set_t replaced_term(struct graph *g, term_t id, term_t self)
{
	struct term t = *term_of(g->terms, id);

	switch (t.kind) {
	case TERM_SELF:
		return value_instance(g, self);
	case TERM_CLS:
		return class_of_term(g, self);
	case TERM_TUPLE:
	case TERM_RECORD:
		return replaced_tuple(g, &t, self);
	case TERM_DICT:
		return set_one(g->terms, TERM_DICT,
			       value_replace_self(g, t.a, self),
			       value_replace_self(g, t.b, self));
	case TERM_LIST:
	case TERM_AWAITABLE:
	case TERM_MANAGER:
	case TERM_CALLABLE:
		return set_one(g->terms, t.kind,
			       value_replace_self(g, t.a, self), 0);
	default:
		return set_term(g->terms, id);
	}
}

static set_t yields_eval(struct graph *g, unit_t f)
{
	set_t s = SET_NONE;

	for (uint32_t k = 0; k < unit_of(g, f)->u->yields.count; k++) {
		const struct unit *u = unit_of(g, f);
		uint32_t e = list_of(u, u->u->yields.from + k);
		struct facts_expr x;

		if (e == FACTS_NONE)
			continue;
		x = *expr_of(u, e);
		if (x.kind == EXPR_YIELD && x.b && x.a != FACTS_NONE)
			s = set_join(
				g->terms, s,
				value_element(g, eval_expr(g, f, x.a), false));
		else
			s = set_join(g->terms, s, eval_expr(g, f, e));
	}
	return s;
}

static set_t returns_eval(struct graph *g, unit_t f)
{
	set_t s = SET_NONE;

	for (uint32_t k = 0; k < unit_of(g, f)->u->returns.count; k++) {
		const struct unit *u = unit_of(g, f);
		uint32_t e = list_of(u, u->u->returns.from + k);

		if (e != FACTS_NONE)
			s = set_join(g->terms, s, eval_expr(g, f, e));
	}
	return s;
}

/* The results of its overloads, if it has any. */
static set_t overloads_eval(struct graph *g, unit_t f)
{
	const struct unit *u = unit_of(g, f);
	unit_t p = u->parent;
	atom_t name = atom_of(u, u->u->name);
	set_t s = SET_NONE;

	if (u->ordinal == 0 || unit_of(g, p)->u->kind == UNIT_FUNCTION ||
	    function_decorations(g, f) & DECO_OVERLOAD)
		return SET_NONE;
	solve_need(g, KEY_NAME, p, name);
	for (uint32_t k = name_first(unit_of(g, p), name);
	     k < unit_of(g, p)->names_count; k++) {
		const struct unit *q = unit_of(g, p);
		const struct facts_bind *b;
		unit_t other;

		if (q->names[k].atom != name)
			break;
		b = bind_of(q, q->names[k].bind);
		if (b->kind != BIND_DEF)
			continue;
		other = unit_below(g, p, b->value);
		if (other != f && unit_of(g, other)->u->kind == UNIT_FUNCTION &&
		    function_decorations(g, other) & DECO_OVERLOAD)
			s = set_join(g->terms, s,
				     solve_ask(g, ASK_RESULT, other, 0));
	}
	return s;
}

/* Of a property's setter or deleter the getter, an earlier definition. */
static unit_t getter_of(struct graph *g, unit_t f)
{
	const struct unit *u = unit_of(g, f);
	const struct source_file *file = &g->files[u->file];

	if (u->ordinal == 0 || !(function_decorations(g, f) & DECO_PROPERTY))
		return f;
	u = unit_of(g, f);
	solve_need(g, KEY_NAME, u->parent, atom_of(u, u->u->name));
	for (uint32_t k = unit_of(g, u->parent)->index; k < u->index; k++) {
		unit_t other = file->units[k];

		if (unit_of(g, other)->symbol == u->symbol)
			return other;
	}
	return f;
}

static set_t result_plain(struct graph *g, unit_t f, unsigned how)
{
	const struct unit *u = unit_of(g, f);
	uint32_t annotation = u->u->returns_annotation;
	unsigned flags = u->u->flags;
	set_t s;

	if (annotation != FACTS_NONE)
		s = type_eval(g, f, annotation);
	else if (flags & UNIT_GENERATOR)
		s = set_one(g->terms, TERM_LIST, yields_eval(g, f), 0);
	else
		s = returns_eval(g, f);
	if (how & DECO_MANAGER)
		return set_one(g->terms, TERM_MANAGER,
			       value_element(g, s, false), 0);
	if (flags & UNIT_ASYNC && !(flags & UNIT_GENERATOR))
		return set_one(g->terms, TERM_AWAITABLE, s, 0);
	return s;
}

set_t call_result_solve(struct graph *g, unit_t f)
{
	unit_t getter;
	set_t s;

	solve_need(g, KEY_HEADER, f, 0);
	solve_need(g, KEY_RESULT, f, 0);
	if (!unit_lives(g, f))
		return SET_NONE;
	getter = getter_of(g, f);
	if (getter != f)
		return solve_ask(g, ASK_RESULT, getter, 0);
	s = overloads_eval(g, f);
	if (s != SET_NONE)
		return s;
	return result_plain(g, f, function_decorations(g, f));
}

set_t call_lambda_solve(struct graph *g, unit_t n, uint32_t e)
{
	const struct unit *u = unit_of(g, n);

	solve_need(g, KEY_LAMBDA, n, e);
	if (!unit_lives(g, n) || e >= u->u->exprs.count ||
	    expr_of(u, e)->kind != EXPR_LAMBDA)
		return SET_NONE;
	return eval_expr(g, n, expr_of(u, e)->a);
}

static set_t call_term(struct graph *g, term_t callee, unit_t n, uint32_t call)
{
	struct term t = *term_of(g->terms, callee);

	switch (t.kind) {
	case TERM_FUNCTION:
	case TERM_WRAPPED:
		return solve_ask(g, ASK_RESULT, t.a, 0);
	case TERM_BOUND:
		return value_replace_self(g, solve_ask(g, ASK_RESULT, t.a, 0),
					  t.b);
	case TERM_CLASS:
		return set_one(g->terms, TERM_INSTANCE, t.a, 0);
	case TERM_CLS:
		return set_one(g->terms, TERM_SELF, t.a, 0);
	case TERM_INSTANCE:
	case TERM_SELF:
		return method_call(g, callee, WORD_CALL);
	case TERM_LAMBDA:
		return solve_ask(g, ASK_LAMBDA, t.a, t.b);
	case TERM_CALLABLE:
	case TERM_TYPE:
		return t.a;
	case TERM_PARTIAL:
		return call_set(g, t.a, n, call);
	case TERM_LIBRARY:
		return n == NONE ? SET_NONE : library_call(g, t.a, n, call);
	case TERM_OF:
		return library_container_call(g, t.a, t.b, n, call);
	default:
		return SET_NONE;
	}
}

set_t call_set(struct graph *g, set_t callee, unit_t n, uint32_t call)
{
	const term_t *terms;
	size_t count;
	set_t s = SET_NONE;

	count = set_terms(g->terms, callee, &terms);
	for (size_t k = 0; k < count; k++)
		s = set_join(g->terms, s, call_term(g, terms[k], n, call));
	return s;
}

/* The elements that an iterator returned by __iter__ gives. */
static set_t iterator_gives(struct graph *g, set_t iterator, bool async)
{
	const term_t *terms;
	size_t count;
	set_t s = SET_NONE;

	count = set_terms(g->terms, iterator, &terms);
	for (size_t k = 0; k < count; k++) {
		struct term t = *term_of(g->terms, terms[k]);
		set_t next = SET_NONE;

		if (t.kind == TERM_LIST)
			next = t.a;
		else if (t.kind == TERM_INSTANCE || t.kind == TERM_SELF)
			next = method_call(g, terms[k],
					   async ? WORD_ANEXT : WORD_NEXT);
		s = set_join(g->terms, s,
			     async ? value_awaited(g, next) : next);
		if (async && t.kind == TERM_LIST)
			s = set_join(g->terms, s, t.a);
	}
	return s;
}

static set_t instance_element(struct graph *g, term_t id, unit_t class,
			      bool async)
{
	atom_t iter = async ? WORD_AITER : WORD_ITER;
	set_t tuple;

	if (method_find(g, class, iter) != NONE)
		return iterator_gives(g, method_call(g, id, iter), async);
	if (async)
		return SET_NONE;
	if (method_find(g, class, WORD_GETITEM) != NONE)
		return method_call(g, id, WORD_GETITEM);
	return fields_tuple(g, id, &tuple) ? value_element(g, tuple, false)
					   : SET_NONE;
}

static set_t term_element(struct graph *g, term_t id, bool async)
{
	struct term t = *term_of(g->terms, id);

	switch (t.kind) {
	case TERM_LIST:
	case TERM_DICT:
		return t.a;
	case TERM_TUPLE:
		return value_items(g, &t);
	case TERM_WRAPPED:
		return value_element(g, t.b, async);
	case TERM_INSTANCE:
	case TERM_SELF:
		return instance_element(g, id, t.a, async);
	case TERM_CLASS:
		return solve_ask(g, ASK_ENUM, t.a, 0)
			       ? set_one(g->terms, TERM_INSTANCE, t.a, 0)
			       : SET_NONE;
	default:
		return SET_NONE;
	}
}

set_t value_element(struct graph *g, set_t of, bool async)
{
	const term_t *terms;
	size_t count;
	set_t s = SET_NONE;

	count = set_terms(g->terms, of, &terms);
	for (size_t k = 0; k < count; k++)
		s = set_join(g->terms, s, term_element(g, terms[k], async));
	return s;
}

/* Without __enter__ in the repository: most likely it returns itself. */
static set_t instance_entered(struct graph *g, term_t id, unit_t class,
			      bool async)
{
	atom_t enter = async ? WORD_AENTER : WORD_ENTER;
	set_t s;

	if (method_find(g, class, enter) == NONE)
		return set_term(g->terms, id);
	s = method_call(g, id, enter);
	return async ? value_awaited(g, s) : s;
}

set_t value_entered(struct graph *g, set_t of, bool async)
{
	const term_t *terms;
	size_t count;
	set_t s = SET_NONE;

	count = set_terms(g->terms, of, &terms);
	for (size_t k = 0; k < count; k++) {
		struct term t = *term_of(g->terms, terms[k]);

		if (t.kind == TERM_MANAGER)
			s = set_join(g->terms, s, t.a);
		else if (t.kind == TERM_INSTANCE || t.kind == TERM_SELF)
			s = set_join(g->terms, s,
				     instance_entered(g, terms[k], t.a, async));
	}
	return s;
}

static set_t tuple_item(struct graph *g, const struct term *t,
			uint32_t position, uint32_t how)
{
	uint32_t at = how & 1 ? t->a - 1 - position : position;

	if (how & 2)
		return set_one(g->terms, TERM_LIST, value_items(g, t), 0);
	return at < t->a ? term_items(g->terms, t)[at] : SET_NONE;
}

/* An instance of a NamedTuple that does not say how it is iterated. */
static bool unpacks_as_tuple(struct graph *g, term_t id, set_t *ret)
{
	struct term t = *term_of(g->terms, id);

	return (t.kind == TERM_INSTANCE || t.kind == TERM_SELF) &&
	       method_find(g, t.a, WORD_ITER) == NONE &&
	       fields_tuple(g, id, ret);
}

set_t value_item(struct graph *g, set_t of, uint32_t position, uint32_t how)
{
	const term_t *terms;
	size_t count;
	set_t s = SET_NONE;

	count = set_terms(g->terms, of, &terms);
	for (size_t k = 0; k < count; k++) {
		struct term t = *term_of(g->terms, terms[k]);
		set_t item;

		if (t.kind == TERM_TUPLE) {
			item = tuple_item(g, &t, position, how);
		} else if (unpacks_as_tuple(g, terms[k], &item)) {
			item = value_item(g, item, position, how);
		} else {
			item = term_element(g, terms[k], false);
			if (how & 2)
				item = set_one(g->terms, TERM_LIST, item, 0);
		}
		s = set_join(g->terms, s, item);
	}
	return s;
}

/* A slice with constant bounds is a tuple again. */
static set_t tuple_slice(struct graph *g, const struct term *t,
			 const struct facts_expr *slice)
{
	uint32_t from = slice->a == FACTS_NONE ? 0 : slice->a;
	uint32_t to =
		slice->b == FACTS_NONE || slice->b > t->a ? t->a : slice->b;
	set_t items[TUPLE_MAX];

	assert(t->kind == TERM_TUPLE && t->a == term_length(g->terms, t));
	if (slice->c || slice->a == FACTS_OTHER || slice->b == FACTS_OTHER)
		return set_one(g->terms, TERM_LIST, value_items(g, t), 0);
	if (from > to)
		from = to;
	memcpy(items, term_items(g->terms, t) + from,
	       (to - from) * sizeof(*items));
	return set_tuple(g->terms, items, to - from);
}

static set_t tuple_index(struct graph *g, const struct term *t, unit_t n,
			 uint32_t index)
{
	struct facts_expr x = *expr_of(unit_of(g, n), index);

	if (x.kind == EXPR_SLICE)
		return tuple_slice(g, t, &x);
	if (store_const(g, n, index, &x) && x.a == CONST_INT && x.b < t->a)
		return term_items(g->terms, t)[x.b];
	return value_items(g, t);
}

static set_t record_index(struct graph *g, const struct term *t, unit_t n,
			  uint32_t index)
{
	atom_t key = store_key(g, n, index);

	return key == NONE ? value_items(g, t) : record_at(g->terms, t, key);
}

static set_t term_index(struct graph *g, term_t id, unit_t n, uint32_t index)
{
	struct term t = *term_of(g->terms, id);
	struct facts_expr x = *expr_of(unit_of(g, n), index);
	set_t tuple;

	switch (t.kind) {
	case TERM_LIST:
		return x.kind == EXPR_SLICE ? set_term(g->terms, id) : t.a;
	case TERM_DICT:
		return t.b;
	case TERM_TUPLE:
		return tuple_index(g, &t, n, index);
	case TERM_RECORD:
		return record_index(g, &t, n, index);
	case TERM_CLASS:
	case TERM_CLS:
	case TERM_TYPE:
		return set_term(g->terms, id);
	case TERM_INSTANCE:
	case TERM_SELF:
		if (method_find(g, t.a, WORD_GETITEM) == NONE &&
		    fields_tuple(g, id, &tuple))
			return value_index(g, tuple, n, index);
		return method_call(g, id, WORD_GETITEM);
	case TERM_LIBRARY:
		return set_one(g->terms, TERM_TYPE,
			       type_library_index(g, t.a, n, index), 0);
	default:
		return SET_NONE;
	}
}

set_t value_index(struct graph *g, set_t of, unit_t n, uint32_t index)
{
	const term_t *terms;
	size_t count;
	set_t s = SET_NONE;

	count = set_terms(g->terms, of, &terms);
	for (size_t k = 0; k < count; k++)
		s = set_join(g->terms, s, term_index(g, terms[k], n, index));
	return s;
}

set_t value_awaited(struct graph *g, set_t of)
{
	const term_t *terms;
	size_t count;
	set_t s = SET_NONE;

	count = set_terms(g->terms, of, &terms);
	for (size_t k = 0; k < count; k++) {
		const struct term *t = term_of(g->terms, terms[k]);

		if (t->kind == TERM_AWAITABLE)
			s = set_join(g->terms, s, t->a);
	}
	return s;
}
