/*
 * From a place in the text to edges: the symbols that a call, a decorator, a
 * loop, a list of bases, an import or the use of a variable leads to.
 */
#include <assert.h>

#include "graph/base/alloc.h"
#include "graph/graph_i.h"
#include "graph/resolve/calls.h"
#include "graph/resolve/eval.h"
#include "graph/resolve/members.h"
#include "graph/resolve/modules.h"
#include "graph/resolve/names.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/words.h"

/* Modules to follow a variable through; further ones are ignored. */
#define FOLLOW_MAX 64

struct targets {
	enum edge_kind kind;
	symbol_t symbols[SET_MAX * 2 + 8];
	uint32_t count;
	/* Where a variable was searched. */
	struct {
		unit_t module;
		atom_t name;
	} followed[FOLLOW_MAX];
	uint32_t followed_count;
};

static void target(struct targets *t, symbol_t s)
{
	for (uint32_t k = 0; k < t->count; k++)
		if (t->symbols[k] == s)
			return;
	if (t->count < sizeof(t->symbols) / sizeof(*t->symbols))
		t->symbols[t->count++] = s;
}

static void target_unit(const struct graph *g, struct targets *t, unit_t n)
{
	if (unit_lives(g, n))
		target(t, g->units[n].symbol);
}

static void targets_of_set(struct graph *g, set_t s, struct targets *t);

/* Calling a class calls its __init__, too. */
static void target_class(struct graph *g, unit_t class, struct targets *t)
{
	unit_t init;

	target_unit(g, t, class);
	init = method_find(g, class, WORD_INIT);
	if (init != NONE)
		target_unit(g, t, init);
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
		target(t, s);
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
	for (uint32_t k = name_star_after(unit_of(g, module), 0); k != NONE;
	     k = name_star_after(unit_of(g, module), k + 1)) {
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
	if (!t->count)
		target_starred(g, module, name, t);
}

/* m.NAME, where m is a module. */
static void read_attr(struct graph *g, unit_t n, const struct facts_expr *x,
		      struct targets *t)
{
	atom_t name = atom_of(unit_of(g, n), x->b);
	const term_t *terms;
	struct term m;

	if (set_terms(g->terms, eval_expr(g, n, x->a), &terms) != 1)
		return;
	m = *term_of(g->terms, terms[0]);
	if (m.kind == TERM_MODULE)
		target_variable(g, m.a, name, t);
}

/* A loop calls __iter__, and __next__ of what that returns. */
static void targets_of_loop(struct graph *g, set_t over, bool async,
			    struct targets *t)
{
	const term_t *terms;
	size_t n = set_terms(g->terms, over, &terms);

	for (size_t k = 0; k < n; k++) {
		set_t iterator = attr_of_term(g, terms[k],
					      async ? WORD_AITER : WORD_ITER);

		targets_of_set(g, iterator, t);
		iterator = call_set(g, iterator, NONE, NONE);
		targets_of_set(g,
			       attr_of_set(g, iterator,
					   async ? WORD_ANEXT : WORD_NEXT),
			       t);
	}
}

static void solve_site(struct graph *g, unit_t n, uint32_t site,
		       struct targets *t)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_site *s = facts_sites(u->sheet->facts, u->u) + site;
	struct facts_expr x = *expr_of(u, s->expr);

	t->kind = s->kind == SITE_READ ? EDGE_READS : EDGE_CALL;
	if (s->kind == SITE_CALL)
		targets_of_set(g, eval_expr(g, n, x.a), t);
	else if (s->kind == SITE_ITER)
		targets_of_loop(g, eval_expr(g, n, x.a), x.b, t);
	else if (s->kind == SITE_DECORATOR)
		targets_of_set(g, eval_expr(g, n, s->expr), t);
	else if (s->kind == SITE_READ && x.kind == EXPR_NAME)
		read_name(g, n, atom_of(u, x.a), t);
	else if (s->kind == SITE_READ && x.kind == EXPR_ATTR)
		read_attr(g, n, &x, t);
}

static void solve_bases(struct graph *g, unit_t class, struct targets *t)
{
	t->kind = EDGE_INHERITS;
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
}

static void solve_overrides(struct graph *g, unit_t f, struct targets *t)
{
	unit_t above = method_overridden(g, f);

	t->kind = EDGE_OVERRIDES;
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

	t->kind = EDGE_IMPORTS;
	target_module(g, n, module, t);
	if (b.kind == BIND_FROM)
		target_module(
			g, n,
			atom_dotted(g, module, atom_of(unit_of(g, n), b.value)),
			t);
}

static void slot_store(struct graph *g, uint32_t slot, const struct targets *t)
{
	unit_t n = g->slots[slot].unit;
	symbol_t caller = unit_of(g, n)->symbol;
	uint32_t *pairs = g->slots[slot].pairs.one;

	if (t->kind == EDGE_IMPORTS)
		caller = unit_of(g, module_of(g, n))->symbol;
	if (t->count > 2) {
		g->slots[slot].pairs.many =
			heap_take(&g->heap, t->count * sizeof(*pairs));
		pairs = heap_at(&g->heap, g->slots[slot].pairs.many);
	}
	for (uint32_t k = 0; k < t->count; k++)
		pair_add(g, t->kind, caller, t->symbols[k], &pairs[k]);
	g->slots[slot].count = (uint16_t)t->count;
}

void slot_solve(struct graph *g, uint32_t slot)
{
	struct slot s = g->slots[slot];
	struct targets t;

	assert(s.unit != NONE && !s.count && !g->frames_count);
	t.kind = EDGE_CALL;
	t.count = t.followed_count = 0;
	frame_push(g, slot | POSTING_SLOT, s.version);
	switch (s.kind) {
	case SLOT_SITE:
		solve_site(g, s.unit, s.site, &t);
		break;
	case SLOT_BASES:
		solve_bases(g, s.unit, &t);
		break;
	case SLOT_OVERRIDES:
		solve_overrides(g, s.unit, &t);
		break;
	default:
		assert(s.kind == SLOT_IMPORT);
		solve_import(g, s.unit, s.site, &t);
		break;
	}
	frame_pop(g);
	assert(!g->frames_count && !g->held_count);
	slot_store(g, slot, &t);
}
