/*
 * Calls without a call in the text. The tables below say which methods each
 * piece of syntax, operator and function of the library runs on a value of
 * known class; `otherwise` is tried in turn where the class has no such
 * method. What is not regular has a function of its own:
 *
 *   x.a         the getter of a property, __get__ of a descriptor; __getattr__
 *               where the class has no such member
 *   x.a = v     a property that has a setter, __set__, __setattr__
 *   del x.a     the same with __delete__, __delattr__
 *   for, *x     __iter__, and __next__ of what it returns; else __getitem__
 *   a + b       __add__ of a, else __radd__ of b; += tries __iadd__ first
 *   x in y      __contains__ of y, else as a loop
 *   class C(B)  __init_subclass__ of B, __new__ and __init__ of the metaclass,
 *               __set_name__ of attributes
 *   C()         __new__ of C, __call__ of its metaclass
 *
 * Python looks such methods up in the class of a value, never in the value
 * itself; so does member_of_type(). A value that is not known runs nothing.
 */
#include "graph/resolve/implicit.h"

#include <assert.h>
#include <string.h>

#include "graph/resolve/calls.h"
#include "graph/resolve/eval.h"
#include "graph/resolve/members.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/types.h"
#include "graph/resolve/words.h"

#define OTHERWISE_MAX 2
struct dunder {
	uint16_t method;
	uint16_t otherwise[OTHERWISE_MAX];
};

static const struct dunder by_site[SITE_KINDS] = {
	[SITE_ITEM_GET] = { WORD_GETITEM, { 0 } },
	[SITE_ITEM_SET] = { WORD_SETITEM, { 0 } },
	[SITE_ITEM_DELETE] = { WORD_DELITEM, { 0 } },
	[SITE_AWAIT] = { WORD_AWAIT, { 0 } },
	[SITE_TEST] = { WORD_BOOL, { WORD_LEN } },
	[SITE_FORMAT] = { WORD_FORMAT, { WORD_STR, WORD_REPR } },
	[SITE_STR] = { WORD_STR, { WORD_REPR } },
	[SITE_REPR] = { WORD_REPR, { 0 } },
};

static const struct operator
{
	uint16_t method, reflected, inplace;
	uint16_t otherwise; /* of the left operand */
}
operators[OP_KINDS] = {
	[OP_NOT] = { WORD_BOOL, 0, 0, WORD_LEN },
	[OP_NEG] = { WORD_NEG, 0, 0, 0 },
	[OP_POS] = { WORD_POS, 0, 0, 0 },
	[OP_INVERT] = { WORD_INVERT, 0, 0, 0 },
	[OP_OR] = { WORD_OR, WORD_ROR, WORD_IOR, 0 },
	[OP_XOR] = { WORD_XOR, WORD_RXOR, WORD_IXOR, 0 },
	[OP_AND] = { WORD_AND, WORD_RAND, WORD_IAND, 0 },
	[OP_LSHIFT] = { WORD_LSHIFT, WORD_RLSHIFT, WORD_ILSHIFT, 0 },
	[OP_RSHIFT] = { WORD_RSHIFT, WORD_RRSHIFT, WORD_IRSHIFT, 0 },
	[OP_ADD] = { WORD_ADD, WORD_RADD, WORD_IADD, 0 },
	[OP_SUB] = { WORD_SUB, WORD_RSUB, WORD_ISUB, 0 },
	[OP_MUL] = { WORD_MUL, WORD_RMUL, WORD_IMUL, 0 },
	[OP_MATMUL] = { WORD_MATMUL, WORD_RMATMUL, WORD_IMATMUL, 0 },
	[OP_DIV] = { WORD_DIV, WORD_RDIV, WORD_IDIV, 0 },
	[OP_FLOORDIV] = { WORD_FLOORDIV, WORD_RFLOORDIV, WORD_IFLOORDIV, 0 },
	[OP_MOD] = { WORD_MOD, WORD_RMOD, WORD_IMOD, 0 },
	[OP_POW] = { WORD_POW, WORD_RPOW, WORD_IPOW, 0 },
	[OP_LT] = { WORD_LT, WORD_GT, 0, 0 },
	[OP_LE] = { WORD_LE, WORD_GE, 0, 0 },
	[OP_EQ] = { WORD_EQ, WORD_EQ, 0, 0 },
	[OP_NE] = { WORD_NE, WORD_NE, 0, WORD_EQ },
	[OP_GT] = { WORD_GT, WORD_LT, 0, 0 },
	[OP_GE] = { WORD_GE, WORD_LE, 0, 0 },
};

