/*
 * From a place in the text to edges: the symbols that a call, a decorator, a
 * loop, a list of bases, an import or the use of a variable leads to.
 */
#include <assert.h>

#include "graph/base/alloc.h"
#include "graph/graph_i.h"
#include "graph/resolve/calls.h"
#include "graph/resolve/eval.h"
#include "graph/resolve/implicit.h"
#include "graph/resolve/members.h"
#include "graph/resolve/modules.h"
#include "graph/resolve/names.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/stars.h"
#include "graph/resolve/types.h"
#include "graph/resolve/words.h"

/* Modules to follow a variable through; further ones are ignored. */
#define FOLLOW_MAX 64

/* An edge found while a slot is resolved. */
struct edge_found {
	symbol_t symbol;
	uint32_t site;
	enum edge_kind kind;
};

/* What one place leads to: graph->found from `from` on. */
struct targets {
	enum edge_kind kind;
	unit_t unit;
	uint32_t from, site;
	/* Where a variable was searched. */
	struct {
		unit_t module;
		atom_t name;
	} followed[FOLLOW_MAX];
	uint32_t followed_count;
};

static void targets_begin(const struct graph *g, struct targets *t,
			  enum edge_kind kind, uint32_t site)
{
	t->kind = kind;
	t->from = g->found_count;
	t->site = site;
	t->followed_count = 0;
}

static void target(struct graph *g, struct targets *t, symbol_t s)
{
	for (uint32_t k = t->from; k < g->found_count; k++)
		if (g->found[k].symbol == s && g->found[k].kind == t->kind)
			return;
	g->found = must_grow(g->found, &g->found_size, g->found_count + 1,
			     sizeof(*g->found));
	g->found[g->found_count++] = (struct edge_found){ .symbol = s,
							  .site = t->site,
							  .kind = t->kind };
}

static void target_unit(struct graph *g, struct targets *t, unit_t n)
{
	if (unit_lives(g, n))
		target(g, t, g->units[n].symbol);
}

static void targets_of_set(struct graph *g, set_t s, struct targets *t);

/* Beside a call that the text has: calls that come with it. */
static void targets_implied(struct graph *g, struct targets *t, set_t callees)
{
	enum edge_kind kind = t->kind;

	/* Wrappers of wrappers are not followed: they may be cyclic. */
	if (callees == SET_NONE || kind != EDGE_CALL)
		return;
	t->kind = EDGE_IMPLICIT;
	targets_of_set(g, callees, t);
	t->kind = kind;
}

/* Calling a class calls its __init__, too. */
static void target_class(struct graph *g, unit_t class, struct targets *t)
{
	unit_t init;

	target_unit(g, t, class);
	init = method_find(g, class, WORD_INIT);
	if (init != NONE)
		target_unit(g, t, init);
	targets_implied(g, t, implicit_by_class(g, class));
}

static void target_term(struct graph *g, term_t id, struct targets *t)
{
	struct term x = *term_of(g->terms, id);
	unit_t call;

	switch (x.kind) {
	case TERM_FUNCTION:
	case TERM_BOUND:
	case TERM_WRAPPED:
		target_unit(g, t, x.a);
		targets_implied(g, t, function_wrappers(g, x.a));
		break;
	case TERM_CLASS:
	case TERM_CLS:
		target_class(g, x.a, t);
		break;
	case TERM_INSTANCE:
	case TERM_SELF:
		call = method_find(g, x.a, WORD_CALL);
		if (call != NONE)
			target_unit(g, t, call);
		break;
	case TERM_PARTIAL:
		targets_of_set(g, x.a, t);
		break;
	default:
		break;
	}
}

static void targets_of_set(struct graph *g, set_t s, struct targets *t)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, s, &terms);

	for (size_t k = 0; k < n; k++)
		target_term(g, terms[k], t);
}

