/*
 * Questions and their answers.
 *
 * An answer is remembered until something it was computed from changes.
 * Whenever a frame (a question or a slot) uses a key or an answer, it is
 * posted there: its number and its version. A changed key invalidates all
 * that is posted at it, then what is posted at those, and so on. Invalidating
 * raises the version, so stale postings need not be found and removed: those
 * of old versions are void.
 *
 * Questions may be cyclic: f returns g(), g returns f(). An answer computed
 * from one that is still being computed is worth nothing by itself. So, as in
 * Tarjan's algorithm for strongly connected components, each frame notes the
 * outermost open question it touched (`low`), and a question that touched one
 * further out than itself is held, not answered. The outermost question then
 * has its whole cycle on graph->held and answers it in rounds: all values
 * start empty, and in each round every question is computed from the values
 * of the round before (only those whose inputs changed: the others would give
 * the same), until none changes. Not every function here is monotone: a name
 * falls back on a builtin, an isinstance() on its class. So there may be
 * several fixed points, and if a question could see a value of its own round,
 * the order of asking would choose among them. With rounds in which all see
 * the same state, the result does not depend on the order.
 *
 * The members of a cycle are not known in advance: what they ask depends on
 * the values they see. Questions met during a round join the cycle, and when
 * any has joined, all start again from empty.
 *
 * The order of a class's bases is no set and does not grow. When it is cyclic,
 * every class in the cycle is taken to have no bases, and no fields.
 */
#include "graph/resolve/solve.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/tagged.h"
#include "graph/resolve/calls.h"
#include "graph/resolve/fields.h"
#include "graph/resolve/flow.h"
#include "graph/resolve/members.h"
#include "graph/resolve/modules.h"
#include "graph/resolve/names.h"
#include "graph/resolve/stars.h"
#include "graph/resolve/types.h"

/* Deeper than this, go on on a thread with a larger stack. */
#define STACK_FRAMES 400
#define STACK_LARGE  (1ULL << 30)
/* Deeper than this, questions get no answer. */
#define FRAMES_MAX 200000u

static uint32_t node_hash(uint32_t kind, uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ULL;

	return (uint32_t)((h ^ kind * 0xc2b2ae3d27d4eb4fULL) >> 29);
}

static void grow_table(struct graph *g)
{
	uint32_t mask = g->node_mask ? g->node_mask * 2 + 1 : 4095;

	graph_need(g, node_table, mask + 1ULL);
	memset(g->node_table, 0,
	       (g->node_mask + 1ULL) * sizeof(*g->node_table));
	for (node_t n = 0; n < g->nodes_count; n++) {
		const struct node *e = &g->nodes[n];
		uint32_t hash = node_hash(e->kind, e->a, e->b);
		uint32_t at = hash & mask;

		while (g->node_table[at])
			at = (at + 1) & mask;
		g->node_table[at] = tagged_of(hash, mask, n);
	}
	g->node_mask = mask;
}

static bool node_is(const struct node *e, enum node_kind kind, uint32_t a,
		    uint32_t b)
{
	return e->kind == kind && e->a == a && e->b == b;
}

/* Its entry in the table, 0 if there is no such node yet. */
static uint32_t *node_slot(struct graph *g, enum node_kind kind, uint32_t a,
			   uint32_t b)
{
	uint32_t hash = node_hash(kind, a, b), mask, at, entry;

	if (g->nodes_count >= g->node_mask / 2)
		grow_table(g);
	mask = g->node_mask;
	for (at = hash & mask; (entry = g->node_table[at]);
	     at = (at + 1) & mask)
		if (tagged_may_be(entry, hash, mask) &&
		    node_is(&g->nodes[tagged_number(entry, mask)], kind, a, b))
			break;
	return &g->node_table[at];
}

/* tagged_number() of an empty slot is NONE. */
node_t node_find(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b)
{
	uint32_t *slot = node_slot(g, kind, a, b);

	return tagged_number(*slot, g->node_mask);
}

node_t node_get(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b)
{
	uint32_t *slot = node_slot(g, kind, a, b);
	node_t n;

	if (*slot)
		return tagged_number(*slot, g->node_mask);
	n = g->nodes_count++;
	*slot = tagged_of(node_hash(kind, a, b), g->node_mask, n);
	graph_need(g, nodes, g->nodes_count);
	g->nodes[n] = (struct node){
		.kind = (uint8_t)kind, .a = a, .b = b, .next = NONE
	};
	/* Half full at most, as base/entry.h wants. */
	assert(g->nodes_count <= g->node_mask / 2);
	if (kind < KEY_KINDS && kind != KEY_MODULE && kind != KEY_SYMBOL) {
		assert(a < g->units_count);
		g->nodes[n].next = g->units[a].nodes;
		g->units[a].nodes = n;
	}
	return n;
}