/* What a function of the library does with its arguments `from` to `to`. */
enum does { DOES_CALL, DOES_ITER, DOES_AITER, DOES_GET, DOES_SET, DOES_DELETE };
#define ALL UINT8_MAX
static const struct by_function {
	uint16_t function;
	uint8_t does;
	uint8_t from, to;
	struct dunder rule;
} by_function[] = {
	{ WORD_FN_LEN, DOES_CALL, 0, 0, { WORD_LEN, { 0 } } },
	{ WORD_FN_BOOL, DOES_CALL, 0, 0, { WORD_BOOL, { WORD_LEN } } },
	{ WORD_FN_STR, DOES_CALL, 0, 0, { WORD_STR, { WORD_REPR } } },
	{ WORD_FN_PRINT, DOES_CALL, 0, ALL, { WORD_STR, { WORD_REPR } } },
	{ WORD_FN_REPR, DOES_CALL, 0, 0, { WORD_REPR, { 0 } } },
	{ WORD_FN_ASCII, DOES_CALL, 0, 0, { WORD_REPR, { 0 } } },
	{ WORD_FN_FORMAT,
	  DOES_CALL,
	  0,
	  0,
	  { WORD_FORMAT, { WORD_STR, WORD_REPR } } },
	{ WORD_FN_BYTES, DOES_CALL, 0, 0, { WORD_BYTES, { 0 } } },
	{ WORD_FN_INT, DOES_CALL, 0, 0, { WORD_INT, { WORD_INDEX } } },
	{ WORD_FN_FLOAT, DOES_CALL, 0, 0, { WORD_FLOAT, { WORD_INDEX } } },
	{ WORD_FN_COMPLEX, DOES_CALL, 0, 0, { WORD_COMPLEX, { WORD_FLOAT } } },
	{ WORD_FN_HASH, DOES_CALL, 0, 0, { WORD_HASH, { 0 } } },
	{ WORD_FN_ABS, DOES_CALL, 0, 0, { WORD_ABS, { 0 } } },
	{ WORD_FN_ROUND, DOES_CALL, 0, 0, { WORD_ROUND, { 0 } } },
	{ WORD_FN_DIVMOD, DOES_CALL, 0, 0, { WORD_DIVMOD, { 0 } } },
	{ WORD_FN_POW, DOES_CALL, 0, 0, { WORD_POW, { 0 } } },
	{ WORD_FN_DIR, DOES_CALL, 0, 0, { WORD_DIR, { 0 } } },
	{ WORD_FN_REVERSED,
	  DOES_CALL,
	  0,
	  0,
	  { WORD_REVERSED, { WORD_GETITEM } } },
	{ WORD_FN_NEXT, DOES_CALL, 0, 0, { WORD_NEXT, { 0 } } },
	{ WORD_FN_ANEXT, DOES_CALL, 0, 0, { WORD_ANEXT, { 0 } } },
	{ WORD_FN_ITER, DOES_CALL, 0, 0, { WORD_ITER, { WORD_GETITEM } } },
	{ WORD_FN_AITER, DOES_CALL, 0, 0, { WORD_AITER, { 0 } } },
	{ WORD_FN_LIST, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_TUPLE, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_SETOF, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_FROZENSET, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_DICT, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_SORTED, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_SUM, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_ANY, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_ALL, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_MIN, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_MAX, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_ENUMERATE, DOES_ITER, 0, 0, { 0 } },
	{ WORD_FN_ZIP, DOES_ITER, 0, ALL, { 0 } },
	{ WORD_FN_MAP, DOES_ITER, 1, ALL, { 0 } },
	{ WORD_FN_FILTER, DOES_ITER, 1, 1, { 0 } },
	{ WORD_FN_GETATTR, DOES_GET, 0, 0, { 0 } },
	{ WORD_FN_HASATTR, DOES_GET, 0, 0, { 0 } },
	{ WORD_FN_SETATTR, DOES_SET, 0, 0, { 0 } },
	{ WORD_FN_DELATTR, DOES_DELETE, 0, 0, { 0 } },
};

