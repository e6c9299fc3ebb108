/*
 * The work is proportional to the delta (and to the readers of variables that
 * changed), never to the graph: whether a symbol existed before is looked up
 * among the changes, and a symbol without a change is as it was.
 *
 * One name may have two changes, when a variable became a function or the
 * other way round: a symbol outside V was removed and one of V added. So
 * changes are looked up by name and side of V.
 */
#include "graph/diff.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"

static bool is_in_v(enum symbol_kind kind)
{
	return kind == SYMBOL_FUNCTION || kind == SYMBOL_METHOD ||
	       kind == SYMBOL_CLASS;
}

/* A diff being made. */
struct sorter {
	const struct graph *g;
	const struct graph_delta *d;
	struct symbol_change *changes; /* of V, by symbol */
	size_t changes_count;
	symbol_t *variables; /* of extended_x, by symbol */
	size_t variables_count;
	struct edge_change *calls; /* of E, by caller and callee */
	size_t calls_count;
};

static int compare_changes(const void *a, const void *b)
{
	symbol_t x = ((const struct symbol_change *)a)->symbol;
	symbol_t y = ((const struct symbol_change *)b)->symbol;

	return (x > y) - (x < y);
}

static int compare_symbols(const void *a, const void *b)
{
	symbol_t x = *(const symbol_t *)a, y = *(const symbol_t *)b;

	return (x > y) - (x < y);
}

/* Was `s` in V before the change, is it now, and is its text the same? */
static bool is_unchanged(const struct sorter *t, symbol_t s)
{
	struct symbol_change key = { .symbol = s };
	const struct symbol_change *c;
	struct symbol now;

	c = bsearch(&key, t->changes, t->changes_count, sizeof(*t->changes),
		    compare_changes);
	if (c)
		return c->before && c->after && !c->body;
	return graph_symbol(t->g, s, &now) && is_in_v(now.kind);
}

static bool was_or_is_in_v(const struct sorter *t, symbol_t s)
{
	struct symbol_change key = { .symbol = s };
	struct symbol now;

	return bsearch(&key, t->changes, t->changes_count, sizeof(*t->changes),
		       compare_changes) ||
	       (graph_symbol(t->g, s, &now) && is_in_v(now.kind));
}

static bool is_changed_variable(const struct sorter *t, symbol_t s)
{
	return bsearch(&s, t->variables, t->variables_count, sizeof(s),
		       compare_symbols);
}

/* Sets are filled in any order; finish() sorts them. */
static void add(struct diff_set *set, symbol_t s)
{
	set->symbols = must_grow(set->symbols, &set->size, set->count + 1,
				 sizeof(*set->symbols));
	set->symbols[set->count++] = s;
}

/* The change before it removed a symbol of that name on the same side of V:
   then it is not reported as added. */
static bool was_there(const struct graph_delta *d,
		      const struct symbol_change *c)
{
	return c > d->symbols && c[-1].symbol == c->symbol && c[-1].before &&
	       is_in_v(c[-1].kind) == is_in_v(c->kind);
}

static void sort_symbol(const struct graph_delta *d, struct diff *ret,
			const struct symbol_change *c)
{
	bool drifted = !c->after || (c->before && c->body);

	assert(c->before || c->after);
	if (drifted)
		add(is_in_v(c->kind) ? &ret->x : &ret->extended_x, c->symbol);
	else if (!c->before && !was_there(d, c))
		add(is_in_v(c->kind) ? &ret->added : &ret->extended_added,
		    c->symbol);
}

/* The change before it removed a module of that name. */
static bool was_module(const struct graph_delta *d,
		       const struct symbol_change *c)
{
	return c > d->symbols && !c->before && c[-1].symbol == c->symbol &&
	       c[-1].kind == SYMBOL_MODULE;
}

