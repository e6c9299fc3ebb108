/*
 * The values of an expression. Expressions are evaluated within their unit.
 * Whatever leads further is a question, whose answer solve.c keeps; here a
 * value is remembered only while the slot of its unit is being resolved.
 */
#include "graph/resolve/eval.h"

#include <assert.h>

#include "graph/base/alloc.h"
#include "graph/resolve/calls.h"
#include "graph/resolve/implicit.h"
#include "graph/resolve/members.h"
#include "graph/resolve/names.h"
#include "graph/resolve/stores.h"
#include "graph/resolve/types.h"
#include "graph/resolve/words.h"

static set_t attr_eval(struct graph *g, unit_t n, uint32_t e)
{
	struct facts_expr x = *expr_of(unit_of(g, n), e);
	set_t s;

	if (name_path_eval(g, n, e, &s))
		return s;
	s = eval_expr(g, n, x.a);
	return attr_of_set(g, s, atom_of(unit_of(g, n), x.b));
}

static set_t items_join(struct graph *g, unit_t n, uint32_t from,
			uint32_t count)
{
	set_t s = SET_NONE;

	for (uint32_t k = 0; k < count; k++) {
		uint32_t e = list_of(unit_of(g, n), from + k);
		set_t item;

		if (e == FACTS_NONE)
			continue;
		item = eval_expr(g, n, e);
		if (expr_of(unit_of(g, n), e)->kind == EXPR_STAR)
			item = value_element(g, item, false);
		s = set_join(g->terms, s, item);
	}
	return s;
}

static set_t tuple_eval(struct graph *g, unit_t n, const struct facts_expr *x)
{
	set_t items[TUPLE_MAX];

	if (x->c > TUPLE_MAX)
		return set_one(g->terms, TERM_LIST,
			       items_join(g, n, x->b, x->c), 0);
	for (uint32_t k = 0; k < x->c; k++) {
		uint32_t e = list_of(unit_of(g, n), x->b + k);

		if (expr_of(unit_of(g, n), e)->kind == EXPR_STAR)
			return set_one(g->terms, TERM_LIST,
				       items_join(g, n, x->b, x->c), 0);
		items[k] = eval_expr(g, n, e);
	}
	return set_tuple(g->terms, items, x->c);
}

/* {**m}: the keys and values of m. */
static void merge_dict(struct graph *g, set_t m, set_t *keys, set_t *values)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, m, &terms);

	for (size_t k = 0; k < n; k++) {
		struct term t = *term_of(g->terms, terms[k]);

		if (t.kind == TERM_RECORD)
			t = (struct term){ .b = value_items(g, &t) };
		else if (t.kind != TERM_DICT)
			continue;
		*keys = set_join(g->terms, *keys, t.a);
		*values = set_join(g->terms, *values, t.b);
	}
}

/* {"a": x, "b": y}: at most TUPLE_MAX keys, all constant. */
static bool record_eval(struct graph *g, unit_t n, const struct facts_expr *x,
			set_t *ret)
{
	uint32_t keys[TUPLE_MAX];
	set_t values[TUPLE_MAX];
	uint32_t count = x->c / 2;

	if (count > TUPLE_MAX)
		return false;
	for (uint32_t k = 0; k < count; k++) {
		uint32_t key = list_of(unit_of(g, n), x->b + k * 2);

		if (key == FACTS_NONE)
			return false;
		keys[k] = store_key(g, n, key);
		if (keys[k] == NONE)
			return false;
	}
	for (uint32_t k = 0; k < count; k++)
		values[k] = eval_expr(g, n,
				      list_of(unit_of(g, n), x->b + k * 2 + 1));
	*ret = set_record(g->terms, keys, values, count);
	return true;
}

static set_t dict_eval(struct graph *g, unit_t n, const struct facts_expr *x)
{
	set_t keys = SET_NONE, values = SET_NONE, record;

	if (record_eval(g, n, x, &record))
		return record;
	for (uint32_t k = 0; k + 1 < x->c; k += 2) {
		uint32_t key = list_of(unit_of(g, n), x->b + k);
		uint32_t value = list_of(unit_of(g, n), x->b + k + 1);
		set_t v = eval_expr(g, n, value);

		if (key == FACTS_NONE) {
			merge_dict(g, v, &keys, &values);
			continue;
		}
		keys = set_join(g->terms, keys, eval_expr(g, n, key));
		values = set_join(g->terms, values, v);
	}
	return set_one(g->terms, TERM_DICT, keys, values);
}

