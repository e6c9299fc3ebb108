/*
 * Classes: the order in which their bases are searched (C3, as in Python),
 * attributes of classes and instances, and how a function becomes a bound
 * method.
 */
#include "graph/resolve/members.h"

#include <assert.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/resolve/calls.h"
#include "graph/resolve/eval.h"
#include "graph/resolve/library.h"
#include "graph/resolve/modules.h"
#include "graph/resolve/names.h"
#include "graph/resolve/outers.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/types.h"
#include "graph/resolve/units.h"
#include "graph/resolve/words.h"

#define BASES_MAX 64

/* The classes among the base expressions, in order. */
static uint32_t bases_eval(struct graph *g, unit_t class, unit_t *ret)
{
	uint32_t count = 0;

	for (uint32_t k = 0; k < unit_of(g, class)->u->bases.count; k++) {
		const struct unit *u = unit_of(g, class);
		uint32_t e = list_of(u, u->u->bases.from + k);
		uint32_t first = count;
		const term_t *terms;
		size_t n;

		if (expr_of(u, e)->kind == EXPR_KEYWORD ||
		    expr_of(u, e)->kind == EXPR_STARS)
			continue;
		n = set_terms(g->terms, eval_expr(g, class, e), &terms);
		for (size_t t = 0; t < n && count < BASES_MAX; t++) {
			const struct term *x = term_of(g->terms, terms[t]);

			if (x->kind == TERM_CLASS && x->a != class)
				ret[count++] = x->a;
		}
		units_sort(g, ret + first, count - first);
	}
	return count;
}

/* A list to merge: the order of one base, or the list of bases. */
struct merge_list {
	const unit_t *at;
	uint32_t left;
};

static bool in_tail(const struct merge_list *lines, uint32_t count,
		    unit_t class)
{
	for (uint32_t k = 0; k < count; k++)
		for (uint32_t n = 1; n < lines[k].left; n++)
			if (lines[k].at[n] == class)
				return true;
	return false;
}

static void take(struct merge_list *lines, uint32_t count, unit_t class)
{
	for (uint32_t k = 0; k < count; k++) {
		if (lines[k].left && lines[k].at[0] == class) {
			lines[k].at++;
			lines[k].left--;
		}
	}
}

/*
 * The next class: the first head that no list has further down. If there is
 * none, Python refuses the class; we take the first head, so that a mistake in
 * one base does not hide all others.
 */
static unit_t next_class(const struct merge_list *lines, uint32_t count)
{
	unit_t first = NONE;

	for (uint32_t k = 0; k < count; k++) {
		if (!lines[k].left)
			continue;
		if (first == NONE)
			first = lines[k].at[0];
		if (!in_tail(lines, count, lines[k].at[0]))
			return lines[k].at[0];
	}
	return first;
}

static uint32_t merge(unit_t class, struct merge_list *lines, uint32_t count,
		      unit_t *ret)
{
	uint32_t n = 0;
	unit_t next;

	ret[n++] = class;
	while (n < ORDER_MAX && (next = next_class(lines, count)) != NONE) {
		bool known = false;

		for (uint32_t k = 0; k < n && !known; k++)
			known = ret[k] == next;
		if (!known)
			ret[n++] = next;
		take(lines, count, next);
	}
	return n;
}

uint32_t class_order_solve(struct graph *g, unit_t class)
{
	unit_t bases[BASES_MAX], order[ORDER_MAX + 1];
	struct merge_list lines[BASES_MAX + 1];
	unit_t *copies;
	uint32_t count, n;

	solve_need(g, KEY_BASES, class, 0);
	if (!unit_lives(g, class))
		return terms_run(g->terms, &class, 1) + 1;
	count = bases_eval(g, class, bases);
	if (count == 0)
		return terms_run(g->terms, &class, 1) + 1;
	if (count == 1) {
		order[0] = class;
		n = class_order(g, bases[0], order + 1) + 1;
		return terms_run(g->terms, order,
				 n < ORDER_MAX ? n : ORDER_MAX) +
		       1;
	}
	copies = must_calloc(count, ORDER_MAX * sizeof(*copies));
	for (uint32_t k = 0; k < count; k++) {
		lines[k].at = copies + (size_t)k * ORDER_MAX;
		lines[k].left = class_order(g, bases[k],
					    copies + (size_t)k * ORDER_MAX);
	}
	lines[count] = (struct merge_list){ bases, count };
	n = merge(class, lines, count + 1, order);
	free(copies);
	return terms_run(g->terms, order, n) + 1;
}

