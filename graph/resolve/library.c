/*
 * The parts of Python's library that pass on their arguments: a sorted() list
 * has the elements of its argument, a dict's values() are its values. Any
 * other call into a library gives no known value.
 */
#include "graph/resolve/library.h"

#include "graph/resolve/calls.h"
#include "graph/resolve/eval.h"
#include "graph/resolve/fields.h"
#include "graph/resolve/members.h"
#include "graph/resolve/types.h"
#include "graph/resolve/words.h"

unsigned library_kind_of(const struct graph *g, atom_t name)
{
	return name < g->library_count ? g->library[name] : LIBRARY_OTHER;
}

/* Positional argument k of a call; NONE: fewer, or behind a *argument. */
static uint32_t argument(const struct graph *g, unit_t n, uint32_t call,
			 uint32_t k)
{
	const struct unit *u = &g->units[n];
	const struct facts_expr *x = expr_of(u, call);

	for (uint32_t at = 0; at < x->c; at++) {
		uint32_t e = list_of(u, x->b + at);
		uint8_t kind = expr_of(u, e)->kind;

		if (kind == EXPR_STAR)
			return NONE;
		if (kind != EXPR_KEYWORD && kind != EXPR_STARS && k-- == 0)
			return e;
	}
	return NONE;
}

static uint32_t keyword(const struct graph *g, unit_t n, uint32_t call,
			atom_t name)
{
	const struct unit *u = &g->units[n];
	const struct facts_expr *x = expr_of(u, call);

	for (uint32_t at = 0; at < x->c; at++) {
		const struct facts_expr *e = expr_of(u, list_of(u, x->b + at));

		if (e->kind == EXPR_KEYWORD && atom_of(u, e->b) == name)
			return e->a;
	}
	return NONE;
}

static set_t argument_eval(struct graph *g, unit_t n, uint32_t call, uint32_t k)
{
	uint32_t e = argument(g, n, call, k);

	return e == NONE ? SET_NONE : eval_expr(g, n, e);
}

static set_t list_of_set(struct graph *g, set_t elements)
{
	return set_one(g->terms, TERM_LIST, elements, 0);
}

static set_t argument_elements(struct graph *g, unit_t n, uint32_t call,
			       uint32_t k)
{
	return value_element(g, argument_eval(g, n, call, k), false);
}

/* super(): the class around, and the first parameter of its method. */
static set_t super_call(struct graph *g, unit_t n, uint32_t call)
{
	uint32_t first = argument(g, n, call, 0);
	unit_t own = class_around(g, n), class = own, f = n;
	const term_t *terms;
	term_t self;
	set_t s;

	if (first != NONE) {
		if (set_terms(g->terms, eval_expr(g, n, first), &terms) != 1 ||
		    term_of(g->terms, terms[0])->kind != TERM_CLASS)
			return SET_NONE;
		class = term_of(g->terms, terms[0])->a;
	}
	if (own == NONE)
		return SET_NONE;
	while (unit_of(g, f)->u->kind == UNIT_FUNCTION &&
	       !(unit_of(g, f)->u->flags & UNIT_METHOD))
		f = unit_of(g, f)->parent;
	if (unit_of(g, f)->u->kind != UNIT_FUNCTION)
		return SET_NONE;
	s = set_one(g->terms, TERM_SELF, own, 0);
	if (function_decorations(g, f) & DECO_CLASS ||
	    atom_of(unit_of(g, f), unit_of(g, f)->u->name) == WORD_NEW ||
	    atom_of(unit_of(g, f), unit_of(g, f)->u->name) ==
		    WORD_INIT_SUBCLASS)
		s = set_one(g->terms, TERM_CLS, own, 0);
	(void)set_terms(g->terms, s, &terms);
	self = terms[0];
	return set_one(g->terms, TERM_SUPER, class, self);
}

static set_t zip_call(struct graph *g, unit_t n, uint32_t call)
{
	set_t items[TUPLE_MAX];
	uint32_t count = 0;

	while (count < TUPLE_MAX && argument(g, n, call, count) != NONE) {
		items[count] = argument_elements(g, n, call, count);
		count++;
	}
	return list_of_set(g, set_tuple(g->terms, items, count));
}

