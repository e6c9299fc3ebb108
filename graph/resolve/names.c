/*
 * From a name to the values it is bound to.
 *
 * In modules and classes the last unconditional binding counts, and the
 * conditional ones after it: other units see the scope as it is when its code
 * has run. In a function, order matters (flow.h). Functions inside see all of
 * its bindings.
 */
#include "graph/resolve/names.h"

#include <assert.h>

#include "graph/base/alloc.h"
#include "graph/resolve/calls.h"
#include "graph/resolve/eval.h"
#include "graph/resolve/flow.h"
#include "graph/resolve/library.h"
#include "graph/resolve/members.h"
#include "graph/resolve/modules.h"
#include "graph/resolve/outers.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/stars.h"
#include "graph/resolve/types.h"
#include "graph/resolve/words.h"

static bool in_own_scope(const struct unit *u, const struct facts_bind *b)
{
	return block_of(u, b->block)->scope == 0 && !b->outer &&
	       b->kind != BIND_NARROW && b->kind != BIND_STORE;
}

static bool is_own_store(const struct unit *u, const struct facts_bind *b)
{
	return b->kind == BIND_STORE && !b->outer &&
	       block_of(u, b->block)->scope == 0;
}

/* u->names is sorted by atom, then binding. */
uint32_t name_first(const struct unit *u, atom_t name)
{
	uint32_t low = 0, high = u->names_count;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (u->names[mid].atom < name)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool name_is_bound(const struct unit *u, atom_t name)
{
	uint32_t k;

	if (u->u->kind != UNIT_FUNCTION) {
		for (k = name_first(u, name);
		     k < u->names_count && u->names[k].atom == name; k++)
			if (bind_of(u, u->names[k].bind)->kind != BIND_STORE)
				return true;
		return false;
	}
	for (k = flow_bind_from(u, name, 0); k != NONE;
	     k = flow_bind_from(u, name, k + 1))
		if (in_own_scope(u, bind_of(u, k)))
			return true;
	return false;
}

static set_t from_module(struct graph *g, unit_t n, atom_t target, atom_t name)
{
	set_t module = module_imported(g, n, target);
	const term_t *terms;
	struct term t;

	if (set_terms(g->terms, module, &terms) != 1)
		return SET_NONE;
	t = *term_of(g->terms, terms[0]);
	/* A package that imports from itself gets a submodule. */
	if (t.kind == TERM_MODULE && t.a == module_of(g, n))
		return module_in_package(g, target, name);
	if (t.kind == TERM_MODULE)
		return solve_ask(g, ASK_EXPORT, t.a, name);
	return attr_of_term(g, terms[0], name);
}

static set_t import_eval(struct graph *g, unit_t n, const struct facts_bind *b)
{
	const struct unit *u = unit_of(g, n);
	atom_t target = atom_of(u, b->module);

	if (b->kind == BIND_FROM) {
		atom_t what = atom_of(u, b->value);

		return from_module(g, n,
				   module_absolute_name(g, n, b->level, target),
				   what);
	}
	if (b->extra != 1)
		target = atom_of(u, b->name);
	return module_imported(g, n, target);
}

/* The annotation of that parameter in the method it overrides. */
static bool param_inherited(struct graph *g, unit_t n, atom_t name, set_t *ret)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_param *p;
	unit_t above;

	if (!(u->u->flags & UNIT_METHOD))
		return false;
	above = method_overridden(g, n);
	if (above == NONE || !unit_lives(g, above))
		return false;
	solve_need(g, KEY_HEADER, above, 0);
	u = unit_of(g, above);
	p = facts_params(u->sheet->facts, u->u);
	for (uint32_t k = 0; k < u->u->params.count; k++) {
		if (atom_of(u, p[k].name) != name ||
		    p[k].annotation == FACTS_NONE)
			continue;
		*ret = type_eval(g, above, p[k].annotation);
		return true;
	}
	return false;
}

static set_t param_plain(struct graph *g, unit_t n, const struct facts_param *p)
{
	const struct unit *u = unit_of(g, n);
	atom_t name = atom_of(u, p->name);
	uint32_t preset = p->preset;
	set_t s = SET_NONE;

	if (p->annotation != FACTS_NONE)
		return type_eval(g, n, p->annotation);
	if (param_inherited(g, n, name, &s))
		return s;
	if (preset != FACTS_NONE)
		s = eval_expr(g, n, preset);
	return set_join(g->terms, s, fixture_find(g, n, name));
}