static bool is_type(const struct graph *g, set_t s)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, s, &terms);

	for (size_t k = 0; k < n; k++) {
		uint8_t kind = term_of(g->terms, terms[k])->kind;

		if (kind == TERM_CLASS || kind == TERM_TYPE ||
		    kind == TERM_LIBRARY)
			return true;
	}
	return false;
}

/* The containers that a sum may give: lists and dicts; no other sums. */
static set_t containers_in(struct graph *g, set_t in)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, in, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++) {
		uint8_t kind = term_of(g->terms, terms[k])->kind;

		if (kind == TERM_LIST || kind == TERM_DICT ||
		    kind == TERM_RECORD)
			s = set_join(g->terms, s, set_term(g->terms, terms[k]));
		else if (kind == TERM_TUPLE)
			s = set_join(
				g->terms, s,
				set_one(g->terms, TERM_LIST,
					value_element(
						g, set_term(g->terms, terms[k]),
						false),
					0));
	}
	return s;
}

static set_t binary_eval(struct graph *g, unit_t n, const struct facts_expr *x)
{
	set_t a, b, made;

	a = eval_expr(g, n, x->a);
	b = x->b == FACTS_NONE ? SET_NONE : eval_expr(g, n, x->b);
	made = implicit_operator_value(g, a, b, x->c);
	if (made != SET_NONE || (x->c != OP_OR && x->c != OP_ADD))
		return made;
	if (x->c == OP_OR && (is_type(g, a) || is_type(g, b)))
		return set_one(g->terms, TERM_TYPE,
			       set_join(g->terms, type_instances(g, a),
					type_instances(g, b)),
			       0);
	return set_join(g->terms, containers_in(g, a), containers_in(g, b));
}

static set_t comp_eval(struct graph *g, unit_t n, const struct facts_expr *x)
{
	set_t element = eval_expr(g, n, x->a);

	if (x->c != COMP_DICT)
		return set_one(g->terms, TERM_LIST, element, 0);
	return set_one(g->terms, TERM_DICT, value_item(g, element, 0, 0),
		       value_item(g, element, 1, 0));
}

/* The classes of an isinstance() or except: one, or a tuple of them.
 *ret_other: there is something that is no class of the repository. */
static uint32_t classes_in(struct graph *g, set_t in, unit_t *ret,
			   uint32_t count, bool *ret_other)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, in, &terms);

	for (size_t k = 0; k < n; k++) {
		struct term t = *term_of(g->terms, terms[k]);

		bool class = t.kind == TERM_CLASS || t.kind == TERM_CLS ||
			     t.kind == TERM_INSTANCE;

		if (class && count < SET_MAX)
			ret[count++] = t.a;
		else if (t.kind == TERM_TUPLE)
			count = classes_in(g, value_items(g, &t), ret, count,
					   ret_other);
		else if (t.kind == TERM_LIST || t.kind == TERM_TYPE)
			count = classes_in(g, t.a, ret, count, ret_other);
		else
			*ret_other = true;
	}
	return count;
}

static set_t caught_eval(struct graph *g, unit_t n, uint32_t e)
{
	unit_t classes[SET_MAX];
	bool other = false;
	uint32_t count = classes_in(g, eval_expr(g, n, e), classes, 0, &other);
	set_t s = SET_NONE;

	for (uint32_t k = 0; k < count; k++)
		s = set_join(g->terms, s,
			     set_one(g->terms, TERM_INSTANCE, classes[k], 0));
	return s;
}

static bool any_is(struct graph *g, unit_t class, const unit_t *of,
		   uint32_t count)
{
	for (uint32_t k = 0; k < count; k++)
		if (class_is_subclass(g, class, of[k]))
			return true;
	return false;
}

/*
 * The values of a where isinstance(a, b) holds (x->c: does not hold): those
 * that fit; if no known value fits, an instance of b.
 */