/* false: searched there already; imports may be cyclic. */
static bool follows(struct targets *t, unit_t module, atom_t name)
{
	for (uint32_t k = 0; k < t->followed_count; k++)
		if (t->followed[k].module == module &&
		    t->followed[k].name == name)
			return false;
	if (t->followed_count == FOLLOW_MAX)
		return false;
	t->followed[t->followed_count].module = module;
	t->followed[t->followed_count++].name = name;
	return true;
}

/* The variable that `name` of a module is, directly or by import. */
static void target_variable(struct graph *g, unit_t module, atom_t name,
			    struct targets *t)
{
	const struct unit *u = unit_of(g, module);
	symbol_t s;

	solve_need(g, KEY_NAME, module, name);
	if (!unit_lives(g, module) || !follows(t, module, name))
		return;
	if (variable_is(g, module, name, &s)) {
		target(g, t, s);
		return;
	}
	for (uint32_t k = name_first(u, name);
	     k < unit_of(g, module)->names_count; k++) {
		const struct facts_bind *b;
		unit_t from;

		u = unit_of(g, module);
		if (u->names[k].atom != name)
			break;
		b = bind_of(u, u->names[k].bind);
		if (b->kind != BIND_FROM)
			continue;
		from = module_find(g,
				   module_absolute_name(g, module, b->level,
							atom_of(u, b->module)));
		u = unit_of(g, module);
		b = bind_of(u, u->names[k].bind);
		if (from != NONE)
			target_variable(g, from, atom_of(u, b->value), t);
	}
}

/* The same through star imports. */
static void target_starred(struct graph *g, unit_t module, atom_t name,
			   struct targets *t)
{
	solve_need(g, KEY_STARS, module, 0);
	for (uint32_t k = stars_after(unit_of(g, module), 0); k != NONE;
	     k = stars_after(unit_of(g, module), k + 1)) {
		const struct unit *u = unit_of(g, module);
		const struct facts_bind *b = bind_of(u, k);
		unit_t from;

		from = module_find(g,
				   module_absolute_name(g, module, b->level,
							atom_of(u, b->module)));
		if (from != NONE && module_star_exports(g, from, name))
			target_variable(g, from, name, t);
	}
}

/* Does unit n, or one around it below the module, bind the name? */
static bool bound_around(struct graph *g, unit_t n, atom_t name)
{
	bool first = true;

	for (; unit_of(g, n)->u->kind != UNIT_MODULE;
	     n = unit_of(g, n)->parent) {
		if (unit_of(g, n)->u->kind == UNIT_CLASS && !first)
			continue;
		first = false;
		solve_need(g, KEY_NAME, n, name);
		if (name_is_bound(unit_of(g, n), name))
			return true;
	}
	return false;
}

static void read_name(struct graph *g, unit_t n, atom_t name, struct targets *t)
{
	unit_t module = module_of(g, n);

	if (bound_around(g, n, name))
		return;
	target_variable(g, module, name, t);
	if (g->found_count == t->from)
		target_starred(g, module, name, t);
}

/* m.NAME, where m is a module. */
static void read_attr(struct graph *g, unit_t n, const struct facts_expr *x,
		      struct targets *t)
{
	atom_t name = atom_of(unit_of(g, n), x->b);
	const term_t *terms;
	struct term m;

	t->kind = EDGE_READS;
	if (set_terms(g->terms, eval_expr(g, n, x->a), &terms) != 1)
		return;
	m = *term_of(g->terms, terms[0]);
	if (m.kind == TERM_MODULE)
		target_variable(g, m.a, name, t);
}

/* Functions and classes that are named: edges to them, and not beyond. */
static void targets_named(struct graph *g, struct targets *t, set_t named)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, named, &terms);

	t->kind = EDGE_USES;
	for (size_t k = 0; k < n; k++) {
		struct term x = *term_of(g->terms, terms[k]);

		if (x.kind == TERM_PARTIAL)
			targets_named(g, t, x.a);
		else if ((x.kind == TERM_FUNCTION || x.kind == TERM_BOUND ||
			  x.kind == TERM_WRAPPED || x.kind == TERM_CLASS) &&
			 x.a != t->unit)
			target_unit(g, t, x.a);
	}
}