static void join(const struct graph *g, set_t *s, set_t more)
{
	*s = set_join(g->terms, *s, more);
}

/* The first of the rule's methods that the class of the value has. */
static set_t term_called(struct graph *g, term_t value, const struct dunder *r)
{
	set_t s = member_of_type(g, value, r->method);

	for (unsigned k = 0;
	     s == SET_NONE && k < OTHERWISE_MAX && r->otherwise[k]; k++)
		s = member_of_type(g, value, r->otherwise[k]);
	return s;
}

static set_t set_called(struct graph *g, set_t of, const struct dunder *r)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, of, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++)
		join(g, &s, term_called(g, terms[k], r));
	return s;
}

static set_t term_iterated(struct graph *g, term_t over, bool async)
{
	static const struct dunder next = { WORD_NEXT, { 0 } },
				   anext = { WORD_ANEXT, { 0 } };
	atom_t word = async ? WORD_AITER : WORD_ITER;
	set_t s = member_of_type(g, over, word);

	if (s == SET_NONE)
		return async ? s : member_of_type(g, over, WORD_GETITEM);
	join(g, &s,
	     set_called(g, method_call(g, over, word), async ? &anext : &next));
	return s;
}

static set_t set_iterated(struct graph *g, set_t over, bool async)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, over, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++)
		join(g, &s, term_iterated(g, terms[k], async));
	return s;
}

/* Attributes: properties and descriptors. */

/* __get__ and the like, of a value that was found in a class. */
static set_t descriptor_called(struct graph *g, term_t found, atom_t method)
{
	struct term t = *term_of(g->terms, found);
	const term_t *terms;
	set_t s = SET_NONE;
	size_t n;

	if (t.kind == TERM_INSTANCE)
		return solve_ask(g, ASK_MEMBER, t.a, method);
	if (t.kind != TERM_WRAPPED)
		return SET_NONE;
	n = set_terms(g->terms, t.b, &terms);
	for (size_t k = 0; k < n; k++)
		join(g, &s, descriptor_called(g, terms[k], method));
	return s;
}

static bool is_property(struct graph *g, const struct term *t)
{
	return (t->kind == TERM_FUNCTION || t->kind == TERM_WRAPPED) &&
	       unit_lives(g, t->a) &&
	       unit_of(g, t->a)->u->flags & UNIT_METHOD &&
	       function_decorations(g, t->a) & DECO_PROPERTY;
}

static bool is_named(const struct term *t)
{
	return t->kind == TERM_FUNCTION || t->kind == TERM_WRAPPED ||
	       t->kind == TERM_BOUND || t->kind == TERM_CLASS ||
	       t->kind == TERM_PARTIAL;
}

/* `instance`: it was reached through an instance, not through the class. */
static void found_get(struct graph *g, set_t found, bool instance,
		      set_t *called, set_t *named)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, found, &terms);

	for (size_t k = 0; k < n; k++) {
		struct term t = *term_of(g->terms, terms[k]);
		set_t it = set_term(g->terms, terms[k]);

		join(g, called, descriptor_called(g, terms[k], WORD_GET));
		if (instance && is_property(g, &t))
			join(g, called, it);
		else if (is_named(&t))
			join(g, named, it);
	}
}