uint32_t class_order(struct graph *g, unit_t class, unit_t *ret)
{
	uint32_t run = solve_ask(g, ASK_ORDER, class, 0);
	uint32_t count;
	const unit_t *items;

	if (!run) {
		ret[0] = class;
		return 1;
	}
	items = terms_run_items(g->terms, run - 1, &count);
	assert(count > 0 && count <= ORDER_MAX && items[0] == class);
	memcpy(ret, items, count * sizeof(*ret));
	return count;
}

bool class_is_subclass(struct graph *g, unit_t class, unit_t base)
{
	unit_t order[ORDER_MAX];
	uint32_t count = class_order(g, class, order);

	for (uint32_t k = 0; k < count; k++)
		if (order[k] == base)
			return true;
	return false;
}

bool class_library_base(struct graph *g, unit_t class, library_visitor *visit,
			void *arg)
{
	unit_t order[ORDER_MAX];
	uint32_t count = class_order(g, class, order);

	for (uint32_t k = 0; k < count; k++) {
		unit_t c = order[k];

		solve_need(g, KEY_BASES, c, 0);
		for (uint32_t b = 0;
		     unit_lives(g, c) && b < unit_of(g, c)->u->bases.count;
		     b++) {
			const struct unit *u = unit_of(g, c);
			const term_t *terms;
			set_t s = eval_expr(g, c,
					    list_of(u, u->u->bases.from + b));

			if (set_terms(g->terms, s, &terms) == 1 &&
			    term_of(g->terms, terms[0])->kind == TERM_LIBRARY &&
			    visit(g, term_of(g->terms, terms[0])->a, arg))
				return true;
		}
	}
	return false;
}

static bool is_of_enum(const struct graph *g, atom_t library, void *arg)
{
	static const char prefix[] = "enum.";

	(void)arg;
	return strncmp(atom_text(g, library), prefix, strlen(prefix)) == 0;
}

/* Is a class of the library's module enum among the bases? */
uint32_t class_enum_solve(struct graph *g, unit_t class)
{
	return class_library_base(g, class, is_of_enum, NULL);
}

/* The argument metaclass=... of a class statement; NONE. */
static uint32_t meta_given(const struct unit *u)
{
	for (uint32_t k = 0; k < u->u->bases.count; k++) {
		const struct facts_expr *x =
			expr_of(u, list_of(u, u->u->bases.from + k));

		if (x->kind == EXPR_KEYWORD &&
		    atom_of(u, x->b) == WORD_METACLASS)
			return x->a;
	}
	return NONE;
}

/* The nearest in the order: Python demands that it derives from the others. */
set_t class_meta_solve(struct graph *g, unit_t class)
{
	unit_t order[ORDER_MAX];
	uint32_t count = class_order(g, class, order);

	for (uint32_t k = 0; k < count; k++) {
		uint32_t given;

		solve_need(g, KEY_BASES, order[k], 0);
		if (!unit_lives(g, order[k]))
			continue;
		given = meta_given(unit_of(g, order[k]));
		if (given != NONE)
			return eval_expr(g, order[k], given);
	}
	return SET_NONE;
}

static bool is_store(const struct unit *u, const struct facts_attr *a)
{
	return a->value != FACTS_NONE &&
	       expr_of(u, a->value)->kind == EXPR_STORE;
}

static const struct facts_attr *attr_at(const struct graph *g,
					const struct outer *o)
{
	const struct unit *u = &g->units[o->unit];

	return facts_attrs(u->sheet->facts, u->u) + o->item;
}

/* Does a method assign self.name? A store into a container does not. */
static bool has_attr(const struct graph *g, unit_t class, atom_t name)
{
	struct outers o = outers_in(g, class, name, OUTER_ATTR);
	const struct outer *at;

	while ((at = outers_next(g, &o)))
		if (!is_store(&g->units[at->unit], attr_at(g, at)))
			return true;
	return false;
}

/* An annotation of self.name, in any method, decides. */
static bool attr_declared(struct graph *g, unit_t class, atom_t name,
			  set_t *ret)
{
	struct outers o = outers_in(g, class, name, OUTER_ATTR);
	const struct outer *at;

	while ((at = outers_next(g, &o))) {
		uint32_t annotation = attr_at(g, at)->annotation;

		if (annotation == FACTS_NONE)
			continue;
		*ret = type_eval(g, at->unit, annotation);
		return true;
	}
	return false;
}

