/*
 * Annotations: expressions that stand for types. Also the decorations of a
 * function, and the fixture that a parameter of a test stands for.
 */
#include "graph/resolve/types.h"

#include <string.h>

#include "graph/resolve/calls.h"
#include "graph/resolve/eval.h"
#include "graph/resolve/library.h"
#include "graph/resolve/members.h"
#include "graph/resolve/modules.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/words.h"

unit_t class_around(const struct graph *g, unit_t n)
{
	while (g->units[n].u->kind == UNIT_FUNCTION)
		n = g->units[n].parent;
	return g->units[n].u->kind == UNIT_CLASS ? n : NONE;
}

/* A bare name of the library, as a type. */
static set_t library_instances(struct graph *g, atom_t what)
{
	switch (library_kind_of(g, what)) {
	case LIBRARY_LIST:
	case LIBRARY_TUPLE:
		return set_one(g->terms, TERM_LIST, SET_NONE, 0);
	case LIBRARY_DICT:
	case LIBRARY_DEFAULTDICT:
		return set_one(g->terms, TERM_DICT, SET_NONE, SET_NONE);
	default:
		return SET_NONE;
	}
}

static set_t term_instances(struct graph *g, term_t id)
{
	struct term t = *term_of(g->terms, id);

	switch (t.kind) {
	case TERM_CLASS:
		return set_one(g->terms, TERM_INSTANCE, t.a, 0);
	case TERM_CLS:
		return set_one(g->terms, TERM_SELF, t.a, 0);
	case TERM_TYPE:
		return t.a;
	case TERM_LIBRARY:
		return library_instances(g, t.a);
	default:
		return SET_NONE;
	}
}

set_t type_instances(struct graph *g, set_t types)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, types, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++)
		s = set_join(g->terms, s, term_instances(g, terms[k]));
	return s;
}

/* Argument k of X[...]; NONE: there are fewer. */
static uint32_t type_argument(struct graph *g, unit_t n, uint32_t index,
			      uint32_t k)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_expr *x = expr_of(u, index);

	if (x->kind != EXPR_TUPLE)
		return k == 0 ? index : NONE;
	return k < x->c ? list_of(u, x->b + k) : NONE;
}

static set_t type_nth(struct graph *g, unit_t n, uint32_t index, uint32_t k)
{
	uint32_t e = type_argument(g, n, index, k);

	return e == NONE ? SET_NONE : type_eval(g, n, e);
}

static set_t type_union(struct graph *g, unit_t n, uint32_t index)
{
	set_t s = SET_NONE;

	for (uint32_t k = 0; type_argument(g, n, index, k) != NONE; k++)
		s = set_join(g->terms, s, type_nth(g, n, index, k));
	return s;
}

static set_t type_tuple(struct graph *g, unit_t n, uint32_t index)
{
	set_t items[TUPLE_MAX];
	uint32_t count = 0, e;

	for (; (e = type_argument(g, n, index, count)) != NONE; count++) {
		const struct facts_expr *x = expr_of(unit_of(g, n), e);

		if (count == TUPLE_MAX ||
		    (x->kind == EXPR_CONST && x->a == CONST_ELLIPSIS))
			return set_one(g->terms, TERM_LIST,
				       type_nth(g, n, index, 0), 0);
		items[count] = type_eval(g, n, e);
	}
	return set_tuple(g->terms, items, count);
}

/* type[C]: the class itself. */
static set_t type_type(struct graph *g, set_t of)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, of, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++)
		s = set_join(g->terms, s, class_of_term(g, terms[k]));
	return s;
}