/* Every object has some attributes of this form. */
static bool is_special(const struct graph *g, atom_t name)
{
	return strncmp(atom_text(g, name), "__", 2) == 0;
}

static void instance_get(struct graph *g, term_t base, atom_t name,
			 set_t *called, set_t *named)
{
	set_t found = member_of_term(g, base, name);

	if (found == SET_NONE && !is_special(g, name))
		join(g, called, member_of_type(g, base, WORD_GETATTR));
	found_get(g, found, true, called, named);
}

static bool is_instance(const struct graph *g, term_t id)
{
	struct term t = *term_of(g->terms, id);

	if (t.kind == TERM_SUPER)
		return is_instance(g, t.b);
	return t.kind == TERM_INSTANCE || t.kind == TERM_SELF;
}

void implicit_get(struct graph *g, set_t base, atom_t name, set_t *called,
		  set_t *named)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, base, &terms);

	for (size_t k = 0; k < n; k++) {
		struct term t = *term_of(g->terms, terms[k]);

		if (is_instance(g, terms[k]))
			instance_get(g, terms[k], name, called, named);
		else if (t.kind == TERM_MODULE)
			found_get(g, solve_ask(g, ASK_EXPORT, t.a, name), false,
				  called, named);
		else
			found_get(g, member_of_term(g, terms[k], name), false,
				  called, named);
	}
}

/* Does the property have a setter or deleter, a further definition? */
static bool is_settable(struct graph *g, const struct term *t)
{
	return is_property(g, t) && unit_of(g, t->a)->ordinal > 0;
}

/* x.name = v runs `method` of a descriptor, `hook` of the class of x. */
static set_t attr_changed(struct graph *g, set_t base, atom_t name,
			  atom_t method, atom_t hook)
{
	const term_t *terms, *found;
	size_t n = set_terms(g->terms, base, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++) {
		size_t many = 0;

		join(g, &s, member_of_type(g, terms[k], hook));
		if (is_instance(g, terms[k]))
			many = set_terms(g->terms,
					 member_of_term(g, terms[k], name),
					 &found);
		for (size_t m = 0; m < many; m++) {
			struct term t = *term_of(g->terms, found[m]);

			join(g, &s, descriptor_called(g, found[m], method));
			if (is_settable(g, &t))
				join(g, &s, set_term(g->terms, found[m]));
		}
	}
	return s;
}

static set_t place_changed(struct graph *g, unit_t n, uint32_t e, bool deleted)
{
	struct facts_expr x = *expr_of(unit_of(g, n), e);

	return attr_changed(g, eval_expr(g, n, x.a),
			    atom_of(unit_of(g, n), x.b),
			    deleted ? WORD_DELETE : WORD_SET,
			    deleted ? WORD_DELATTR : WORD_SETATTR);
}

/* Operators. */

static set_t operand_called(struct graph *g, set_t operand, uint16_t method,
			    uint16_t otherwise)
{
	const struct dunder r = { method, { otherwise } };

	return method ? set_called(g, operand, &r) : SET_NONE;
}

static set_t operator_called(struct graph *g, set_t left, set_t right,
			     uint32_t op)
{
	static const struct dunder contains = { WORD_CONTAINS, { 0 } };
	const struct operator* o = & operators[op & ~(uint32_t)OP_INPLACE];
	set_t s = SET_NONE;

	if (op == OP_IN) {
		s = set_called(g, right, &contains);
		return s == SET_NONE ? set_iterated(g, right, false) : s;
	}
	if (op & OP_INPLACE)
		s = operand_called(g, left, o->inplace, 0);
	if (s == SET_NONE)
		s = operand_called(g, left, o->method, o->otherwise);
	if (s == SET_NONE)
		s = operand_called(g, right, o->reflected, 0);
	return s;
}