/* A name that is read: a variable, or else what it stands for. */
static void solve_name(struct graph *g, unit_t n, uint32_t e, bool named,
		       struct targets *t)
{
	const struct unit *u = unit_of(g, n);

	t->kind = EDGE_READS;
	read_name(g, n, atom_of(u, expr_of(u, e)->a), t);
	if (named && g->found_count == t->from)
		targets_named(g, t, eval_expr(g, n, e));
}

/* Library functions that a call leads to run methods of their arguments. */
static void solve_library(struct graph *g, unit_t n, uint32_t call,
			  set_t callee, struct targets *t)
{
	const term_t *terms;
	size_t many = set_terms(g->terms, callee, &terms);

	for (size_t k = 0; k < many; k++) {
		struct term x = *term_of(g->terms, terms[k]);

		if (x.kind == TERM_LIBRARY)
			targets_implied(g, t,
					implicit_by_library(g, x.a, n, call));
	}
}

/* The callee may be a property itself, and is not named without a call. */
static void solve_call(struct graph *g, unit_t n, uint32_t call,
		       struct targets *t)
{
	uint32_t e = expr_of(unit_of(g, n), call)->a;
	struct facts_expr x = *expr_of(unit_of(g, n), e);
	set_t callee = eval_expr(g, n, e), called = SET_NONE, named = SET_NONE;

	t->kind = EDGE_CALL;
	targets_of_set(g, callee, t);
	solve_library(g, n, call, callee, t);
	if (x.kind != EXPR_ATTR)
		return;
	implicit_get(g, eval_expr(g, n, x.a), atom_of(unit_of(g, n), x.b),
		     &called, &named);
	targets_implied(g, t, called);
}

static void solve_get(struct graph *g, unit_t n, uint32_t e, struct targets *t)
{
	struct facts_expr x = *expr_of(unit_of(g, n), e);
	set_t called = SET_NONE, named = SET_NONE;

	implicit_get(g, eval_expr(g, n, x.a), atom_of(unit_of(g, n), x.b),
		     &called, &named);
	t->kind = EDGE_IMPLICIT;
	targets_of_set(g, called, t);
	targets_named(g, t, named);
}

static void solve_site(struct graph *g, unit_t n, uint32_t site,
		       struct targets *t)
{
	const struct unit *u = unit_of(g, n);
	struct facts_site s = *site_of(u, site);
	struct facts_expr x = *expr_of(u, s.expr);

	targets_begin(g, t, EDGE_CALL, site);
	switch (s.kind) {
	case SITE_CALL:
		solve_call(g, n, s.expr, t);
		break;
	case SITE_DECORATOR:
		targets_of_set(g, eval_expr(g, n, s.expr), t);
		break;
	case SITE_LOCAL:
		targets_named(g, t, eval_expr(g, n, s.expr));
		break;
	case SITE_READ:
	case SITE_NAME:
		if (x.kind == EXPR_NAME)
			solve_name(g, n, s.expr, s.kind == SITE_NAME, t);
		else if (x.kind == EXPR_ATTR)
			read_attr(g, n, &x, t);
		break;
	case SITE_GET:
		solve_get(g, n, s.expr, t);
		break;
	default:
		t->kind = EDGE_IMPLICIT;
		targets_of_set(g, implicit_at(g, n, s.kind, s.expr), t);
		break;
	}
}

static void solve_sites(struct graph *g, unit_t n, struct targets *t)
{
	eval_begin(g, n);
	for (uint32_t k = 0; k < unit_of(g, n)->u->sites.count; k++)
		solve_site(g, n, k, t);
	eval_end(g);
}