/* The first parameter of a method: the instance, or the class. */
static bool param_self(struct graph *g, unit_t n, set_t *ret)
{
	const struct unit *u = unit_of(g, n);
	unit_t class = u->parent;
	unsigned how;
	atom_t name;

	if (!(u->u->flags & UNIT_METHOD))
		return false;
	how = function_decorations(g, n);
	u = unit_of(g, n);
	name = atom_of(u, u->u->name);
	if (how & DECO_STATIC && name != WORD_NEW)
		return false;
	if (how & DECO_CLASS || name == WORD_NEW ||
	    name == WORD_INIT_SUBCLASS || name == WORD_CLASS_GETITEM)
		*ret = set_one(g->terms, TERM_CLS, class, 0);
	else
		*ret = set_one(g->terms, TERM_SELF, class, 0);
	return true;
}

static set_t param_eval(struct graph *g, unit_t n, uint32_t index)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_param *p =
		facts_params(u->sheet->facts, u->u) + index;
	set_t s;

	solve_need(g, KEY_HEADER, n, 0);
	if (index == 0 && p->kind == PARAM_PLAIN && param_self(g, n, &s))
		return s;
	u = unit_of(g, n);
	p = facts_params(u->sheet->facts, u->u) + index;
	s = param_plain(g, n, p);
	if (p->kind == PARAM_STAR)
		return set_one(g->terms, TERM_LIST, s, 0);
	if (p->kind == PARAM_STARS)
		return set_one(g->terms, TERM_DICT, SET_NONE, s);
	return s;
}

/* The instances that calling `callee` returns. */
static set_t made_instances(struct graph *g, set_t callee)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, call_set(g, callee, NONE, NONE), &terms);
	set_t s = SET_NONE;

	for (size_t k = 0; k < n; k++)
		if (term_of(g->terms, terms[k])->kind == TERM_INSTANCE)
			s = set_join(g->terms, s, set_term(g->terms, terms[k]));
	return s;
}

/*
 * A decorated function is still the callee of calls by its name; but if a
 * decorator returns an object, attributes are those of the object. The
 * outermost such decorator counts.
 */
static set_t function_eval(struct graph *g, unit_t f)
{
	uint32_t count = unit_of(g, f)->u->decorators.count;
	set_t made = SET_NONE;

	solve_need(g, KEY_HEADER, f, 0);
	for (uint32_t k = 0; k < count && made == SET_NONE; k++) {
		const struct unit *u = unit_of(g, f);

		made = made_instances(
			g,
			eval_expr(g, f, list_of(u, u->u->decorators.from + k)));
	}
	return set_one(g->terms, made ? TERM_WRAPPED : TERM_FUNCTION, f, made);
}

static set_t def_eval(struct graph *g, unit_t def)
{
	if (unit_of(g, def)->u->kind == UNIT_FUNCTION)
		return function_eval(g, def);
	return set_one(g->terms, TERM_CLASS, def, 0);
}

static bool is_property(struct graph *g, set_t callee)
{
	const term_t *terms;

	if (set_terms(g->terms, callee, &terms) != 1)
		return false;
	return term_of(g->terms, terms[0])->kind == TERM_LIBRARY &&
	       library_kind_of(g, term_of(g->terms, terms[0])->a) ==
		       LIBRARY_PROPERTY;
}

/* f = lambda self: .. in a class, or f = property(lambda self: ..) */
static bool lambda_is_method(struct graph *g, unit_t n, uint32_t lambda)
{
	const struct unit *u = unit_of(g, n);
	uint32_t k = flow_binds_before(u, lambda);
	const struct facts_bind *b = bind_of(u, k);
	const struct facts_expr *x;

	if (u->u->kind != UNIT_CLASS || k == u->u->binds.count ||
	    b->kind != BIND_VALUE || block_of(u, b->block)->scope != 0)
		return false;
	if (b->value == lambda)
		return true;
	x = expr_of(u, b->value);
	return x->kind == EXPR_CALL && x->c && list_of(u, x->b) == lambda &&
	       is_property(g, eval_expr(g, n, x->a));
}

static set_t lambda_param(struct graph *g, unit_t n, uint32_t at)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_bind *b = bind_of(u, at);
	uint32_t scope = block_of(u, b->block)->scope;
	uint32_t lambda = facts_scopes(u->sheet->facts, u->u)[scope].expr;
	bool first = !at || block_of(u, b[-1].block)->scope != scope;
	uint32_t preset = b->value;

	if (first && lambda_is_method(g, n, lambda))
		return set_one(g->terms, TERM_SELF, n, 0);
	return preset == FACTS_NONE ? SET_NONE : eval_expr(g, n, preset);
}

