/*
 * Questions and their answers.
 *
 * An answer is remembered until something it was computed from changes. Every
 * time a question or a place in the text asks for a key or for an answer, it
 * is posted there: who, and in which version. A key that changes outdates all
 * that is posted at it, and what is posted at those, and so on; being
 * outdated is having a higher version, so postings need not be found and
 * taken away when somebody asks anew: those of old versions count no more.
 *
 * Questions go round in circles: f returns g(), g returns f(). An answer that
 * was computed with the help of one that is still being computed is worth
 * nothing by itself. So, as Tarjan does with components: each frame notes the
 * outermost open question it touched (`low`). A question that touched one
 * further out than itself is held, not answered: its value is what is known
 * so far, and good for the present round only. The outermost one computes
 * again, and all held ones with it, each round starting from the values of
 * the one before, until a round changes nothing; then all have their answers.
 * Since values only grow (terms.h), that is the least solution, and it is the
 * same whichever question was asked first.
 *
 * The order of a class's bases is no set and does not grow. When it goes
 * round in circles, every class in the circle is taken to have no bases.
 */
#include <pthread.h>
#include <string.h>

#include "graph/base/memory.h"
#include "graph/graph_i.h"

/* Frames on one stack; beyond, we go on on a larger one. */
#define STACK_FRAMES 400
#define STACK_LARGE  (1ULL << 30)
#define FRAMES_MAX   200000u

static uint32_t node_hash(uint32_t kind, uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ULL;

	return (uint32_t)((h ^ kind * 0xc2b2ae3d27d4eb4fULL) >> 29);
}

static void grow_table(struct graph *g)
{
	uint32_t mask = g->node_mask ? g->node_mask * 2 + 1 : 4095;
	uint32_t *table = must_calloc((size_t)mask + 1, sizeof(*table));

	for (node_t n = 0; n < g->nodes_count; n++) {
		const struct node *e = &g->nodes[n];
		uint32_t at = node_hash(e->kind, e->a, e->b) & mask;

		while (table[at])
			at = (at + 1) & mask;
		table[at] = n + 1;
	}
	free(g->node_table);
	g->node_table = table;
	g->node_mask = mask;
}

node_t node_get(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b)
{
	uint32_t at;
	node_t n;

	if (g->nodes_count >= g->node_mask / 2)
		grow_table(g);
	at = node_hash(kind, a, b) & g->node_mask;
	for (; g->node_table[at]; at = (at + 1) & g->node_mask) {
		const struct node *e = &g->nodes[g->node_table[at] - 1];

		if (e->kind == kind && e->a == a && e->b == b)
			return g->node_table[at] - 1;
	}
	n = g->nodes_count++;
	g->node_table[at] = n + 1;
	g->nodes = must_grow(g->nodes, &g->nodes_size, g->nodes_count,
			     sizeof(*g->nodes));
	g->nodes[n] = (struct node){
		.kind = (uint8_t)kind, .a = a, .b = b, .next = NONE
	};
	if (kind < KEY_KINDS && kind != KEY_MODULE) {
		g->nodes[n].next = g->units[a].nodes;
		g->units[a].nodes = n;
	}
	return n;
}

/* Is that posting still its owner's? */
static bool posting_counts(const struct graph *g, const struct posting *p)
{
	if (p->who & POSTING_SLOT)
		return g->slots[p->who & ~POSTING_SLOT].version == p->version;
	return g->nodes[p->who].version == p->version;
}

/* Before growing: most postings may be of old versions. */
static void postings_clean(const struct graph *g, struct node *n)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < n->postings_count; k++)
		if (posting_counts(g, &n->postings[k]))
			n->postings[kept++] = n->postings[k];
	n->postings_count = kept;
}