/* Is the posting of its owner's present version? */
static bool posting_counts(const struct graph *g, const struct posting *p)
{
	if (p->who & POSTING_SLOT)
		return g->slots[p->who & ~POSTING_SLOT].version == p->version;
	return g->nodes[p->who].version == p->version;
}

/* Drop void postings before the list grows: they may be most of it. */
static void postings_clean(const struct graph *g, struct node *n)
{
	struct posting *postings = node_postings(g, n);
	uint32_t kept = 0;

	for (uint32_t k = 0; k < n->postings_count; k++)
		if (posting_counts(g, &postings[k]))
			postings[kept++] = postings[k];
	n->postings_count = kept;
}

static void post(struct graph *g, node_t at)
{
	struct node *n = &g->nodes[at];
	const struct frame *f;

	if (!g->frames_count)
		return;
	f = &g->frames[g->frames_count - 1];
	/* A frame that asks twice mostly does so in a row. */
	for (uint32_t k = 0; k < 4 && k < n->postings_count; k++) {
		const struct posting *p =
			node_postings(g, n) + n->postings_count - 1 - k;

		if (p->who == f->who && p->version == f->version)
			return;
	}
	if (n->postings_count == n->postings_size && n->postings_size >= 64)
		postings_clean(g, n);
	heap_grow(&g->heap, &n->postings, &n->postings_size,
		  n->postings_count + 1, sizeof(struct posting));
	node_postings(g, n)[n->postings_count++] =
		(struct posting){ .who = f->who, .version = f->version };
}

void solve_need(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b)
{
	assert(kind < KEY_KINDS);
	post(g, node_get(g, kind, a, b));
}

void frame_push(struct graph *g, uint32_t who, uint32_t version)
{
	g->frames = must_grow(g->frames, &g->frames_size, g->frames_count + 1,
			      sizeof(*g->frames));
	g->frames[g->frames_count] = (struct frame){ .who = who,
						     .version = version,
						     .low = g->frames_count };
	g->frames_count++;
}

/* The frame below touched every open question that this one touched. */
void frame_pop(struct graph *g)
{
	uint32_t low;

	assert(g->frames_count);
	low = g->frames[--g->frames_count].low;
	assert(low <= g->frames_count);
	if (g->frames_count && low < g->frames[g->frames_count - 1].low)
		g->frames[g->frames_count - 1].low = low;
}

static uint32_t compute(struct graph *g, node_t n)
{
	const struct node e = g->nodes[n];

	g->steps++;
	switch (e.kind) {
	case ASK_NAME:
		return name_solve(g, e.a, e.b);
	case ASK_EXPORT:
		return name_export_solve(g, e.a, e.b);
	case ASK_ORDER:
		return class_order_solve(g, e.a);
	case ASK_MEMBER:
		return member_solve(g, e.a, e.b);
	case ASK_RESULT:
		return call_result_solve(g, e.a);
	case ASK_ATTR:
		return attr_solve(g, e.a, e.b);
	case ASK_BIND:
		solve_need(g, KEY_FLOW, e.a, 0);
		return name_bind_eval(g, e.a, e.b);
	case ASK_BEFORE:
		return flow_before_solve(g, e.a, e.b);
	case ASK_BEHIND:
		return flow_behind_solve(g, e.a, e.b);
	case ASK_CIRCULAR:
		return stars_circular_solve(g, e.a, e.b);
	case ASK_FIELDS:
		return fields_solve(g, e.a);
	case ASK_SETTLED:
		return flow_settled_solve(g, e.a, e.b);
	case ASK_LAMBDA:
		return call_lambda_solve(g, e.a, e.b);
	case ASK_IMPORT:
		return module_import_solve(g, e.a, e.b);
	case ASK_METHOD:
		return method_solve(g, e.a, e.b);
	case ASK_META:
		return class_meta_solve(g, e.a);
	case ASK_WRAPPERS:
		return function_wrappers_solve(g, e.a);
	case ASK_DECORATIONS:
		return function_decorations_solve(g, e.a);
	case ASK_ENUM:
		return class_enum_solve(g, e.a);
	case ASK_BRINGS:
		return stars_brings_solve(g, e.a, e.b);
	default:
		return 0;
	}
}

struct todo {
	node_t *nodes;
	uint32_t count, size;
};

static void todo_add(struct todo *t, node_t n)
{
	t->nodes =
		must_grow(t->nodes, &t->size, t->count + 1, sizeof(*t->nodes));
	t->nodes[t->count++] = n;
}

