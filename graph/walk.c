/*
 * Breadth first, one depth at a time. The places of the next depth are
 * collected from those of this one in order, sorted by name, and only then
 * counted against the maximum. So the result depends neither on the order of
 * the graph's edges nor on symbol numbers.
 */
#include "graph/walk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"

static const struct {
	enum edge_kind kind;
	bool back;
} steps_table[WALK_STEPS] = {
	[WALK_CALLERS] = { EDGE_CALL, true },
	[WALK_CALLEES] = { EDGE_CALL, false },
	[WALK_SUBCLASSES] = { EDGE_INHERITS, true },
	[WALK_BASES] = { EDGE_INHERITS, false },
	[WALK_OVERRIDERS] = { EDGE_OVERRIDES, true },
	[WALK_OVERRIDDEN] = { EDGE_OVERRIDES, false },
	[WALK_READERS] = { EDGE_READS, true },
	[WALK_READ] = { EDGE_READS, false },
	[WALK_IMPORTERS] = { EDGE_IMPORTS, true },
	[WALK_IMPORTED] = { EDGE_IMPORTS, false },
};

enum edge_kind walk_edge(enum walk_step step)
{
	assert(step < WALK_STEPS);
	return steps_table[step].kind;
}

bool walk_is_back(enum walk_step step)
{
	assert(step < WALK_STEPS);
	return steps_table[step].back;
}

/* A walk under way. */
struct walker {
	const struct graph *g;
	struct walk walk;
	uint32_t size;		/* places allocated */
	size_t marks;		/* symbol numbers lie below it */
	uint8_t *seen;		/* a bit per symbol number */
	struct walk_place next; /* template for the next place found */
};

static bool mark(struct walker *w, symbol_t s)
{
	uint8_t bit = (uint8_t)(1U << s % 8);

	if (s >= w->marks || (w->seen[s / 8] & bit))
		return false;
	w->seen[s / 8] |= bit;
	return true;
}

static void put(struct walker *w, symbol_t s)
{
	struct walk *k = &w->walk;

	k->places = must_grow(k->places, &w->size, k->count + 1,
			      sizeof(*k->places));
	k->places[k->count] = w->next;
	k->places[k->count++].symbol = s;
}

static bool visit(const struct edge *e, void *arg)
{
	struct walker *w = arg;

	if (mark(w, e->other))
		put(w, e->other);
	return true;
}

static void visit_all(struct walker *w, unsigned steps)
{
	symbol_t from = w->walk.places[w->next.from].symbol;

	for (unsigned i = 0; i < WALK_STEPS; i++) {
		unsigned kinds = 1U << steps_table[i].kind;

		if (!(steps & 1U << i))
			continue;
		w->next.step = (enum walk_step)i;
		if (steps_table[i].back)
			graph_in(w->g, from, kinds, visit, w);
		else
			graph_out(w->g, from, kinds, visit, w);
	}
}

static int compare_places(const void *a, const void *b, void *arg)
{
	const struct walk_place *p = a, *q = b;
	struct symbol x = { .name = "" }, y = { .name = "" };

	(void)graph_symbol(arg, p->symbol, &x);
	(void)graph_symbol(arg, q->symbol, &y);
	return strcmp(x.name, y.name);
}

/* Sort the places from `first` on, and drop those beyond `max`. */
static void finish_depth(struct walker *w, size_t first, size_t max)
{
	/* qsort_r() takes no const argument; compare_places() only reads. */
	union {
		const struct graph *g;
		void *arg;
	} u = { .g = w->g };

	assert(first <= w->walk.count);
	qsort_r(w->walk.places + first, w->walk.count - first,
		sizeof(*w->walk.places), compare_places, u.arg);
	if (w->walk.count > max) {
		w->walk.count = max;
		w->walk.cut = true;
	}
}

void walk_init(struct walk *ret, const struct graph *g, symbol_t start,
	       unsigned steps, uint32_t depth, size_t max)
{
	struct walker w = { .g = g, .marks = graph_symbols_max(g) };
	size_t from = 0;

	w.seen = must_calloc(w.marks / 8 + 1, 1);
	(void)mark(&w, start);
	put(&w, start);
	while (w.next.depth++ < depth && from < w.walk.count && !w.walk.cut) {
		size_t first = w.walk.count;

		for (; from < first; from++) {
			w.next.from = (uint32_t)from;
			visit_all(&w, steps);
		}
		finish_depth(&w, first, max);
	}
	free(w.seen);
	*ret = w.walk;
}

void walk_release(struct walk *w)
{
	free(w->places);
	*w = (struct walk){ 0 };
}