set_t attr_solve(struct graph *g, unit_t class, atom_t name)
{
	struct outers o;
	const struct outer *at;
	set_t s = SET_NONE;

	solve_need(g, KEY_ATTR, class, name);
	if (!unit_lives(g, class) || attr_declared(g, class, name, &s))
		return s;
	o = outers_in(g, class, name, OUTER_ATTR);
	while ((at = outers_next(g, &o))) {
		uint32_t value = attr_at(g, at)->value;

		if (value != FACTS_NONE)
			s = set_join(g->terms, s,
				     eval_expr(g, at->unit, value));
	}
	return s;
}

static bool class_declares(const struct unit *u, atom_t name)
{
	for (uint32_t k = name_first(u, name);
	     k < u->names_count && u->names[k].atom == name; k++) {
		uint8_t kind = bind_of(u, u->names[k].bind)->kind;

		if (kind == BIND_ANNOTATION || kind == BIND_TYPED)
			return true;
	}
	return false;
}

/* Does assigning to it call something? A property with a setter does. */
static bool takes_assignments(struct graph *g, set_t s)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, s, &terms);

	for (size_t k = 0; k < n; k++) {
		struct term t = *term_of(g->terms, terms[k]);

		if (t.kind == TERM_INSTANCE) {
			if (method_find(g, t.a, WORD_SET) != NONE)
				return true;
			continue;
		}
		if ((t.kind == TERM_FUNCTION || t.kind == TERM_WRAPPED) &&
		    unit_lives(g, t.a) && unit_of(g, t.a)->ordinal > 0 &&
		    function_decorations(g, t.a) & DECO_PROPERTY)
			return true;
	}
	return false;
}

/*
 * Where a method assigns self.name: does a base's property or descriptor take
 * the assignment? Then there is no attribute of the instance.
 */
static bool member_behind(struct graph *g, const unit_t *order, uint32_t count,
			  atom_t name, set_t *ret)
{
	for (uint32_t k = 0; k < count; k++) {
		solve_need(g, KEY_NAME, order[k], name);
		if (!unit_lives(g, order[k]) ||
		    !name_is_bound(unit_of(g, order[k]), name))
			continue;
		*ret = solve_ask(g, ASK_NAME, order[k], name);
		return takes_assignments(g, *ret);
	}
	return false;
}

/* In the first class of the order that has it, in its body or as self.name. */
static set_t member_in(struct graph *g, const unit_t *order, uint32_t count,
		       atom_t name)
{
	for (uint32_t k = 0; k < count; k++) {
		unit_t c = order[k];
		bool in_body, by_self;
		set_t s = SET_NONE, above;

		solve_need(g, KEY_NAME, c, name);
		solve_need(g, KEY_ATTR, c, name);
		if (!unit_lives(g, c))
			continue;
		in_body = name_is_bound(unit_of(g, c), name);
		by_self = has_attr(g, c, name) &&
			  !class_declares(unit_of(g, c), name);
		if (in_body)
			s = solve_ask(g, ASK_NAME, c, name);
		if (by_self)
			s = set_join(g->terms, s,
				     solve_ask(g, ASK_ATTR, c, name));
		if (by_self && !in_body &&
		    member_behind(g, order + k + 1, count - k - 1, name,
				  &above))
			return above;
		if (in_body || by_self)
			return s;
	}
	return SET_NONE;
}

set_t member_solve(struct graph *g, unit_t class, atom_t name)
{
	unit_t order[ORDER_MAX];
	uint32_t count = class_order(g, class, order);

	return member_in(g, order, count, name);
}

set_t class_of_term(struct graph *g, term_t id)
{
	struct term t = *term_of(g->terms, id);

	switch (t.kind) {
	case TERM_INSTANCE:
	case TERM_CLASS:
		return set_one(g->terms, TERM_CLASS, t.a, 0);
	case TERM_SELF:
	case TERM_CLS:
		return set_one(g->terms, TERM_CLS, t.a, 0);
	default:
		return SET_NONE;
	}
}

static term_t only(const struct graph *g, set_t s)
{
	const term_t *terms;

	return set_terms(g->terms, s, &terms) == 1 ? terms[0] : NONE;
}