/* A cycle being solved: the held questions from `mark` on. */
struct cycle {
	uint32_t mark, depth; /* depth: frame of its outermost question */
	uint32_t known;	      /* graph->held_count when the round began */
	struct todo now, next;
	uint32_t *values; /* new ones, of the questions in `now` */
	uint32_t values_size;
};

static void cycle_do(struct graph *g, struct cycle *c, node_t n)
{
	assert(g->nodes[n].state == NODE_HELD);
	if (g->nodes[n].hit)
		return;
	g->nodes[n].hit = 1;
	todo_add(&c->next, n);
}

static void cycle_begin(struct graph *g, struct cycle *c, uint32_t from)
{
	for (uint32_t k = from; k < g->held_count; k++) {
		struct node *e = &g->nodes[g->held[k]];

		e->value = 0;
		e->turns = 0;
		cycle_do(g, c, g->held[k]);
	}
	c->known = g->held_count;
}

/* Did a member touch an open question further out than the cycle? */
static bool cycle_is_larger(const struct graph *g, const struct cycle *c)
{
	return g->frames[c->depth].low < c->depth;
}

static void cycle_compute(struct graph *g, struct cycle *c)
{
	struct todo now = c->now;

	c->now = c->next;
	c->next = now;
	c->next.count = 0;
	c->values = must_grow(c->values, &c->values_size, c->now.count,
			      sizeof(*c->values));
	for (uint32_t k = 0; k < c->now.count; k++) {
		node_t n = c->now.nodes[k];

		g->nodes[n].hit = 0;
		frame_push(g, n, g->nodes[n].version);
		c->values[k] = compute(g, n);
		frame_pop(g);
		assert(g->frames_count == c->depth + 1);
		if (cycle_is_larger(g, c))
			c->now.count = k + 1;
	}
}

/*
 * Narrowing, or choosing the first known value, could keep a cycle changing
 * for ever. After this many changes a value only grows.
 */
#define TURNS_FREE 32

static uint32_t cycle_value(struct graph *g, node_t n, uint32_t value)
{
	const struct node *e = &g->nodes[n];

	if (e->kind == ASK_ORDER || e->kind == ASK_FIELDS)
		return 0;
	if (e->turns <= TURNS_FREE)
		return value;
	if (e->kind >= ASK_DECORATIONS)
		return value | e->value;
	return set_join(g->terms, value, e->value);
}

/* Publish the new values; members that used a changed one are next. */
static void cycle_see(struct graph *g, struct cycle *c)
{
	for (uint32_t k = 0; k < c->now.count; k++) {
		struct node *e = &g->nodes[c->now.nodes[k]];
		uint32_t value = cycle_value(g, c->now.nodes[k], c->values[k]);

		if (value == e->value)
			continue;
		e->value = value;
		if (e->turns < UINT8_MAX)
			e->turns++;
		for (uint32_t m = 0; m < e->postings_count; m++) {
			const struct posting *p = node_postings(g, e) + m;
			uint32_t who = p->who;

			if (!(who & POSTING_SLOT) && posting_counts(g, p) &&
			    g->nodes[who].state == NODE_HELD &&
			    g->nodes[who].depth == c->depth)
				cycle_do(g, c, who);
		}
	}
}

/* Questions held since `mark` belong to the cycle of frame `low`. */
static void hold(struct graph *g, uint32_t mark, uint32_t low)
{
	for (uint32_t k = mark; k < g->held_count; k++)
		if (g->nodes[g->held[k]].depth > low)
			g->nodes[g->held[k]].depth = low;
}

static void cycle_solve(struct graph *g, uint32_t mark, uint32_t depth)
{
	struct cycle c = { .mark = mark, .depth = depth };
	bool joined;

	do {
		joined = false;
		cycle_begin(g, &c, mark);
		while (c.next.count && !cycle_is_larger(g, &c)) {
			cycle_compute(g, &c);
			cycle_see(g, &c);
			joined |= c.known < g->held_count;
			cycle_begin(g, &c, c.known);
		}
	} while (joined && !cycle_is_larger(g, &c));
	for (uint32_t k = mark; k < g->held_count; k++)
		g->nodes[g->held[k]].hit = 0;
	free(c.now.nodes);
	free(c.next.nodes);
	free(c.values);
}

static void cycle_close(struct graph *g, uint32_t mark, uint32_t depth)
{
	while (g->held_count > mark) {
		struct node *e = &g->nodes[g->held[--g->held_count]];

		assert(e->state == NODE_HELD && e->depth == depth && !e->hit);
		e->state = NODE_DONE;
	}
}