static void index_changes(struct sorter *t)
{
	const struct graph_delta *d = t->d;

	t->changes = must_calloc(d->symbols_count, sizeof(*t->changes));
	t->variables = must_calloc(d->symbols_count, sizeof(*t->variables));
	for (size_t i = 0; i < d->symbols_count; i++) {
		const struct symbol_change *c = &d->symbols[i];

		if (is_in_v(c->kind))
			t->changes[t->changes_count++] = *c;
		else if (c->kind == SYMBOL_VARIABLE &&
			 (c->before ? !c->after || c->body : was_module(d, c)))
			t->variables[t->variables_count++] = c->symbol;
	}
	qsort(t->changes, t->changes_count, sizeof(*t->changes),
	      compare_changes);
	qsort(t->variables, t->variables_count, sizeof(*t->variables),
	      compare_symbols);
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge_change *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

static void index_edges(struct sorter *t)
{
	const struct graph_delta *d = t->d;

	t->calls = must_calloc(d->edges_count, sizeof(*t->calls));
	for (size_t i = 0; i < d->edges_count; i++)
		if (EDGES_E & 1U << d->edges[i].kind)
			t->calls[t->calls_count++] = d->edges[i];
	if (t->calls_count)
		qsort(t->calls, t->calls_count, sizeof(*t->calls),
		      compare_edges);
}

/*
 * E is a set of pairs: a call that became an implicit one, or that has both
 * forms, is in it before and after.
 */
static bool is_change_of_e(const struct sorter *t, const struct edge_change *e)
{
	struct edge_change other = *e;
	const struct edge_change *c;

	other.kind = e->kind == EDGE_CALL ? EDGE_IMPLICIT : EDGE_CALL;
	c = bsearch(&other, t->calls, t->calls_count, sizeof(*t->calls),
		    compare_edges);
	if (c)
		return c->added == e->added;
	return !graph_has_edge(t->g, e->caller, e->callee, other.kind);
}

/* Is what the caller reads or names another thing now? */
static bool is_read_otherwise(const struct sorter *t,
			      const struct edge_change *e)
{
	if (e->kind == EDGE_READS)
		return !e->added && is_changed_variable(t, e->callee);
	return e->kind == EDGE_USES;
}

/* What an added or removed edge means for its two ends. */
static void sort_edge(struct sorter *t, struct diff *ret,
		      const struct edge_change *e)
{
	if (EDGES_E & 1U << e->kind) {
		if (!is_change_of_e(t, e))
			return;
		/* Module-level calls are not part of V's edges. */
		if (!was_or_is_in_v(t, e->caller))
			return;
		if (is_unchanged(t, e->caller))
			add(&ret->dx, e->caller);
		if (is_unchanged(t, e->callee))
			add(&ret->dx, e->callee);
	} else if (is_read_otherwise(t, e) && is_unchanged(t, e->caller)) {
		add(&ret->extended_r, e->caller);
	}
}

struct readers {
	struct sorter *sorter;
	struct diff_set *set;
};

static bool visit_reader(const struct edge *e, void *arg)
{
	struct readers *r = arg;

	if (is_unchanged(r->sorter, e->other))
		add(r->set, e->other);
	return true;
}

static int compare_names(const void *a, const void *b, void *arg)
{
	struct symbol x = { .name = "" }, y = { .name = "" };

	(void)graph_symbol(arg, *(const symbol_t *)a, &x);
	(void)graph_symbol(arg, *(const symbol_t *)b, &y);
	return strcmp(x.name, y.name);
}

/* Sort by name and drop duplicates: equal names are one symbol. */
static void finish(const struct graph *g, struct diff_set *set)
{
	/* qsort_r() takes no const argument; compare_names() only reads. */
	union {
		const struct graph *g;
		void *arg;
	} u = { .g = g };
	size_t kept = 0;

	if (set->count)
		qsort_r(set->symbols, set->count, sizeof(*set->symbols),
			compare_names, u.arg);
	for (size_t i = 0; i < set->count; i++)
		if (!kept || set->symbols[i] != set->symbols[kept - 1])
			set->symbols[kept++] = set->symbols[i];
	set->count = kept;
}

static void sort_all(struct sorter *t, struct diff *ret)
{
	struct readers readers = { .sorter = t, .set = &ret->extended_r };

	for (size_t i = 0; i < t->d->symbols_count; i++)
		sort_symbol(t->d, ret, &t->d->symbols[i]);
	for (size_t i = 0; i < t->d->edges_count; i++)
		sort_edge(t, ret, &t->d->edges[i]);
	for (size_t i = 0; i < t->variables_count; i++)
		graph_in(t->g, t->variables[i], 1U << EDGE_READS, visit_reader,
			 &readers);
	finish(t->g, &ret->x);
	finish(t->g, &ret->dx);
	finish(t->g, &ret->added);
	finish(t->g, &ret->extended_x);
	finish(t->g, &ret->extended_r);
	finish(t->g, &ret->extended_added);
}

void diff_init(struct diff *ret, const struct graph *g,
	       const struct graph_delta *d)
{
	struct sorter t = { .g = g, .d = d };

	*ret = (struct diff){ 0 };
	index_changes(&t);
	index_edges(&t);
	sort_all(&t, ret);
	free(t.changes);
	free(t.variables);
	free(t.calls);
}

void diff_release(struct diff *d)
{
	free(d->x.symbols);
	free(d->dx.symbols);
	free(d->added.symbols);
	free(d->extended_x.symbols);
	free(d->extended_r.symbols);
	free(d->extended_added.symbols);
	*d = (struct diff){ 0 };
}
