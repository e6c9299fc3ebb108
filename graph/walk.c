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
	[WALK_IMPLICIT_CALLERS] = { EDGE_IMPLICIT, true },
	[WALK_IMPLICIT_CALLEES] = { EDGE_IMPLICIT, false },
	[WALK_USERS] = { EDGE_USES, true },
	[WALK_USED] = { EDGE_USES, false },
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

static bool is_test_word(const char *word, size_t len)
{
	static const char *const words[] = { "test", "tests", "testing",
					     "conftest.py" };

	for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
		if (strlen(words[k]) == len && !memcmp(words[k], word, len))
			return true;
	return false;
}

bool walk_is_test(const char *path)
{
	static const char before[] = "test_", behind[] = "_test.py";
	size_t len;

	for (; (len = strcspn(path, "/")), path[len]; path += len + 1)
		if (is_test_word(path, len))
			return true;
	return is_test_word(path, len) ||
	       strncmp(path, before, strlen(before)) == 0 ||
	       (len > strlen(behind) &&
		strcmp(path + len - strlen(behind), behind) == 0);
}

/* A walk under way. */
struct walker {
	const struct graph *g;
	const struct walk_from *rules;
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

static bool is_left_out(const struct walker *w, symbol_t s)
{
	struct symbol is;

	return w->rules->skip_tests && graph_symbol(w->g, s, &is) && is.file &&
	       walk_is_test(is.file);
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

	if (!is_left_out(w, e->other) && mark(w, e->other))
		put(w, e->other);
	return true;
}

static void visit_step(struct walker *w, enum walk_step step, symbol_t from)
{
	unsigned kinds = 1U << steps_table[step].kind;

	w->next.step = step;
	if (steps_table[step].back)
		graph_in(w->g, from, kinds, visit, w);
	else
		graph_out(w->g, from, kinds, visit, w);
}

/* A method overrides or is overridden in a few classes, mostly. */
#define METHODS_MAX 256
struct methods {
	symbol_t at[METHODS_MAX];
	size_t count;
};

static bool add_method(const struct edge *e, void *arg)
{
	struct methods *m = arg;

	for (size_t k = 0; k < m->count; k++)
		if (m->at[k] == e->other)
			return true;
	if (m->count == METHODS_MAX)
		return false;
	m->at[m->count++] = e->other;
	return true;
}

/* The methods that `s` overrides (`up`) or that override it, at any depth. */
static void methods_of(const struct graph *g, symbol_t s, bool up,
		       struct methods *ret)
{
	ret->count = 0;
	ret->at[ret->count++] = s;
	for (size_t k = 0; k < ret->count; k++) {
		if (up)
			graph_out(g, ret->at[k], 1U << EDGE_OVERRIDES,
				  add_method, ret);
		else
			graph_in(g, ret->at[k], 1U << EDGE_OVERRIDES,
				 add_method, ret);
	}
}

/* Constructors are called on a class that is known. */
static bool is_dispatched(const struct graph *g, symbol_t s)
{
	static const char *const fixed[] = { "__init__", "__new__",
					     "__init_subclass__" };
	struct symbol is;
	const char *last;

	if (!graph_symbol(g, s, &is) || is.kind != SYMBOL_METHOD)
		return false;
	last = strrchr(is.name, '.');
	for (size_t k = 0; last && k < sizeof(fixed) / sizeof(*fixed); k++)
		if (strcmp(last + 1, fixed[k]) == 0)
			return false;
	return true;
}

/* Callers of `via`, but for methods that override it: they call super(). */
struct via {
	struct walker *walker;
	symbol_t via;
};

static bool visit_caller(const struct edge *e, void *arg)
{
	const struct via *v = arg;

	if (graph_has_edge(v->walker->g, e->other, v->via, EDGE_OVERRIDES))
		return true;
	return visit(e, v->walker);
}

static void callers_by_base(struct walker *w, unsigned steps, symbol_t from)
{
	struct methods above;

	if (!(steps & WALK_ALL_CALLERS) || !is_dispatched(w->g, from))
		return;
	methods_of(w->g, from, true, &above);
	for (unsigned i = 0; i < WALK_STEPS; i++) {
		if (!(steps & WALK_ALL_CALLERS & 1U << i))
			continue;
		w->next.step = (enum walk_step)i;
		for (size_t k = 1; k < above.count; k++) {
			struct via v = { w, above.at[k] };

			w->next.via = v.via;
			graph_in(w->g, v.via, 1U << steps_table[i].kind,
				 visit_caller, &v);
		}
	}
	w->next.via = SYMBOL_NONE;
}

/* The methods that override a callee, unless `from` is one of them. */
static bool visit_overriders(const struct edge *e, void *arg)
{
	struct walker *w = arg;
	symbol_t from = w->walk.places[w->next.from].symbol;
	struct methods below;

	if (!is_dispatched(w->g, e->other) ||
	    graph_has_edge(w->g, from, e->other, EDGE_OVERRIDES))
		return true;
	methods_of(w->g, e->other, false, &below);
	w->next.via = e->other;
	for (size_t k = 1; k < below.count; k++)
		(void)visit(&(struct edge){ .other = below.at[k] }, w);
	w->next.via = SYMBOL_NONE;
	return true;
}

static void visit_all(struct walker *w, unsigned steps)
{
	symbol_t from = w->walk.places[w->next.from].symbol;

	for (unsigned i = 0; i < WALK_STEPS; i++)
		if (steps & 1U << i)
			visit_step(w, (enum walk_step)i, from);
	callers_by_base(w, steps, from);
	for (unsigned i = 0; i < WALK_STEPS; i++) {
		if (!(steps & WALK_ALL_CALLEES & 1U << i))
			continue;
		w->next.step = (enum walk_step)i;
		graph_out(w->g, from, 1U << steps_table[i].kind,
			  visit_overriders, w);
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

static void put_starts(struct walker *w)
{
	const struct walk_from *r = w->rules;

	for (size_t k = 0; k < r->count; k++) {
		w->next.from = (uint32_t)w->walk.count;
		if (mark(w, r->starts[k]))
			put(w, r->starts[k]);
	}
}

void walk_init(struct walk *ret, const struct graph *g,
	       const struct walk_from *rules)
{
	struct walker w = { .g = g,
			    .rules = rules,
			    .marks = graph_symbols_max(g),
			    .next = { .via = SYMBOL_NONE } };
	size_t from = 0;

	w.seen = must_calloc(w.marks / 8 + 1, 1);
	put_starts(&w);
	while (w.next.depth++ < rules->depth && from < w.walk.count &&
	       !w.walk.cut) {
		size_t first = w.walk.count;

		for (; from < first; from++) {
			w.next.from = (uint32_t)from;
			visit_all(&w, rules->steps);
		}
		finish_depth(&w, first, rules->max);
	}
	free(w.seen);
	*ret = w.walk;
}

void walk_release(struct walk *w)
{
	free(w->places);
	*w = (struct walk){ 0 };
}