static uint32_t ask_new(struct graph *g, node_t n)
{
	uint32_t depth = g->frames_count, mark = g->held_count;
	struct node *e = &g->nodes[n];
	uint32_t value;

	assert(e->state == NODE_NEW);
	e->state = NODE_OPEN;
	e->hit = 0;
	e->value = 0;
	e->depth = depth;
	frame_push(g, n, e->version);
	value = compute(g, n);
	e = &g->nodes[n];
	assert(e->state == NODE_OPEN && g->frames_count == depth + 1);
	e->value = value;
	if (!e->hit && g->held_count == mark && g->frames[depth].low == depth) {
		e->state = NODE_DONE;
		frame_pop(g);
		return value;
	}
	e->state = NODE_HELD;
	e->hit = 0;
	g->held = must_grow(g->held, &g->held_size, g->held_count + 1,
			    sizeof(*g->held));
	g->held[g->held_count++] = n;
	if (g->frames[depth].low == depth)
		cycle_solve(g, mark, depth);
	if (g->frames[depth].low == depth)
		cycle_close(g, mark, depth);
	else
		hold(g, mark, g->frames[depth].low);
	frame_pop(g);
	return g->nodes[n].value;
}

struct hop {
	struct graph *g;
	node_t n;
	uint32_t value;
};

static void *hop_main(void *arg)
{
	struct hop *hop = arg;

	hop->value = ask_new(hop->g, hop->n);
	return NULL;
}

/* Chains of a hundred thousand questions exist, if only in tests. */
static uint32_t ask_deep(struct graph *g, node_t n)
{
	struct hop hop = { .g = g, .n = n };
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (g->frames_count != STACK_FRAMES)
		return ask_new(g, n);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_LARGE);
	r = pthread_create(&thread, &attr, hop_main, &hop);
	(void)pthread_attr_destroy(&attr);
	if (r != 0)
		return ask_new(g, n);
	(void)pthread_join(thread, NULL);
	return hop.value;
}

uint32_t solve_ask(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b)
{
	node_t n = node_get(g, kind, a, b);
	struct node *e = &g->nodes[n];

	assert(kind >= KEY_KINDS && kind < NODE_KINDS);
	post(g, n);
	switch (e->state) {
	case NODE_DONE:
		return e->value;
	case NODE_OPEN:
	case NODE_HELD:
		assert(e->depth < g->frames_count);
		if (e->state == NODE_OPEN)
			e->hit = 1;
		if (e->depth < g->frames[g->frames_count - 1].low)
			g->frames[g->frames_count - 1].low = e->depth;
		return e->value;
	default:
		if (g->frames_count >= FRAMES_MAX)
			return 0;
		return ask_deep(g, n);
	}
}

static void invalidate_slot(struct graph *g, uint32_t slot)
{
	assert(g->slots[slot].unit != NONE && !g->slots[slot].dirty);
	g->slots[slot].version++;
	g->slots[slot].dirty = 1;
	g->dirty = must_grow(g->dirty, &g->dirty_size, g->dirty_count + 1,
			     sizeof(*g->dirty));
	g->dirty[g->dirty_count++] = slot;
}

/* Invalidate what is posted at n; add the questions to `todo`. */
static void invalidate_posted(struct graph *g, node_t n, struct todo *todo)
{
	heap_t piece = g->nodes[n].postings;
	const struct posting *postings = node_postings(g, &g->nodes[n]);
	uint32_t count = g->nodes[n].postings_count;
	uint32_t size = g->nodes[n].postings_size;

	g->nodes[n].postings = 0;
	g->nodes[n].postings_count = g->nodes[n].postings_size = 0;
	for (uint32_t k = 0; k < count; k++) {
		uint32_t who = postings[k].who;

		if (!posting_counts(g, &postings[k]))
			continue;
		if (who & POSTING_SLOT) {
			invalidate_slot(g, who & ~POSTING_SLOT);
			continue;
		}
		assert(g->nodes[who].state == NODE_DONE);
		g->nodes[who].version++;
		g->nodes[who].state = NODE_NEW;
		todo_add(todo, who);
	}
	heap_give(&g->heap, piece, size * sizeof(*postings));
}

void solve_invalidate(struct graph *g, node_t first)
{
	struct todo todo = { .count = 0 };

	assert(!g->frames_count && !g->held_count);
	todo_add(&todo, first);
	while (todo.count)
		invalidate_posted(g, todo.nodes[--todo.count], &todo);
	free(todo.nodes);
}

void solve_invalidate_key(struct graph *g, enum node_kind kind, uint32_t a,
			  uint32_t b)
{
	node_t n = node_find(g, kind, a, b);

	if (n != NONE)
		solve_invalidate(g, n);
}