static void post(struct graph *g, node_t at)
{
	struct node *n = &g->nodes[at];
	const struct frame *f;

	if (!g->frames_count)
		return;
	f = &g->frames[g->frames_count - 1];
	/* One that asks twice mostly does so in a row. */
	for (uint32_t k = 0; k < 4 && k < n->postings_count; k++) {
		const struct posting *p =
			&n->postings[n->postings_count - 1 - k];

		if (p->who == f->who && p->version == f->version)
			return;
	}
	if (n->postings_count == n->postings_size && n->postings_size >= 64)
		postings_clean(g, n);
	if (n->postings_count == n->postings_size) {
		uint32_t size = n->postings_size ? n->postings_size * 2 : 2;

		n->postings =
			must_realloc(n->postings, size * sizeof(*n->postings));
		n->postings_size = size;
	}
	n->postings[n->postings_count++] =
		(struct posting){ .who = f->who, .version = f->version };
}

void need(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b)
{
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

/* What touched an open question through us touched it itself. */
void frame_pop(struct graph *g)
{
	uint32_t low = g->frames[--g->frames_count].low;

	if (g->frames_count && low < g->frames[g->frames_count - 1].low)
		g->frames[g->frames_count - 1].low = low;
}

static uint32_t compute(struct graph *g, node_t n)
{
	const struct node e = g->nodes[n];

	switch (e.kind) {
	case ASK_NAME:
		return name_solve(g, e.a, e.b);
	case ASK_EXPORT:
		return export_solve(g, e.a, e.b);
	case ASK_ORDER:
		return order_solve(g, e.a);
	case ASK_MEMBER:
		return member_solve(g, e.a, e.b);
	case ASK_RESULT:
		return result_solve(g, e.a);
	case ASK_ATTR:
		return attr_solve(g, e.a, e.b);
	case ASK_BIND:
		need(g, KEY_FLOW, e.a, 0);
		return bind_eval(g, e.a, e.b);
	case ASK_LAMBDA:
		need(g, KEY_FLOW, e.a, 0);
		return lambda_solve(g, e.a, e.b);
	case ASK_IMPORT:
		return import_solve(g, e.a, e.b);
	case ASK_DECORATIONS:
		return decorations_solve(g, e.a);
	default:
		return 0;
	}
}

/* The circle of frame `depth` is closed: its held questions are answered. */
static void release_held(struct graph *g, uint32_t mark, uint32_t round)
{
	while (g->held_count > mark) {
		struct node *h = &g->nodes[g->held[--g->held_count]];

		/* Not met in the last round: its value is an old one. */
		h->state = h->round >= round ? NODE_DONE : NODE_NEW;
	}
}

/* An order of bases that depends on itself is none: see above. */
static bool cut_orders(struct graph *g, uint32_t mark, node_t head)
{
	bool cut = false;

	for (uint32_t k = mark; k <= g->held_count; k++) {
		node_t n = k < g->held_count ? g->held[k] : head;
		struct node *e = &g->nodes[n];

		if (e->kind != ASK_ORDER || e->hit == 2)
			continue;
		e->hit = 2;
		e->value = 0;
		cut = true;
	}
	return cut;
}

/*
 * Narrowing and "declared, else assigned" do not only grow. Should that ever
 * keep a circle turning, it is made to grow after so many rounds.
 */
#define ROUNDS_FREE 32

static uint32_t round_once(struct graph *g, node_t n, uint32_t turn)
{
	uint32_t value;

	if (g->nodes[n].kind == ASK_ORDER && g->nodes[n].hit == 2)
		return 0;
	value = compute(g, n);
	if (turn > ROUNDS_FREE && g->nodes[n].kind != ASK_ORDER &&
	    g->nodes[n].kind != ASK_DECORATIONS)
		value = set_join(g->terms, value, g->nodes[n].value);
	if (value != g->nodes[n].value) {
		g->nodes[n].value = value;
		g->changes++;
	}
	return value;
}

/* n belongs to the circle of frame `low`, and so do those held under it. */
static void hold(struct graph *g, node_t n, uint32_t mark, uint32_t low)
{
	g->nodes[n].state = NODE_HELD;
	g->nodes[n].depth = low;
	g->nodes[n].round = g->rounds;
	for (uint32_t k = mark; k < g->held_count; k++)
		if (g->nodes[g->held[k]].depth > low)
			g->nodes[g->held[k]].depth = low;
}

static uint32_t ask_new(struct graph *g, node_t n)
{
	uint32_t depth = g->frames_count, mark = g->held_count;
	uint32_t changes, value, low, turn = 0;

	g->nodes[n].state = NODE_OPEN;
	g->nodes[n].hit = 0;
	g->nodes[n].value = 0;
	g->nodes[n].depth = depth;
	frame_push(g, n, g->nodes[n].version);
	for (;;) {
		g->frames[depth].low = depth;
		g->frames[depth].round = ++g->rounds;
		g->frames[depth].turn = turn;
		changes = g->changes;
		value = round_once(g, n, turn++);
		low = g->frames[depth].low;
		if (low < depth)
			break;
		if (!g->nodes[n].hit && g->held_count == mark)
			break;
		if (!cut_orders(g, mark, n) && changes == g->changes)
			break;
		/* Held ones of this circle are computed again on demand. */
	}
	if (low < depth) {
		g->held = must_grow(g->held, &g->held_size, g->held_count + 1,
				    sizeof(*g->held));
		g->held[g->held_count++] = n;
		hold(g, n, mark, low);
	} else {
		g->nodes[n].state = NODE_DONE;
		release_held(g, mark, g->frames[depth].round);
	}
	frame_pop(g);
	return value;
}

/* A held question met again: good if computed since its circle's last turn. */
static uint32_t ask_held(struct graph *g, node_t n)
{
	struct node *e = &g->nodes[n];
	uint32_t depth = g->frames_count, mark = g->held_count;
	uint32_t held_by = e->depth, value, low;

	if (e->round >= g->frames[e->depth].round) {
		if (e->depth < g->frames[depth - 1].low)
			g->frames[depth - 1].low = e->depth;
		return e->value;
	}
	e->state = NODE_OPEN;
	e->depth = depth;
	frame_push(g, n, e->version);
	g->frames[depth].round = ++g->rounds;
	value = round_once(g, n, g->frames[held_by].turn);
	low = g->frames[depth].low;
	/* Even if it went another way now, its circle is not closed yet. */
	if (held_by < low)
		low = g->frames[depth].low = held_by;
	hold(g, n, mark, low);
	frame_pop(g);
	return value;
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

/* Chains of a hundred thousand links exist, if only in tests. */
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

uint32_t ask(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b)
{
	node_t n = node_get(g, kind, a, b);
	struct node *e = &g->nodes[n];

	post(g, n);
	switch (e->state) {
	case NODE_DONE:
		return e->value;
	case NODE_OPEN:
		if (!e->hit)
			e->hit = 1;
		if (e->depth < g->frames[g->frames_count - 1].low)
			g->frames[g->frames_count - 1].low = e->depth;
		return e->value;
	case NODE_HELD:
		return ask_held(g, n);
	default:
		if (g->frames_count >= FRAMES_MAX)
			return 0;
		return ask_deep(g, n);
	}
}

static void slot_outdate(struct graph *g, uint32_t slot)
{
	g->slots[slot].version++;
	g->slots[slot].dirty = 1;
	g->dirty = must_grow(g->dirty, &g->dirty_size, g->dirty_count + 1,
			     sizeof(*g->dirty));
	g->dirty[g->dirty_count++] = slot;
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

/* Whoever is posted at n is outdated; questions among them are to do. */
static void outdate_posted(struct graph *g, node_t n, struct todo *todo)
{
	struct posting *postings = g->nodes[n].postings;
	uint32_t count = g->nodes[n].postings_count;

	g->nodes[n].postings = NULL;
	g->nodes[n].postings_count = g->nodes[n].postings_size = 0;
	for (uint32_t k = 0; k < count; k++) {
		uint32_t who = postings[k].who;

		if (!posting_counts(g, &postings[k]))
			continue;
		if (who & POSTING_SLOT) {
			slot_outdate(g, who & ~POSTING_SLOT);
			continue;
		}
		g->nodes[who].version++;
		g->nodes[who].state = NODE_NEW;
		todo_add(todo, who);
	}
	free(postings);
}

void outdate(struct graph *g, node_t first)
{
	struct todo todo = { .count = 0 };

	todo_add(&todo, first);
	while (todo.count)
		outdate_posted(g, todo.nodes[--todo.count], &todo);
	free(todo.nodes);
}