set_t name_bind_eval(struct graph *g, unit_t n, uint32_t at)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_bind *b = bind_of(u, at);

	assert(at < u->u->binds.count);
	switch (b->kind) {
	case BIND_VALUE:
	case BIND_AUGMENT:
	case BIND_NARROW:
	case BIND_STORE:
		return b->value == FACTS_NONE ? SET_NONE
					      : eval_expr(g, n, b->value);
	case BIND_ANNOTATION:
		return type_eval(g, n, b->value);
	case BIND_TYPED:
		if (u->u->kind != UNIT_FUNCTION)
			return type_eval(g, n, b->value);
		return set_join(g->terms, type_eval(g, n, b->value),
				eval_expr(g, n, b->extra));
	case BIND_DEF:
		return def_eval(g, unit_below(g, n, b->value));
	case BIND_PARAM:
		if (block_of(u, b->block)->scope != 0)
			return lambda_param(g, n, at);
		return param_eval(g, n, b->value);
	case BIND_IMPORT:
	case BIND_FROM:
		return import_eval(g, n, b);
	default:
		return SET_NONE;
	}
}

/* Values bound by functions inside n that say `global` or `nonlocal`. */
static set_t outers_eval(struct graph *g, unit_t n, atom_t name,
			 enum outer_kind kind)
{
	struct outers o = outers_in(g, n, name, kind);
	const struct outer *at;
	set_t s = SET_NONE;

	while ((at = outers_next(g, &o)))
		s = set_join(g->terms, s,
			     name_bind_eval(g, at->unit, at->item));
	return s;
}

static set_t function_name(struct graph *g, unit_t n, atom_t name)
{
	set_t s = outers_eval(g, n, name, OUTER_NONLOCAL);

	for (uint32_t k = flow_bind_from(unit_of(g, n), name, 0); k != NONE;
	     k = flow_bind_from(unit_of(g, n), name, k + 1)) {
		const struct unit *u = unit_of(g, n);
		const struct facts_bind *b = bind_of(u, k);

		if (in_own_scope(u, b) || is_own_store(u, b))
			s = set_join(g->terms, s, name_bind_eval(g, n, k));
	}
	return s;
}

/* An annotated name has the type that the annotation says. */
static bool declared(struct graph *g, unit_t n, uint32_t from, uint32_t to,
		     set_t *ret)
{
	const struct unit *u = unit_of(g, n);

	for (uint32_t k = from; k < to; k++) {
		const struct facts_bind *b = bind_of(u, u->names[k].bind);

		if (b->kind != BIND_ANNOTATION && b->kind != BIND_TYPED)
			continue;
		*ret = type_eval(g, n, b->value);
		return true;
	}
	return false;
}

/* f(name), f(1)(name), name.x(): is the value computed from the name? */
#define MADE_DEPTH 4

static bool made_of(const struct unit *u, uint32_t e, atom_t name, int depth)
{
	const struct facts_expr *x = expr_of(u, e);

	if (x->kind == EXPR_NAME)
		return atom_of(u, x->a) == name;
	if (depth == MADE_DEPTH ||
	    (x->kind != EXPR_ATTR && x->kind != EXPR_CALL))
		return false;
	for (uint32_t k = 0; x->kind == EXPR_CALL && k < x->c; k++)
		if (made_of(u, list_of(u, x->b + k), name, depth + 1))
			return true;
	return made_of(u, x->a, name, depth + 1);
}

/*
 * f = wrapped(f), and a store into a module's container: these use the value
 * that the name had before, by the flow of the scope.
 */
static set_t scope_bind_eval(struct graph *g, unit_t n, atom_t name,
			     uint32_t bind)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_bind *b = bind_of(u, bind);

	if (b->kind == BIND_STORE ||
	    (b->kind == BIND_VALUE && made_of(u, b->value, name, 0)))
		return solve_ask(g, ASK_BIND, n, bind);
	return name_bind_eval(g, n, bind);
}

set_t name_solve(struct graph *g, unit_t n, atom_t name)
{
	const struct unit *u = unit_of(g, n);
	uint32_t from, to, first, last, star = 0;
	set_t s = SET_NONE;

	solve_need(g, KEY_NAME, n, name);
	if (!unit_lives(g, n))
		return SET_NONE;
	if (u->u->kind == UNIT_FUNCTION)
		return function_name(g, n, name);
	from = first = last = name_first(u, name);
	for (to = from; to < u->names_count && u->names[to].atom == name;
	     to++) {
		const struct facts_bind *b = bind_of(u, u->names[to].bind);

		if (b->block != 1 || !flow_settles(b))
			continue;
		if (b->kind != BIND_STORE) {
			first = last = to;
			star = u->names[to].bind;
		} else if (u->u->kind == UNIT_MODULE) {
			last = to;
		}
	}
	if (u->u->kind == UNIT_MODULE) {
		s = stars_eval(g, n, name, &star);
		while (first < to && unit_of(g, n)->names[first].bind < star)
			first++;
		if (last < first)
			last = first;
		s = set_join(g->terms, s,
			     outers_eval(g, n, name, OUTER_GLOBAL));
	}
	if (declared(g, n, first, to, &from))
		return set_join(g->terms, s, from);
	for (uint32_t k = last; k < to; k++)
		s = set_join(g->terms, s,
			     scope_bind_eval(g, n, name,
					     unit_of(g, n)->names[k].bind));
	return s;
}