/* A method reached through `self`, an instance or a class. */
static set_t bind_method(struct graph *g, unit_t f, term_t self)
{
	uint8_t kind = term_of(g->terms, self)->kind;
	bool instance = kind == TERM_INSTANCE || kind == TERM_SELF;
	unsigned how = function_decorations(g, f);
	term_t class;

	if (how & DECO_PROPERTY)
		return instance ? value_replace_self(
					  g, solve_ask(g, ASK_RESULT, f, 0),
					  self)
				: SET_NONE;
	if (how & DECO_STATIC)
		return set_one(g->terms, TERM_FUNCTION, f, 0);
	if (how & DECO_CLASS) {
		class = only(g, class_of_term(g, self));
		return class == NONE ? SET_NONE
				     : set_one(g->terms, TERM_BOUND, f, class);
	}
	if (!instance)
		return set_one(g->terms, TERM_FUNCTION, f, 0);
	return set_one(g->terms, TERM_BOUND, f, self);
}

/* f = lambda self: .. in a class, reached through `self`. */
static set_t bind_lambda(struct graph *g, const struct term *t, term_t self)
{
	set_t gives = solve_ask(g, ASK_LAMBDA, t->a, t->b);

	return set_one(g->terms, TERM_CALLABLE,
		       value_replace_self(g, gives, self), 0);
}

/* A value found in a class, reached through `self`. */
static set_t bind_term(struct graph *g, term_t found, term_t self)
{
	struct term t = *term_of(g->terms, found);

	if ((t.kind == TERM_FUNCTION || t.kind == TERM_WRAPPED) &&
	    unit_lives(g, t.a) && unit_of(g, t.a)->u->flags & UNIT_METHOD)
		return bind_method(g, t.a, self);
	if (t.kind == TERM_LAMBDA && unit_lives(g, t.a) &&
	    unit_of(g, t.a)->u->kind == UNIT_CLASS)
		return bind_lambda(g, &t, self);
	if (t.kind == TERM_INSTANCE && method_find(g, t.a, WORD_GET) != NONE)
		return method_call(g, found, WORD_GET);
	return set_term(g->terms, found);
}

static set_t bind_all(struct graph *g, set_t found, term_t self)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, found, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++)
		s = set_join(g->terms, s, bind_term(g, terms[k], self));
	return value_replace_self(g, s, self);
}

/* Of several functions the first by unit_order(). */
static unit_t function_in(const struct graph *g, set_t s)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, s, &terms);
	unit_t found = NONE;

	for (size_t k = 0; k < n; k++) {
		const struct term *t = term_of(g->terms, terms[k]);

		if ((t->kind == TERM_FUNCTION || t->kind == TERM_WRAPPED) &&
		    (found == NONE || unit_order(g, t->a, found) < 0))
			found = t->a;
	}
	return found;
}

unit_t method_overridden(struct graph *g, unit_t method)
{
	const struct unit *u = unit_of(g, method);
	atom_t name = atom_of(u, u->u->name);
	unit_t order[ORDER_MAX];
	uint32_t count = class_order(g, u->parent, order);

	for (uint32_t k = 1; k < count; k++) {
		solve_need(g, KEY_NAME, order[k], name);
		if (unit_lives(g, order[k]) &&
		    name_is_bound(unit_of(g, order[k]), name))
			return function_in(
				g, solve_ask(g, ASK_NAME, order[k], name));
	}
	return NONE;
}

unit_t method_find(struct graph *g, unit_t class, atom_t name)
{
	return function_in(g, solve_ask(g, ASK_MEMBER, class, name));
}

set_t method_solve(struct graph *g, term_t self, atom_t name)
{
	return call_set(g, attr_of_term(g, self, name), NONE, NONE);
}

/* A question of its own: `__call__ = Other()` may lead back here. */
set_t method_call(struct graph *g, term_t self, atom_t name)
{
	return solve_ask(g, ASK_METHOD, self, name);
}

static set_t instance_attr(struct graph *g, term_t self, unit_t class,
			   atom_t name)
{
	set_t s;

	if (name == WORD_CLASS)
		return class_of_term(g, self);
	s = solve_ask(g, ASK_MEMBER, class, name);
	if (s != SET_NONE)
		return bind_all(g, s, self);
	if (name == WORD_GETATTR || method_find(g, class, WORD_GETATTR) == NONE)
		return SET_NONE;
	return method_call(g, self, WORD_GETATTR);
}

/* object.__new__, found through a class: it returns an instance of that. */
static set_t object_new(struct graph *g, term_t self)
{
	return set_one(g->terms, TERM_CALLABLE, value_instance(g, self), 0);
}