static set_t enumerate_call(struct graph *g, unit_t n, uint32_t call)
{
	set_t items[] = { SET_NONE, argument_elements(g, n, call, 0) };

	return list_of_set(g, set_tuple(g->terms, items, 2));
}

static set_t join_arguments(struct graph *g, unit_t n, uint32_t call,
			    bool elements)
{
	set_t s = SET_NONE;

	for (uint32_t k = 0; argument(g, n, call, k) != NONE; k++)
		s = set_join(g->terms, s,
			     elements ? argument_elements(g, n, call, k)
				      : argument_eval(g, n, call, k));
	return s;
}

static set_t getattr_call(struct graph *g, unit_t n, uint32_t call)
{
	uint32_t name = argument(g, n, call, 1);
	const struct facts_expr *x;
	set_t s;

	if (name == NONE)
		return SET_NONE;
	x = expr_of(unit_of(g, n), name);
	if (x->kind != EXPR_CONST || x->a != CONST_STR || x->b == FACTS_NONE)
		return SET_NONE;
	s = argument_eval(g, n, call, 0);
	s = attr_of_set(g, s, atom_of(unit_of(g, n), x->b));
	return set_join(g->terms, s, argument_eval(g, n, call, 2));
}

static set_t type_call(struct graph *g, unit_t n, uint32_t call)
{
	const term_t *terms;
	set_t s = SET_NONE;
	size_t many;

	if (argument(g, n, call, 1) != NONE)
		return SET_NONE;
	many = set_terms(g->terms, argument_eval(g, n, call, 0), &terms);
	for (size_t k = 0; k < many; k++)
		s = set_join(g->terms, s, class_of_term(g, terms[k]));
	return s;
}

static set_t typevar_call(struct graph *g, unit_t n, uint32_t call)
{
	uint32_t bound = keyword(g, n, call, WORD_BOUND_EQ);

	if (bound == NONE)
		return SET_NONE;
	return set_one(g->terms, TERM_TYPE, type_eval(g, n, bound), 0);
}

static set_t type_argument_eval(struct graph *g, unit_t n, uint32_t call,
				uint32_t k)
{
	uint32_t e = argument(g, n, call, k);

	return e == NONE ? SET_NONE : type_eval(g, n, e);
}

/* To a type variable, say: then the value is what it was. */
static set_t cast_call(struct graph *g, unit_t n, uint32_t call)
{
	set_t s = type_argument_eval(g, n, call, 0);

	return s == SET_NONE ? argument_eval(g, n, call, 1) : s;
}

static set_t dict_call(struct graph *g, unit_t n, uint32_t call)
{
	set_t given = argument_eval(g, n, call, 0);
	set_t pair = value_element(g, given, false);
	const term_t *terms;
	size_t many = set_terms(g->terms, given, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < many; k++)
		if (term_of(g->terms, terms[k])->kind == TERM_DICT ||
		    term_of(g->terms, terms[k])->kind == TERM_RECORD)
			s = set_join(g->terms, s, set_term(g->terms, terms[k]));
	if (s != SET_NONE)
		return s;
	return set_one(g->terms, TERM_DICT, value_item(g, pair, 0, 0),
		       value_item(g, pair, 1, 0));
}

static set_t maker_call(struct graph *g, unsigned what, unit_t n, uint32_t call)
{
	switch (what) {
	case LIBRARY_TYPEVAR:
		return typevar_call(g, n, call);
	case LIBRARY_NEWTYPE:
		return set_one(g->terms, TERM_TYPE,
			       type_argument_eval(g, n, call, 1), 0);
	case LIBRARY_CAST:
		return cast_call(g, n, call);
	case LIBRARY_PARTIAL:
		return set_one(g->terms, TERM_PARTIAL,
			       argument_eval(g, n, call, 0), 0);
	case LIBRARY_MANAGER:
		return set_one(g->terms, TERM_MANAGER,
			       argument_eval(g, n, call, 0), 0);
	case LIBRARY_DEFAULTDICT:
		return set_one(
			g->terms, TERM_DICT, SET_NONE,
			call_set(g, argument_eval(g, n, call, 0), NONE, NONE));
	case LIBRARY_STATICMETHOD:
	case LIBRARY_CLASSMETHOD:
		return argument_eval(g, n, call, 0);
	case LIBRARY_REF:
		return set_one(g->terms, TERM_CALLABLE,
			       argument_eval(g, n, call, 0), 0);
	case LIBRARY_SUPER:
		return super_call(g, n, call);
	case LIBRARY_NAMEDTUPLE:
		return argument(g, n, call, 1) == NONE
			       ? SET_NONE
			       : fields_call(g, n, argument(g, n, call, 1));
	case LIBRARY_GETATTR:
		return getattr_call(g, n, call);
	case LIBRARY_TYPE:
		return type_call(g, n, call);
	default:
		return SET_NONE;
	}
}