/* An attribute of a module: a name in it, or a module below it. */
set_t name_export_solve(struct graph *g, unit_t module, atom_t name)
{
	const struct unit *u;
	const struct source_file *f;
	set_t s;

	if (!unit_lives(g, module))
		return SET_NONE;
	s = solve_ask(g, ASK_NAME, module, name);
	u = unit_of(g, module);
	solve_need(g, KEY_NAME, module, name);
	f = &g->files[u->file];
	if (!f->package || name_is_bound(u, name))
		return s;
	return set_join(g->terms, s, module_in_package(g, f->module, name));
}

static set_t module_name(struct graph *g, unit_t module, atom_t name)
{
	set_t s = solve_ask(g, ASK_NAME, module, name);
	atom_t builtin;

	solve_need(g, KEY_NAME, module, name);
	if (name_is_bound(unit_of(g, module), name))
		return s;
	builtin = atom_dotted(g, WORD_BUILTINS, name);
	if (s != SET_NONE)
		return s;
	return set_one(g->terms, TERM_LIBRARY, builtin, 0);
}

/* Look the name up in the scopes around unit n. `header`: for its decorators
   and defaults, which see the scope of a class directly around it. */
static set_t around_eval(struct graph *g, unit_t n, atom_t name, bool header)
{
	unit_t p = n;

	while (unit_of(g, p)->u->kind != UNIT_MODULE) {
		p = unit_of(g, p)->parent;
		if (unit_of(g, p)->u->kind == UNIT_MODULE)
			break;
		if (unit_of(g, p)->u->kind == UNIT_FUNCTION || header) {
			solve_need(g, KEY_NAME, p, name);
			if (name_is_bound(unit_of(g, p), name))
				return solve_ask(g, ASK_NAME, p, name);
		}
		header = false;
	}
	return module_name(g, p, name);
}

/* From inner scopes out to the unit's own; true: found on the way. */
static bool inner_scopes(struct graph *g, struct flow_use *use, set_t *ret)
{
	for (;;) {
		const struct unit *u = unit_of(g, use->n);
		uint32_t scope = block_of(u, use->block)->scope;

		if (scope == 0 || use->block == 0)
			return false;
		flow_need(g, use->n);
		if (flow_inner_eval(g, use, scope, ret))
			return true;
		u = unit_of(g, use->n);
		use->block = facts_scopes(u->sheet->facts, u->u)[scope].block;
	}
}

static set_t use_eval(struct graph *g, struct flow_use *use)
{
	const struct unit *u = unit_of(g, use->n);
	bool inner = block_of(u, use->block)->scope != 0;
	set_t s;

	if (inner_scopes(g, use, &s))
		return s;
	u = unit_of(g, use->n);
	if (use->block == 0)
		return around_eval(g, use->n, use->name, true);
	if (u->u->kind == UNIT_MODULE) {
		/* Its own calls see the scope as it is when they run. */
		if (!inner && flow_own_place(g, use->n) &&
		    stars_flow_eval(g, use, &s))
			return s;
		return module_name(g, use->n, use->name);
	}
	if (u->u->kind == UNIT_CLASS) {
		if (!inner && flow_own_place(g, use->n) &&
		    flow_eval(g, use, &s))
			return s;
		u = unit_of(g, use->n);
		solve_need(g, KEY_NAME, use->n, use->name);
		if (!inner && name_is_bound(u, use->name))
			return solve_ask(g, ASK_NAME, use->n, use->name);
		return around_eval(g, use->n, use->name, false);
	}
	flow_need(g, use->n);
	if (flow_eval(g, use, &s) ||
	    name_is_bound(unit_of(g, use->n), use->name))
		return s;
	/* It may have stored into a container that is bound around it. */
	return set_join(g->terms, s, around_eval(g, use->n, use->name, false));
}

set_t name_eval(struct graph *g, unit_t n, uint32_t e)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_expr *x = expr_of(u, e);
	struct flow_use use = {
		.n = n, .name = atom_of(u, x->a), .block = x->b, .expr = e
	};

	return use_eval(g, &use);
}

bool name_path_eval(struct graph *g, unit_t n, uint32_t e, set_t *ret)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_expr *x = expr_of(u, e);
	const struct facts_expr *base = expr_of(u, x->a);
	struct flow_use use = { .n = n, .block = x->c, .expr = e };

	if (base->kind != EXPR_NAME || !u->dotted || x->c == 0 ||
	    u->u->kind != UNIT_FUNCTION || block_of(u, x->c)->scope != 0)
		return false;
	use.name = atom_dotted(g, atom_of(u, base->a), atom_of(u, x->b));
	flow_need(g, n);
	return flow_eval(g, &use, ret) && *ret != SET_NONE;
}