static set_t operator_at(struct graph *g, unit_t n, uint32_t e)
{
	struct facts_expr x = *expr_of(unit_of(g, n), e);
	set_t left = eval_expr(g, n, x.a);
	set_t right = x.b == FACTS_NONE ? SET_NONE : eval_expr(g, n, x.b);

	return operator_called(g, left, right, x.c);
}

static set_t operand_value(struct graph *g, set_t operand, uint16_t method)
{
	const term_t *terms;
	size_t n = method ? set_terms(g->terms, operand, &terms) : 0;
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++)
		if (is_instance(g, terms[k]) &&
		    member_of_type(g, terms[k], method) != SET_NONE)
			join(g, &s, method_call(g, terms[k], method));
	return s;
}

set_t implicit_operator_value(struct graph *g, set_t left, set_t right,
			      uint32_t op)
{
	const struct operator* o = & operators[op & ~(uint32_t)OP_INPLACE];
	set_t s = operand_value(g, left, o->method);

	return s == SET_NONE ? operand_value(g, right, o->reflected) : s;
}

/* Subscripts: of a class, that is X[int], __class_getitem__. */
static set_t item_called(struct graph *g, unit_t n, uint32_t e,
			 const struct dunder *r)
{
	set_t base = eval_expr(g, n, expr_of(unit_of(g, n), e)->a);
	const term_t *terms;
	size_t many = set_terms(g->terms, base, &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < many; k++) {
		struct term t = *term_of(g->terms, terms[k]);
		set_t found = term_called(g, terms[k], r);

		if (found == SET_NONE && r->method == WORD_GETITEM &&
		    t.kind == TERM_CLASS)
			found = member_of_term(g, terms[k], WORD_CLASS_GETITEM);
		join(g, &s, found);
	}
	return s;
}

static set_t with_called(struct graph *g, set_t manager, bool async)
{
	const struct dunder enter = { async ? WORD_AENTER : WORD_ENTER, { 0 } },
			    leave = { async ? WORD_AEXIT : WORD_EXIT, { 0 } };

	return set_join(g->terms, set_called(g, manager, &enter),
			set_called(g, manager, &leave));
}

set_t implicit_at(struct graph *g, unit_t n, enum facts_site_kind kind,
		  uint32_t e)
{
	switch ((int)kind) {
	case SITE_SET:
	case SITE_DELETE:
		return place_changed(g, n, e, kind == SITE_DELETE);
	case SITE_OPERATOR:
		return operator_at(g, n, e);
	case SITE_ITER:
	case SITE_AITER:
		return set_iterated(g, eval_expr(g, n, e), kind == SITE_AITER);
	case SITE_WITH:
	case SITE_AWITH:
		return with_called(g, eval_expr(g, n, e), kind == SITE_AWITH);
	case SITE_ITEM_GET:
	case SITE_ITEM_SET:
	case SITE_ITEM_DELETE:
		return item_called(g, n, e, &by_site[kind]);
	default:
		assert(by_site[kind].method);
		return set_called(g, eval_expr(g, n, e), &by_site[kind]);
	}
}

/* Functions of the library. */

static const struct by_function *function_known(atom_t function)
{
	if (function < WORD_FN_LEN || function >= WORD_COUNT)
		return NULL;
	for (size_t k = 0; k < sizeof(by_function) / sizeof(*by_function); k++)
		if (by_function[k].function == function)
			return &by_function[k];
	return NULL;
}