static set_t narrow_eval(struct graph *g, unit_t n, const struct facts_expr *x)
{
	unit_t classes[SET_MAX];
	const term_t *terms;
	bool other = false;
	set_t all = eval_expr(g, n, x->a), s = SET_NONE;
	uint32_t count =
		classes_in(g, eval_expr(g, n, x->b), classes, 0, &other);
	size_t many = set_terms(g->terms, all, &terms);

	for (size_t k = 0; k < many; k++) {
		struct term t = *term_of(g->terms, terms[k]);
		bool instance = t.kind == TERM_INSTANCE || t.kind == TERM_SELF;
		bool fits = instance ? any_is(g, t.a, classes, count) : other;

		if (x->c ? !(instance && fits) : fits)
			s = set_join(g->terms, s, set_term(g->terms, terms[k]));
	}
	if (x->c)
		return s;
	if (s != SET_NONE)
		return s;
	for (uint32_t k = 0; k < count; k++)
		s = set_join(g->terms, s,
			     set_one(g->terms, TERM_INSTANCE, classes[k], 0));
	return s;
}

/* Expressions that stand for a part of a statement. */
static set_t made_eval(struct graph *g, unit_t n, const struct facts_expr *x)
{
	switch (x->kind) {
	case EXPR_ITER:
		return value_element(g, eval_expr(g, n, x->a), x->b);
	case EXPR_ENTER:
		return value_entered(g, eval_expr(g, n, x->a), x->b);
	case EXPR_ITEM:
		return value_item(g, eval_expr(g, n, x->a), x->b, x->c);
	case EXPR_CAUGHT:
		return caught_eval(g, n, x->a);
	case EXPR_NARROW:
		return narrow_eval(g, n, x);
	default:
		return SET_NONE;
	}
}

static set_t expr_value(struct graph *g, unit_t n, uint32_t e)
{
	struct facts_expr x = *expr_of(unit_of(g, n), e);

	assert(e < unit_of(g, n)->u->exprs.count);
	switch (x.kind) {
	case EXPR_NAME:
		return name_eval(g, n, e);
	case EXPR_ATTR:
		return attr_eval(g, n, e);
	case EXPR_CALL:
		return call_set(g, eval_expr(g, n, x.a), n, e);
	case EXPR_KEYWORD:
	case EXPR_STAR:
	case EXPR_STARS:
		return eval_expr(g, n, x.a);
	case EXPR_INDEX:
		return value_index(g, eval_expr(g, n, x.a), n, x.b);
	case EXPR_TUPLE:
	case EXPR_LIST:
		return tuple_eval(g, n, &x);
	case EXPR_SET:
		return set_one(g->terms, TERM_LIST, items_join(g, n, x.b, x.c),
			       0);
	case EXPR_DICT:
		return dict_eval(g, n, &x);
	case EXPR_EITHER:
		return items_join(g, n, x.b, x.c);
	case EXPR_BINARY:
		return binary_eval(g, n, &x);
	case EXPR_LAMBDA:
		return set_one(g->terms, TERM_LAMBDA, n, e);
	case EXPR_COMP:
		return comp_eval(g, n, &x);
	case EXPR_AWAIT:
		return value_awaited(g, eval_expr(g, n, x.a));
	case EXPR_STORE:
		return store_eval(g, n, e);
	default:
		return made_eval(g, n, &x);
	}
}

#define UNKNOWN UINT32_MAX

void eval_begin(struct graph *g, unit_t n)
{
	uint32_t count = unit_of(g, n)->u->exprs.count;

	g->memo = must_grow(g->memo, &g->memo_size, count, sizeof(*g->memo));
	for (uint32_t e = 0; e < count; e++)
		g->memo[e] = UNKNOWN;
	g->memo_unit = n + 1;
}

void eval_end(struct graph *g)
{
	g->memo_unit = 0;
}

/*
 * What the slot itself evaluates is posted to it the first time. A question
 * has dependencies of its own, so it starts afresh.
 */
set_t eval_expr(struct graph *g, unit_t n, uint32_t e)
{
	if (g->memo_unit != n + 1 || g->frames_count != 1)
		return expr_value(g, n, e);
	if (g->memo[e] == UNKNOWN) {
		set_t s = expr_value(g, n, e);

		g->memo[e] = s;
	}
	return g->memo[e];
}