set_t library_call(struct graph *g, atom_t name, unit_t n, uint32_t call)
{
	unsigned what = library_kind_of(g, name);

	switch (what) {
	case LIBRARY_OTHER:
		return SET_NONE;
	case LIBRARY_LIST:
	case LIBRARY_TUPLE:
	case LIBRARY_SORTED:
	case LIBRARY_ITERS:
		return list_of_set(g, argument_elements(g, n, call, 0));
	case LIBRARY_DICT:
		return dict_call(g, n, call);
	case LIBRARY_MAKE:
		return type_instances(g, argument_eval(g, n, call, 0));
	case LIBRARY_SAME:
	case LIBRARY_WRAPS:
		return argument_eval(g, n, call, 0);
	case LIBRARY_GATHER:
		return value_awaited(g, argument_eval(g, n, call, 0));
	case LIBRARY_ENUMERATE:
		return enumerate_call(g, n, call);
	case LIBRARY_ZIP:
		return zip_call(g, n, call);
	case LIBRARY_MAP:
		return list_of_set(g, call_set(g, argument_eval(g, n, call, 0),
					       NONE, NONE));
	case LIBRARY_FILTER:
		return list_of_set(g, argument_elements(g, n, call, 1));
	case LIBRARY_NEXT:
		return argument_elements(g, n, call, 0);
	case LIBRARY_MINMAX:
		return join_arguments(g, n, call,
				      argument(g, n, call, 1) == NONE);
	case LIBRARY_CHAIN:
		return list_of_set(g, join_arguments(g, n, call, true));
	default:
		return maker_call(g, what, n, call);
	}
}

set_t library_container_attr(struct graph *g, term_t of, atom_t name)
{
	if (name < WORD_KEY_VALUES || name > WORD_KEY_INTERSECTION)
		return SET_NONE;
	return set_one(g->terms, TERM_OF, of, name);
}

static set_t dict_method(struct graph *g, const struct term *t, atom_t method,
			 unit_t n, uint32_t call)
{
	set_t pair[] = { t->a, t->b };
	set_t s = t->b;

	switch (method) {
	case WORD_KEY_VALUES:
		return list_of_set(g, t->b);
	case WORD_KEY_KEYS:
		return list_of_set(g, t->a);
	case WORD_KEY_ITEMS:
		return list_of_set(g, set_tuple(g->terms, pair, 2));
	case WORD_KEY_POPITEM:
		return set_tuple(g->terms, pair, 2);
	case WORD_KEY_GET:
	case WORD_KEY_POP:
	case WORD_KEY_SETDEFAULT:
		if (n != NONE && call != NONE)
			s = set_join(g->terms, s, argument_eval(g, n, call, 1));
		return s;
	default:
		return SET_NONE;
	}
}

set_t library_container_call(struct graph *g, term_t of, atom_t method,
			     unit_t n, uint32_t call)
{
	struct term t = *term_of(g->terms, of);

	if (method == WORD_KEY_COPY)
		return set_term(g->terms, of);
	if (t.kind == TERM_RECORD)
		t = (struct term){ .kind = TERM_DICT, .b = value_items(g, &t) };
	else if (t.kind == TERM_TUPLE)
		t = (struct term){ .kind = TERM_LIST, .a = value_items(g, &t) };
	if (t.kind == TERM_DICT)
		return dict_method(g, &t, method, n, call);
	if (t.kind != TERM_LIST)
		return SET_NONE;
	switch (method) {
	case WORD_KEY_POP:
	case WORD_KEY_POPLEFT:
	case WORD_KEY_GET:
		return t.a;
	case WORD_KEY_UNION:
	case WORD_KEY_DIFFERENCE:
	case WORD_KEY_INTERSECTION:
		return set_term(g->terms, of);
	default:
		return SET_NONE;
	}
}