static void solve_bases(struct graph *g, unit_t class, struct targets *t)
{
	targets_begin(g, t, EDGE_INHERITS, 0);
	solve_need(g, KEY_BASES, class, 0);
	for (uint32_t k = 0; k < unit_of(g, class)->u->bases.count; k++) {
		const struct unit *u = unit_of(g, class);
		uint32_t e = list_of(u, u->u->bases.from + k);
		const term_t *terms;
		size_t n;

		if (expr_of(u, e)->kind == EXPR_KEYWORD)
			continue;
		n = set_terms(g->terms, eval_expr(g, class, e), &terms);
		for (size_t b = 0; b < n; b++) {
			const struct term *x = term_of(g->terms, terms[b]);

			if (x->kind == TERM_CLASS && x->a != class)
				target_unit(g, t, x->a);
		}
	}
	t->kind = EDGE_IMPLICIT;
	targets_of_set(g, implicit_by_definition(g, class), t);
}

static void solve_overrides(struct graph *g, unit_t f, struct targets *t)
{
	unit_t above = method_overridden(g, f);

	targets_begin(g, t, EDGE_OVERRIDES, 0);
	if (above != NONE)
		target_unit(g, t, above);
}

static void target_module(struct graph *g, unit_t n, atom_t dotted,
			  struct targets *t)
{
	const term_t *terms;
	set_t s = module_imported(g, n, dotted);

	if (set_terms(g->terms, s, &terms) == 1 &&
	    term_of(g->terms, terms[0])->kind == TERM_MODULE)
		target_unit(g, t, term_of(g->terms, terms[0])->a);
}

/* The module, and its submodule if `from` imports one. */
static void solve_import(struct graph *g, unit_t n, uint32_t bind,
			 struct targets *t)
{
	const struct unit *u = unit_of(g, n);
	struct facts_bind b = *bind_of(u, bind);
	atom_t module =
		module_absolute_name(g, n, b.level, atom_of(u, b.module));

	targets_begin(g, t, EDGE_IMPORTS, 0);
	target_module(g, n, module, t);
	if (b.kind == BIND_FROM)
		target_module(
			g, n,
			atom_dotted(g, module, atom_of(unit_of(g, n), b.value)),
			t);
}

static void slot_store(struct graph *g, uint32_t slot)
{
	struct slot *s = &g->slots[slot];
	symbol_t caller = unit_of(g, s->unit)->symbol;
	struct made *made = &s->made.one;

	if (s->kind == SLOT_IMPORT)
		caller = unit_of(g, module_of(g, s->unit))->symbol;
	if (g->found_count > 1) {
		s->made.many =
			heap_take(&g->heap, g->found_count * sizeof(*made));
		made = heap_at(&g->heap, s->made.many);
	}
	for (uint32_t k = 0; k < g->found_count; k++) {
		const struct edge_found *f = &g->found[k];

		made[k].site = f->site;
		pair_add(g, f->kind, caller, f->symbol, &made[k].pair);
	}
	s->count = g->found_count;
}

void slot_solve(struct graph *g, uint32_t slot)
{
	struct slot s = g->slots[slot];
	struct targets t = { .unit = s.unit };

	assert(s.unit != NONE && !s.count && !g->frames_count);
	g->found_count = 0;
	frame_push(g, slot | POSTING_SLOT, s.version);
	switch (s.kind) {
	case SLOT_SITES:
		solve_sites(g, s.unit, &t);
		break;
	case SLOT_BASES:
		solve_bases(g, s.unit, &t);
		break;
	case SLOT_OVERRIDES:
		solve_overrides(g, s.unit, &t);
		break;
	default:
		assert(s.kind == SLOT_IMPORT);
		solve_import(g, s.unit, s.bind, &t);
		break;
	}
	frame_pop(g);
	assert(!g->frames_count && !g->held_count);
	slot_store(g, slot);
}
