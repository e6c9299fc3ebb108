/*
 * Modules may import each other by stars. Which of two modules then gets the
 * names of the other depends on which is imported first: that one sees all of
 * them, the other those bound so far, perhaps none. So in a circle a star
 * replaces nothing, and both its names and earlier ones count.
 *
 * A star whose names have no known value replaces nothing either: the name may
 * have come from here, by an import that is no star.
 */
#include "graph/resolve/stars.h"

#include "graph/resolve/modules.h"
#include "graph/resolve/names.h"
#include "graph/resolve/solve.h"

/* Modules that are looked at for a circle; a longer one counts as none. */
#define CIRCLE_MAX 64

/* The name of a star import is NONE. */
uint32_t stars_after(const struct unit *u, uint32_t from)
{
	return u->starred ? flow_bind_from(u, NONE, from) : NONE;
}

static uint32_t star_before(const struct unit *u, uint32_t to)
{
	return u->starred ? flow_bind_before(u, NONE, to) : NONE;
}

static unit_t star_from(struct graph *g, unit_t n, uint32_t bind)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_bind *b = bind_of(u, bind);

	return module_find(
		g, module_absolute_name(g, n, b->level, atom_of(u, b->module)));
}

uint32_t stars_brings_solve(struct graph *g, unit_t module, atom_t name)
{
	solve_need(g, KEY_NAME, module, name);
	solve_need(g, KEY_STARS, module, 0);
	if (!unit_lives(g, module) || !module_star_exports(g, module, name))
		return 0;
	if (name_is_bound(unit_of(g, module), name))
		return 1;
	for (uint32_t k = stars_after(unit_of(g, module), 0); k != NONE;
	     k = stars_after(unit_of(g, module), k + 1)) {
		unit_t from = star_from(g, module, k);

		if (from != NONE && solve_ask(g, ASK_BRINGS, from, name))
			return 1;
	}
	return 0;
}

struct circle {
	unit_t seen[CIRCLE_MAX];
	uint32_t count;
};

static void circle_add(struct circle *c, unit_t module)
{
	uint32_t k = 0;

	while (k < c->count && c->seen[k] != module)
		k++;
	if (k == c->count && k < CIRCLE_MAX && module != NONE)
		c->seen[c->count++] = module;
}

uint32_t stars_circular_solve(struct graph *g, unit_t from, unit_t n)
{
	struct circle c = { .count = 0 };

	circle_add(&c, from);
	for (uint32_t at = 0; at < c.count; at++) {
		unit_t m = c.seen[at];

		if (m == n)
			return 1;
		solve_need(g, KEY_STARS, m, 0);
		if (!unit_lives(g, m))
			continue;
		for (uint32_t k = stars_after(unit_of(g, m), 0); k != NONE;
		     k = stars_after(unit_of(g, m), k + 1))
			circle_add(&c, star_from(g, m, k));
	}
	return 0;
}

/* What star import k of module n binds the name to; *ret_all: it does so,
   and replaces what the name had before. */
static set_t star_eval(struct graph *g, unit_t n, uint32_t k, atom_t name,
		       bool *ret_all)
{
	unit_t from = star_from(g, n, k);
	set_t s;

	*ret_all = false;
	if (from == NONE || from == n || !solve_ask(g, ASK_BRINGS, from, name))
		return SET_NONE;
	s = solve_ask(g, ASK_EXPORT, from, name);
	*ret_all = s != SET_NONE && !solve_ask(g, ASK_CIRCULAR, from, n);
	return s;
}

set_t stars_eval(struct graph *g, unit_t n, atom_t name, uint32_t *star)
{
	uint32_t after = *star, k = unit_of(g, n)->u->binds.count;
	set_t s = SET_NONE;
	bool all = false;

	solve_need(g, KEY_STARS, n, 0);
	while (!all && (k = star_before(unit_of(g, n), k)) != NONE &&
	       k >= after) {
		s = set_join(g->terms, s, star_eval(g, n, k, name, &all));
		all = all && bind_of(unit_of(g, n), k)->block == 1;
		if (all)
			*star = k;
	}
	return s;
}

bool stars_flow_eval(struct graph *g, const struct flow_use *use, set_t *ret)
{
	const struct unit *u = unit_of(g, use->n);
	uint32_t k = flow_binds_before(u, use->expr), settler;
	bool settled, all = false;
	set_t s = SET_NONE;

	if (!u->starred || !name_is_bound(u, use->name))
		return flow_eval(g, use, ret);
	settler = flow_settler(u, use);
	while ((k = star_before(unit_of(g, use->n), k)) != NONE &&
	       (settler == NONE || k > settler)) {
		s = set_join(g->terms, s,
			     star_eval(g, use->n, k, use->name, &all));
		u = unit_of(g, use->n);
		if (all && flow_is_around(u, bind_of(u, k)->block, use)) {
			*ret = set_join(g->terms, s, flow_between(g, use, k));
			return true;
		}
	}
	settled = flow_eval(g, use, ret);
	*ret = set_join(g->terms, *ret, s);
	return settled;
}
