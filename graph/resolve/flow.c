/*
 * Uses and the bindings they see.
 *
 * Of n lines `if c: x = x.m()` each sees all before it, and in a loop every
 * line sees every other. So that n lines cost no n * n, a use joins only a few
 * bindings itself and then asks one question for all that are further away,
 * which does the same:
 *
 *	binding of x	0 .. 7	8 .. 15	 16 .. 23  24   25   a use
 *	joined by	    |	    |	     |	   itself <---'
 *	the questions	    '<------'<-------'<----'
 *
 * Questions begin at every STRIDE-th binding of the name, counted in the unit,
 * so uses share them. Uses in different blocks see different bindings. But of
 * the blocks around a use only those matter to bindings up to k that hold k,
 * too: the text of a block is in one piece, and a block that ends or begins
 * between k and the use holds no binding up to k. So a question is asked for
 * the innermost block that holds both.
 */
#include "graph/resolve/flow.h"

#include <assert.h>

#include "graph/resolve/eval.h"
#include "graph/resolve/names.h"
#include "graph/resolve/solve.h"

#define STRIDE 8

/* Index in u->every of binding `bind` of that name, or where it would be. */
static uint32_t every_from(const struct unit *u, atom_t name, uint32_t bind)
{
	uint32_t low = 0, high = u->every_count;

	while (low < high) {
		uint32_t mid = (low + high) / 2;
		const struct name *n = &u->every[mid];

		if (n->atom < name || (n->atom == name && n->bind < bind))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32_t flow_bind_from(const struct unit *u, atom_t name, uint32_t from)
{
	uint32_t count = u->u->binds.count, k = from;

	if (u->every_count) {
		k = every_from(u, name, from);
		return k < u->every_count && u->every[k].atom == name
			       ? u->every[k].bind
			       : NONE;
	}
	while (k < count && bind_atom(u, k) != name)
		k++;
	return k < count ? k : NONE;
}

uint32_t flow_bind_before(const struct unit *u, atom_t name, uint32_t to)
{
	if (u->every_count) {
		uint32_t k = every_from(u, name, to);

		return k && u->every[k - 1].atom == name ? u->every[k - 1].bind
							 : NONE;
	}
	while (to && bind_atom(u, to - 1) != name)
		to--;
	return to ? to - 1 : NONE;
}

uint32_t flow_binds_before(const struct unit *u, uint32_t e)
{
	uint32_t low = 0, high = u->u->binds.count;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (bind_of(u, mid)->at <= e)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Does a question begin at that binding? Small units need none. */
static bool is_stride(const struct unit *u, atom_t name, uint32_t bind)
{
	return u->every_count &&
	       (every_from(u, name, bind) - every_from(u, name, 0)) % STRIDE ==
		       0;
}

bool flow_settles(const struct facts_bind *b)
{
	return b->kind != BIND_AUGMENT && b->kind != BIND_ANNOTATION;
}

/* Does the value depend on one name at most, by attributes and simple calls? */
static bool is_plain(const struct unit *u, const struct facts_bind *b)
{
	const struct facts_expr *x;

	if (b->kind != BIND_VALUE)
		return b->kind != BIND_AUGMENT && b->kind != BIND_TYPED &&
		       b->kind != BIND_NARROW && b->kind != BIND_STORE;
	for (uint32_t e = b->value; e != FACTS_NONE; e = x->a) {
		x = expr_of(u, e);
		if (x->kind == EXPR_NAME || x->kind == EXPR_CONST)
			return true;
		if (x->kind != EXPR_ATTR && x->kind != EXPR_AWAIT &&
		    (x->kind != EXPR_CALL || x->c > 1))
			return false;
	}
	return true;
}

/*
 * A binding that may depend on itself, or that many uses may lead to, is a
 * question of its own: a sequence of `if a: q = f(q)` has twice as many ways
 * with every line. So is every CHAIN_MAX-th of plain bindings, since a chain of
 * them is followed on the stack.
 */
#define CHAIN_MAX 16

static set_t bind_value(struct graph *g, unit_t n, uint32_t at)
{
	const struct unit *u = unit_of(g, n);
	const struct facts_bind *b = bind_of(u, at);

	if (b->block > 1 || at % CHAIN_MAX == CHAIN_MAX - 1 || !is_plain(u, b))
		return solve_ask(g, ASK_BIND, n, at);
	return name_bind_eval(g, n, at);
}

static bool block_holds(const struct unit *u, uint32_t outer, uint32_t inner)
{
	while (inner != FACTS_NONE && inner != outer)
		inner = block_of(u, inner)->parent;
	return inner == outer;
}

/* The outermost loop around a block; FACTS_NONE: there is none. */
static uint32_t loop_around(const struct unit *u, uint32_t block)
{
	uint32_t loop = FACTS_NONE;

	for (; block != FACTS_NONE; block = block_of(u, block)->parent)
		if (block_of(u, block)->kind == BLOCK_LOOP)
			loop = block;
	return loop;
}

/* The block of the unit's own scope in which the binding stands. */
static uint32_t block_around(const struct unit *u, const struct facts_bind *b)
{
	const struct facts_scope *scopes = facts_scopes(u->sheet->facts, u->u);
	uint32_t block = b->block;

	while (block_of(u, block)->scope != 0)
		block = scopes[block_of(u, block)->scope].block;
	return block;
}

static uint32_t block_common(const struct unit *u, uint32_t a, uint32_t b)
{
	while (!block_holds(u, a, b) && block_of(u, a)->parent != FACTS_NONE)
		a = block_of(u, a)->parent;
	return a;
}

static bool is_own(const struct unit *u, const struct facts_bind *b)
{
	return !b->outer && block_of(u, b->block)->scope == 0;
}

/* Is the binding one of those that a use in the block sees further up? */
static bool is_seen(const struct unit *u, const struct facts_bind *b,
		    uint32_t block)
{
	return is_own(u, b) &&
	       (b->kind != BIND_NARROW || block_holds(u, b->block, block));
}

static bool is_settled_by(const struct unit *u, const struct facts_bind *b,
			  uint32_t block)
{
	return flow_settles(b) &&
	       (b->block == 0 || block_holds(u, b->block, block));
}

/* The bindings of a name before `to`, as a use in `block` sees them. */
struct before {
	unit_t n;
	atom_t name;
	uint32_t block, to;
};

/* The question for binding k and all before it. */
static uint32_t before_run(struct graph *g, const struct before *b, uint32_t k)
{
	const struct unit *u = unit_of(g, b->n);
	uint32_t key[] = {
		k,
		block_common(u, b->block, block_around(u, bind_of(u, k))),
	};

	return terms_run(g->terms, key, 2);
}

static bool before_eval(struct graph *g, const struct before *b, set_t *ret)
{
	uint32_t k, run;
	set_t s = SET_NONE;

	for (k = flow_bind_before(unit_of(g, b->n), b->name, b->to); k != NONE;
	     k = flow_bind_before(unit_of(g, b->n), b->name, k)) {
		const struct unit *u = unit_of(g, b->n);
		const struct facts_bind *bind = bind_of(u, k);

		if (k + 1 != b->to && is_stride(u, b->name, k)) {
			run = before_run(g, b, k);
			*ret = set_join(g->terms, s,
					solve_ask(g, ASK_BEFORE, b->n, run));
			return solve_ask(g, ASK_SETTLED, b->n, run);
		}
		g->steps++;
		if (!is_seen(u, bind, b->block))
			continue;
		s = set_join(g->terms, s, bind_value(g, b->n, k));
		u = unit_of(g, b->n);
		if (is_settled_by(u, bind_of(u, k), b->block)) {
			*ret = s;
			return true;
		}
	}
	*ret = s;
	return false;
}

/* The question's own binding is the first that it joins itself. */
static struct before before_of(struct graph *g, unit_t n, uint32_t run)
{
	uint32_t count;
	const uint32_t *key = terms_run_items(g->terms, run, &count);

	assert(count == 2);
	return (struct before){ .n = n,
				.name = bind_atom(unit_of(g, n), key[0]),
				.block = key[1],
				.to = key[0] + 1 };
}

set_t flow_before_solve(struct graph *g, unit_t n, uint32_t run)
{
	struct before b = before_of(g, n, run);
	set_t s;

	solve_need(g, KEY_FLOW, n, 0);
	(void)before_eval(g, &b, &s);
	return s;
}

uint32_t flow_settled_solve(struct graph *g, unit_t n, uint32_t run)
{
	struct before b = before_of(g, n, run);
	const struct unit *u = unit_of(g, n);

	solve_need(g, KEY_FLOW, n, 0);
	for (uint32_t k = b.to - 1; k != NONE;
	     k = flow_bind_before(u, b.name, k)) {
		if (k + 1 != b.to && is_stride(u, b.name, k))
			return solve_ask(g, ASK_SETTLED, n,
					 before_run(g, &b, k));
		g->steps++;
		if (is_seen(u, bind_of(u, k), b.block) &&
		    is_settled_by(u, bind_of(u, k), b.block))
			return 1;
	}
	return 0;
}

/* Bindings from `from` on, in that loop. `first`: the question's own. */
static set_t behind_eval(struct graph *g, unit_t n, uint32_t from,
			 uint32_t loop, uint32_t first)
{
	atom_t name = bind_atom(unit_of(g, n), from);
	set_t s = SET_NONE;

	for (uint32_t k = from; k != NONE;
	     k = flow_bind_from(unit_of(g, n), name, k + 1)) {
		const struct unit *u = unit_of(g, n);
		const struct facts_bind *b = bind_of(u, k);

		if (!block_holds(u, loop, block_around(u, b)))
			break;
		if (k != first && is_stride(u, name, k))
			return set_join(g->terms, s,
					solve_ask(g, ASK_BEHIND, n, k));
		g->steps++;
		if (is_own(u, b) && b->kind != BIND_NARROW)
			s = set_join(g->terms, s, bind_value(g, n, k));
	}
	return s;
}

set_t flow_behind_solve(struct graph *g, unit_t n, uint32_t bind)
{
	const struct unit *u = unit_of(g, n);
	uint32_t loop = loop_around(u, block_around(u, bind_of(u, bind)));

	solve_need(g, KEY_FLOW, n, 0);
	assert(loop != FACTS_NONE);
	return behind_eval(g, n, bind, loop, bind);
}

bool flow_eval(struct graph *g, const struct flow_use *use, set_t *ret)
{
	const struct unit *u = unit_of(g, use->n);
	struct before b = { .n = use->n,
			    .name = use->name,
			    .block = use->block,
			    .to = flow_binds_before(u, use->expr) };
	uint32_t loop = loop_around(u, use->block);
	set_t behind = SET_NONE;
	bool settled;

	if (loop != FACTS_NONE) {
		uint32_t from = flow_bind_from(u, use->name, b.to);

		if (from != NONE)
			behind = behind_eval(g, use->n, from, loop, NONE);
	}
	settled = before_eval(g, &b, ret);
	*ret = set_join(g->terms, *ret, behind);
	return settled;
}

uint32_t flow_settler(const struct unit *u, const struct flow_use *use)
{
	uint32_t k = flow_binds_before(u, use->expr);

	while ((k = flow_bind_before(u, use->name, k)) != NONE)
		if (is_seen(u, bind_of(u, k), use->block) &&
		    is_settled_by(u, bind_of(u, k), use->block))
			return k;
	return NONE;
}

set_t flow_between(struct graph *g, const struct flow_use *use, uint32_t after)
{
	uint32_t k = flow_binds_before(unit_of(g, use->n), use->expr);
	set_t s = SET_NONE;

	while ((k = flow_bind_before(unit_of(g, use->n), use->name, k)) !=
		       NONE &&
	       k > after) {
		const struct unit *u = unit_of(g, use->n);

		if (is_seen(u, bind_of(u, k), use->block))
			s = set_join(g->terms, s, bind_value(g, use->n, k));
	}
	return s;
}

bool flow_is_around(const struct unit *u, uint32_t block,
		    const struct flow_use *use)
{
	return block_holds(u, block, use->block);
}

/* Is scope `inner` the scope, or inside it? */
static bool scope_holds(const struct unit *u, uint32_t scope, uint32_t inner)
{
	const struct facts_scope *scopes = facts_scopes(u->sheet->facts, u->u);

	while (inner != scope && inner != 0)
		inner = block_of(u, scopes[inner].block)->scope;
	return inner == scope;
}

bool flow_inner_eval(struct graph *g, const struct flow_use *use,
		     uint32_t scope, set_t *ret)
{
	const struct unit *u = unit_of(g, use->n);
	/* Its bindings, and those of scopes in it, are the last before it. */
	uint32_t end = facts_scopes(u->sheet->facts, u->u)[scope].expr;
	uint32_t k = flow_binds_before(u, end);
	bool found = false;
	set_t s = SET_NONE;

	while ((k = flow_bind_before(u, use->name, k)) != NONE) {
		uint32_t in = block_of(u, bind_of(u, k)->block)->scope;

		if (!scope_holds(u, scope, in))
			break;
		g->steps++;
		if (in != scope)
			continue;
		found = true;
		s = set_join(g->terms, s, bind_value(g, use->n, k));
		u = unit_of(g, use->n);
	}
	*ret = s;
	return found;
}

bool flow_own_place(const struct graph *g, unit_t n)
{
	const struct node *e;
	uint32_t who;

	assert(g->frames_count);
	who = g->frames[g->frames_count - 1].who;
	if (who & POSTING_SLOT)
		return g->slots[who & ~POSTING_SLOT].unit == n;
	e = &g->nodes[who];
	return e->a == n && (e->kind == ASK_BIND || e->kind == ASK_BEFORE ||
			     e->kind == ASK_BEHIND);
}

/*
 * A unit's own slots are resolved anew with the unit, and questions of its flow
 * need its KEY_FLOW anyway; other frames must depend on it.
 */
void flow_need(struct graph *g, unit_t n)
{
	if (!flow_own_place(g, n))
		solve_need(g, KEY_FLOW, n, 0);
}