set_t type_library_index(struct graph *g, atom_t what, unit_t n, uint32_t index)
{
	switch (library_kind_of(g, what)) {
	case LIBRARY_LIST:
		return set_one(g->terms, TERM_LIST, type_nth(g, n, index, 0),
			       0);
	case LIBRARY_DICT:
	case LIBRARY_DEFAULTDICT:
		return set_one(g->terms, TERM_DICT, type_nth(g, n, index, 0),
			       type_nth(g, n, index, 1));
	case LIBRARY_TUPLE:
		return type_tuple(g, n, index);
	case LIBRARY_TYPE:
		return type_type(g, type_nth(g, n, index, 0));
	case LIBRARY_OPTIONAL:
		return type_nth(g, n, index, 0);
	case LIBRARY_UNION:
		return type_union(g, n, index);
	case LIBRARY_REF:
		return set_one(g->terms, TERM_CALLABLE,
			       type_nth(g, n, index, 0), 0);
	case LIBRARY_CALLABLE:
		return set_one(g->terms, TERM_CALLABLE,
			       type_nth(g, n, index, 1), 0);
	case LIBRARY_AWAITABLE:
		return set_one(g->terms, TERM_AWAITABLE,
			       type_nth(g, n, index, 0), 0);
	case LIBRARY_COROUTINE:
		return set_one(g->terms, TERM_AWAITABLE,
			       type_nth(g, n, index, 2), 0);
	case LIBRARY_MANAGER:
		return set_one(g->terms, TERM_MANAGER, type_nth(g, n, index, 0),
			       0);
	default:
		return SET_NONE;
	}
}

/* typing.Self is an instance of the class around. */
static set_t type_name(struct graph *g, unit_t n, uint32_t e)
{
	set_t s = eval_expr(g, n, e);
	const term_t *terms;
	unit_t class;

	if (set_terms(g->terms, s, &terms) == 1) {
		const struct term *t = term_of(g->terms, terms[0]);

		if (t->kind == TERM_LIBRARY &&
		    library_kind_of(g, t->a) == LIBRARY_SELF) {
			class = class_around(g, n);
			return class == NONE
				       ? SET_NONE
				       : set_one(g->terms, TERM_SELF, class, 0);
		}
	}
	return type_instances(g, s);
}

/* "a.B" where facts do not parse strings as types: a TypeVar's bound. */
static set_t type_string(struct graph *g, unit_t n, atom_t text)
{
	const char *at = atom_text(g, text);
	size_t len = strcspn(at, ".");
	set_t s = solve_ask(g, ASK_NAME, module_of(g, n),
			    atom_intern(g, at, len));

	while (at[len]) {
		at += len + 1;
		len = strcspn(at, ".");
		s = attr_of_set(g, s, atom_intern(g, at, len));
	}
	return type_instances(g, s);
}

set_t type_eval(struct graph *g, unit_t n, uint32_t e)
{
	struct facts_expr x = *expr_of(unit_of(g, n), e);
	set_t s = SET_NONE;

	switch (x.kind) {
	case EXPR_NAME:
	case EXPR_ATTR:
		return type_name(g, n, e);
	case EXPR_BINARY:
		if (x.c != OP_OR)
			return SET_NONE;
		return set_join(g->terms, type_eval(g, n, x.a),
				type_eval(g, n, x.b));
	case EXPR_EITHER:
		for (uint32_t k = 0; k < x.c; k++)
			s = set_join(
				g->terms, s,
				type_eval(g, n,
					  list_of(unit_of(g, n), x.b + k)));
		return s;
	case EXPR_INDEX:
	case EXPR_CALL:
		return type_instances(g, eval_expr(g, n, e));
	case EXPR_CONST:
		if (x.a != CONST_STR || x.b == FACTS_NONE)
			return SET_NONE;
		return type_string(g, n, atom_of(unit_of(g, n), x.b));
	default:
		return SET_NONE;
	}
}

static unsigned library_decoration(unsigned what)
{
	switch (what) {
	case LIBRARY_PROPERTY:
	case LIBRARY_CACHED_PROPERTY:
		return DECO_PROPERTY;
	case LIBRARY_STATICMETHOD:
		return DECO_STATIC;
	case LIBRARY_CLASSMETHOD:
		return DECO_CLASS;
	case LIBRARY_CONTEXTMANAGER:
		return DECO_MANAGER;
	case LIBRARY_OVERLOAD:
		return DECO_OVERLOAD;
	case LIBRARY_FIXTURE:
		return DECO_FIXTURE;
	default:
		return 0;
	}
}

/* Stops at a library class that makes methods properties, static or class
   methods. */