/* A name assigned in the body of an enumeration is an instance of it. */
static set_t class_attr(struct graph *g, term_t self, unit_t class, atom_t name)
{
	set_t s = solve_ask(g, ASK_MEMBER, class, name);
	const struct unit *u = unit_of(g, class);
	uint32_t k;

	if (unit_lives(g, class)) {
		k = name_first(u, name);
		if (k < u->names_count && u->names[k].atom == name &&
		    bind_of(u, u->names[k].bind)->kind == BIND_VALUE &&
		    solve_ask(g, ASK_ENUM, class, 0))
			return set_one(g->terms, TERM_INSTANCE, class, 0);
	}
	if (name == WORD_NEW && s == SET_NONE)
		return object_new(g, self);
	return bind_all(g, s, self);
}

/* super(): search behind class `after` in the order of the class of `self`. */
static set_t super_member(struct graph *g, unit_t after, term_t self,
			  atom_t name)
{
	unit_t order[ORDER_MAX];
	uint32_t count = class_order(g, term_of(g->terms, self)->a, order);
	uint32_t k = 0;

	while (k < count && order[k] != after)
		k++;
	if (k == count) {
		count = class_order(g, after, order);
		k = 0;
	}
	return member_in(g, order + k + 1, count - k - 1, name);
}

static set_t super_attr(struct graph *g, unit_t after, term_t self, atom_t name)
{
	set_t found = super_member(g, after, self, name);

	if (name == WORD_NEW && found == SET_NONE)
		return object_new(g, self);
	return bind_all(g, found, self);
}

set_t member_of_term(struct graph *g, term_t base, atom_t name)
{
	struct term t = *term_of(g->terms, base);

	switch (t.kind) {
	case TERM_CLASS:
	case TERM_CLS:
	case TERM_INSTANCE:
	case TERM_SELF:
		return solve_ask(g, ASK_MEMBER, t.a, name);
	case TERM_SUPER:
		return super_member(g, t.a, t.b, name);
	default:
		return SET_NONE;
	}
}

static set_t meta_member(struct graph *g, unit_t class, atom_t name)
{
	const term_t *terms;
	set_t s = SET_NONE, metas = solve_ask(g, ASK_META, class, 0);
	size_t n = set_terms(g->terms, metas, &terms);

	for (size_t k = 0; k < n; k++) {
		struct term t = *term_of(g->terms, terms[k]);

		if (t.kind == TERM_CLASS)
			s = set_join(g->terms, s,
				     solve_ask(g, ASK_MEMBER, t.a, name));
	}
	return s;
}

set_t member_of_type(struct graph *g, term_t value, atom_t name)
{
	struct term t = *term_of(g->terms, value);

	switch (t.kind) {
	case TERM_INSTANCE:
	case TERM_SELF:
		return solve_ask(g, ASK_MEMBER, t.a, name);
	case TERM_CLASS:
	case TERM_CLS:
		return meta_member(g, t.a, name);
	default:
		return SET_NONE;
	}
}

/* typing, typing_extensions and collections.abc share their names. */
static set_t library_attr(struct graph *g, atom_t base, atom_t name)
{
	if (base == WORD_TYPING_MORE || base == WORD_ABC)
		base = WORD_TYPING;
	return set_one(g->terms, TERM_LIBRARY, atom_dotted(g, base, name), 0);
}

set_t attr_of_term(struct graph *g, term_t base, atom_t name)
{
	struct term t = *term_of(g->terms, base);

	switch (t.kind) {
	case TERM_MODULE:
		return solve_ask(g, ASK_EXPORT, t.a, name);
	case TERM_PACKAGE:
		return module_in_package(g, t.a, name);
	case TERM_LIBRARY:
		return library_attr(g, t.a, name);
	case TERM_CLASS:
	case TERM_CLS:
		return class_attr(g, base, t.a, name);
	case TERM_INSTANCE:
	case TERM_SELF:
		return instance_attr(g, base, t.a, name);
	case TERM_SUPER:
		return super_attr(g, t.a, t.b, name);
	case TERM_PARTIAL:
		return name == WORD_FUNC ? t.a : SET_NONE;
	case TERM_WRAPPED:
		return attr_of_set(g, t.b, name);
	case TERM_LIST:
	case TERM_DICT:
	case TERM_TUPLE:
	case TERM_RECORD:
		return library_container_attr(g, base, name);
	default:
		return SET_NONE;
	}
}

set_t attr_of_set(struct graph *g, set_t base, atom_t name)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, base, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++)
		s = set_join(g->terms, s, attr_of_term(g, terms[k], name));
	return s;
}