/* getattr(x, "name") and the like; other names are not followed. */
static set_t named_attr(struct graph *g, unit_t n, set_t base,
			const struct facts_expr *call, enum does does)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_expr *x;
	set_t called = SET_NONE, named = SET_NONE;
	atom_t name;

	if (call->c < 2)
		return SET_NONE;
	x = expr_of(u, list_of(u, call->b + 1));
	if (x->kind != EXPR_CONST || x->a != CONST_STR || x->b == FACTS_NONE)
		return SET_NONE;
	name = atom_of(u, x->b);
	if (does != DOES_GET)
		return attr_changed(g, base, name,
				    does == DOES_SET ? WORD_SET : WORD_DELETE,
				    does == DOES_SET ? WORD_SETATTR
						     : WORD_DELATTR);
	implicit_get(g, base, name, &called, &named);
	return called;
}

static set_t argument_called(struct graph *g, unit_t n,
			     const struct by_function *f,
			     const struct facts_expr *call, uint32_t argument)
{
	set_t value = eval_expr(g, n, argument);

	switch ((enum does)f->does) {
	case DOES_CALL:
		return set_called(g, value, &f->rule);
	case DOES_ITER:
	case DOES_AITER:
		return set_iterated(g, value, f->does == DOES_AITER);
	case DOES_GET:
	case DOES_SET:
	case DOES_DELETE:
	default:
		return named_attr(g, n, value, call, f->does);
	}
}

set_t implicit_by_library(struct graph *g, atom_t function, unit_t n,
			  uint32_t call)
{
	const struct by_function *f = function_known(function);
	struct facts_expr x = *expr_of(unit_of(g, n), call);
	set_t s = SET_NONE;

	if (!f)
		return s;
	/* min(a, b) compares its arguments. */
	if ((function == WORD_FN_MIN || function == WORD_FN_MAX) && x.c != 1)
		return s;
	for (uint32_t k = f->from; k < x.c && k <= f->to; k++) {
		uint32_t e = list_of(unit_of(g, n), x.b + k);
		uint8_t kind = expr_of(unit_of(g, n), e)->kind;

		if (kind == EXPR_STAR || kind == EXPR_STARS)
			break;
		if (kind != EXPR_KEYWORD)
			join(g, &s, argument_called(g, n, f, &x, e));
	}
	return s;
}

/* Classes. */

static set_t meta_method(struct graph *g, unit_t class, atom_t name)
{
	return member_of_type(g, term_make(g->terms, TERM_CLASS, class, 0),
			      name);
}

set_t implicit_by_class(struct graph *g, unit_t class)
{
	return set_join(g->terms, solve_ask(g, ASK_MEMBER, class, WORD_NEW),
			meta_method(g, class, WORD_CALL));
}

/* The class statement's own `x = Descriptor()`. */
static set_t names_set(struct graph *g, unit_t class)
{
	static const struct dunder set_name = { WORD_SET_NAME, { 0 } };
	set_t s = SET_NONE;

	for (uint32_t k = 0; k < unit_of(g, class)->u->binds.count; k++) {
		const struct unit *u = unit_of(g, class);
		const struct facts_bind *b = bind_of(u, k);
		uint32_t e = b->kind == BIND_TYPED ? b->extra : b->value;

		if ((b->kind == BIND_VALUE || b->kind == BIND_TYPED) &&
		    expr_of(u, e)->kind == EXPR_CALL)
			join(g, &s,
			     set_called(g, eval_expr(g, class, e), &set_name));
	}
	return s;
}

set_t implicit_by_definition(struct graph *g, unit_t class)
{
	static const atom_t meta[] = { WORD_NEW, WORD_INIT, WORD_PREPARE };
	unit_t order[ORDER_MAX];
	uint32_t count = class_order(g, class, order);
	set_t s = names_set(g, class);

	for (size_t k = 0; k < sizeof(meta) / sizeof(*meta); k++)
		join(g, &s, meta_method(g, class, meta[k]));
	for (uint32_t k = 1; k < count; k++) {
		set_t hook =
			solve_ask(g, ASK_MEMBER, order[k], WORD_INIT_SUBCLASS);

		if (hook == SET_NONE)
			continue;
		join(g, &s, hook);
		break;
	}
	return s;
}