static bool sees_decoration(const struct graph *g, atom_t library, void *arg)
{
	unsigned *how = arg;

	*how = library_decoration(library_kind_of(g, library)) &
	       (DECO_PROPERTY | DECO_STATIC | DECO_CLASS);
	return *how;
}

static unsigned decoration_of(struct graph *g, term_t id)
{
	struct term t = *term_of(g->terms, id);
	unsigned how = 0;

	if (t.kind == TERM_LIBRARY)
		return library_decoration(library_kind_of(g, t.a));
	/* class once(classmethod): still a method of the class. */
	if (t.kind != TERM_CLASS ||
	    class_library_base(g, t.a, sees_decoration, &how))
		return how;
	/* A descriptor class: like a property. */
	return method_find(g, t.a, WORD_GET) != NONE ? DECO_PROPERTY : 0;
}

static unsigned decorator_eval(struct graph *g, unit_t f, uint32_t e)
{
	struct facts_expr x = *expr_of(unit_of(g, f), e);
	const term_t *terms;
	unsigned how = 0;
	size_t n;

	if (x.kind == EXPR_CALL)
		x = *expr_of(unit_of(g, f), e = x.a);
	if (x.kind == EXPR_ATTR) {
		atom_t name = atom_of(unit_of(g, f), x.b);

		if (name == WORD_SETTER || name == WORD_GETTER ||
		    name == WORD_DELETER)
			return DECO_PROPERTY;
	}
	n = set_terms(g->terms, eval_expr(g, f, e), &terms);
	for (size_t k = 0; k < n; k++)
		how |= decoration_of(g, terms[k]);
	return how;
}

uint32_t function_decorations_solve(struct graph *g, unit_t f)
{
	unsigned how = 0;

	solve_need(g, KEY_HEADER, f, 0);
	if (!unit_lives(g, f))
		return 0;
	for (uint32_t k = 0; k < unit_of(g, f)->u->decorators.count; k++) {
		const struct unit *u = unit_of(g, f);

		how |= decorator_eval(g, f,
				      list_of(u, u->u->decorators.from + k));
	}
	return how;
}

unsigned function_decorations(struct graph *g, unit_t f)
{
	if (!unit_lives(g, f) || unit_of(g, f)->u->decorators.count == 0) {
		solve_need(g, KEY_HEADER, f, 0);
		return 0;
	}
	return solve_ask(g, ASK_DECORATIONS, f, 0);
}

/* Those of a set that are called instead of f. */
static set_t wrappers_in(struct graph *g, set_t in, unit_t f)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, in, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++) {
		struct term t = *term_of(g->terms, terms[k]);
		bool function =
			t.kind == TERM_FUNCTION || t.kind == TERM_WRAPPED;

		if ((function && t.a != f) || t.kind == TERM_INSTANCE)
			s = set_join(g->terms, s, set_term(g->terms, terms[k]));
	}
	return s;
}

/* Of the outermost decorator that returns one. */
set_t function_wrappers_solve(struct graph *g, unit_t f)
{
	set_t s = SET_NONE;

	solve_need(g, KEY_HEADER, f, 0);
	if (!unit_lives(g, f))
		return s;
	for (uint32_t k = 0;
	     s == SET_NONE && k < unit_of(g, f)->u->decorators.count; k++) {
		const struct unit *u = unit_of(g, f);
		uint32_t e = list_of(u, u->u->decorators.from + k);

		s = call_set(g, eval_expr(g, f, e), NONE, NONE);
		s = wrappers_in(g, s, f);
	}
	return s;
}

set_t function_wrappers(struct graph *g, unit_t f)
{
	if (!unit_lives(g, f) || unit_of(g, f)->u->decorators.count == 0) {
		solve_need(g, KEY_HEADER, f, 0);
		return SET_NONE;
	}
	return solve_ask(g, ASK_WRAPPERS, f, 0);
}

/* The value of a fixture: what it returns, or yields. false: none of the
   functions found is a fixture. */
static bool fixture_value(struct graph *g, set_t found, set_t *ret)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, found, &terms);
	bool any = false;

	*ret = SET_NONE;
	for (size_t k = 0; k < n; k++) {
		struct term t = *term_of(g->terms, terms[k]);
		set_t s;

		if ((t.kind != TERM_FUNCTION && t.kind != TERM_WRAPPED) ||
		    !unit_lives(g, t.a) ||
		    !(function_decorations(g, t.a) & DECO_FIXTURE))
			continue;
		s = solve_ask(g, ASK_RESULT, t.a, 0);
		if (unit_of(g, t.a)->u->flags & UNIT_ASYNC)
			s = value_awaited(g, s);
		if (unit_of(g, t.a)->u->flags & UNIT_GENERATOR)
			s = value_element(g, s, false);
		*ret = set_join(g->terms, *ret, s);
		any = true;
	}
	return any;
}

/* @fixture(name="...") */
static atom_t decorator_alias(const struct unit *u, uint32_t decorator)
{
	const struct facts_expr *call = expr_of(u, decorator);

	for (uint32_t k = 0; call->kind == EXPR_CALL && k < call->c; k++) {
		const struct facts_expr *x =
			expr_of(u, list_of(u, call->b + k));
		const struct facts_expr *value;

		if (x->kind != EXPR_KEYWORD || atom_of(u, x->b) != WORD_NAME)
			continue;
		value = expr_of(u, x->a);
		if (value->kind == EXPR_CONST && value->a == CONST_STR &&
		    value->b != FACTS_NONE)
			return atom_of(u, value->b);
	}
	return WORD_EMPTY;
}

atom_t fixture_alias(const struct graph *g, unit_t f)
{
	const struct unit *u = &g->units[f];
	atom_t a = WORD_EMPTY;

	for (uint32_t k = 0; k < u->u->decorators.count && !a; k++)
		a = decorator_alias(u, list_of(u, u->u->decorators.from + k));
	return a;
}

/* A fixture of the module, by its own name or by fixture(name=...). */
static bool fixture_in(struct graph *g, unit_t module, atom_t name, set_t *ret)
{
	uint32_t count = g->files[unit_of(g, module)->file].units_count;

	if (fixture_value(g, solve_ask(g, ASK_EXPORT, module, name), ret))
		return true;
	solve_need(g, KEY_FIXTURES, module, 0);
	for (uint32_t k = 1; k < count; k++) {
		unit_t f = unit_below(g, module, k);

		if (unit_of(g, f)->parent == module &&
		    unit_of(g, f)->u->kind == UNIT_FUNCTION &&
		    fixture_alias(g, f) == name &&
		    fixture_value(g, set_one(g->terms, TERM_FUNCTION, f, 0),
				  ret))
			return true;
	}
	return false;
}

static bool takes_fixtures(struct graph *g, unit_t f)
{
	const struct unit *u = unit_of(g, f);
	const char *name = atom_text(g, atom_of(u, u->u->name));

	return strncmp(name, "test", 4) == 0 ||
	       function_decorations(g, f) & DECO_FIXTURE;
}

/* The nearest: in the class, the module, then conftest.py outwards. */
set_t fixture_find(struct graph *g, unit_t f, atom_t name)
{
	unit_t class = unit_of(g, f)->parent, m;
	atom_t dir = g->files[unit_of(g, f)->file].dir;
	set_t s;

	if (!takes_fixtures(g, f))
		return SET_NONE;
	if (unit_of(g, class)->u->kind == UNIT_CLASS &&
	    fixture_value(g, solve_ask(g, ASK_MEMBER, class, name), &s))
		return s;
	if (fixture_in(g, module_of(g, f), name, &s))
		return s;
	for (;;) {
		const char *text = atom_text(g, dir);
		const char *dot = strrchr(text, '.');

		m = module_find(g, atom_dotted(g, dir, WORD_CONFTEST));
		if (m != NONE && fixture_in(g, m, name, &s))
			return s;
		if (dir == WORD_EMPTY)
			return SET_NONE;
		dir = dot ? atom_intern(g, text, (size_t)(dot - text))
			  : WORD_EMPTY;
	}
}
