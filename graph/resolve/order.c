/*
 * Terms by kind, then by the names of what they are about. Numbers depend on
 * what the graph held before; names do not.
 */
#include "graph/resolve/order.h"

#include <string.h>

#include "graph/resolve/units.h"

static int numbers(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int atoms(const struct graph *g, atom_t a, atom_t b)
{
	return a == b ? 0 : strcmp(atom_text(g, a), atom_text(g, b));
}

/* The terms of a set in our order; returns how many. */
static size_t sorted(const struct graph *g, set_t s, term_t ret[static SET_MAX])
{
	const term_t *terms;
	size_t count = set_terms(g->terms, s, &terms);

	for (size_t n = 0; n < count; n++) {
		size_t at = n;

		while (at && order_terms(g, terms[n], ret[at - 1]) < 0)
			at--;
		memmove(ret + at + 1, ret + at, (n - at) * sizeof(*ret));
		ret[at] = terms[n];
	}
	return count;
}

static int sets(const struct graph *g, set_t a, set_t b)
{
	term_t x[SET_MAX], y[SET_MAX];
	size_t n, m;

	if (a == b)
		return 0;
	n = sorted(g, a, x);
	m = sorted(g, b, y);
	for (size_t k = 0; k < n && k < m; k++) {
		int by = order_terms(g, x[k], y[k]);

		if (by)
			return by;
	}
	return numbers((uint32_t)n, (uint32_t)m);
}

static int tuples(const struct graph *g, const struct term *x,
		  const struct term *y)
{
	uint32_t count = term_length(g->terms, x);
	int by = numbers(count, term_length(g->terms, y));

	for (uint32_t k = 0; k < count && !by; k++)
		by = sets(g, term_items(g->terms, x)[k],
			  term_items(g->terms, y)[k]);
	return by;
}

/* RECORD_REST comes last. */
static int keys(const struct graph *g, uint32_t a, uint32_t b)
{
	if (a == RECORD_REST || b == RECORD_REST)
		return numbers(a == RECORD_REST, b == RECORD_REST);
	return atoms(g, a, b);
}

/* The keys of a record by their text, since it has them by number. */
static uint32_t keys_sorted(const struct graph *g, const struct term *record,
			    uint32_t ret[static TUPLE_MAX])
{
	uint32_t count;
	const uint32_t *from = terms_run_items(g->terms, record->a, &count);

	for (uint32_t n = 0; n < count; n++) {
		uint32_t at = n;

		while (at && keys(g, from[n], ret[at - 1]) < 0)
			at--;
		memmove(ret + at + 1, ret + at, (n - at) * sizeof(*ret));
		ret[at] = from[n];
	}
	return count;
}

static int records(const struct graph *g, const struct term *x,
		   const struct term *y)
{
	uint32_t a[TUPLE_MAX], b[TUPLE_MAX];
	uint32_t n = keys_sorted(g, x, a);
	int by = numbers(n, keys_sorted(g, y, b));

	for (uint32_t k = 0; k < n && !by; k++)
		by = keys(g, a[k], b[k]);
	for (uint32_t k = 0; k < n && !by; k++)
		by = sets(g, record_at(g->terms, x, a[k]),
			  record_at(g->terms, y, b[k]));
	return by;
}

/* Of two terms of one kind. */
static int contents(const struct graph *g, const struct term *x,
		    const struct term *y)
{
	int by;

	switch (x->kind) {
	case TERM_PACKAGE:
	case TERM_LIBRARY:
		return atoms(g, x->a, y->a);
	case TERM_OF:
		by = order_terms(g, x->a, y->a);
		return by ? by : atoms(g, x->b, y->b);
	case TERM_TUPLE:
		return tuples(g, x, y);
	case TERM_RECORD:
		return records(g, x, y);
	default:
		break;
	}
	if (x->kind >= TERM_JOINED) {
		by = sets(g, x->a, y->a);
		return by || x->kind != TERM_DICT ? by : sets(g, x->b, y->b);
	}
	by = unit_order(g, x->a, y->a);
	if (by)
		return by;
	if (x->kind == TERM_BOUND || x->kind == TERM_SUPER)
		return order_terms(g, x->b, y->b);
	if (x->kind == TERM_INSTANCE || x->kind == TERM_WRAPPED)
		return sets(g, x->b, y->b);
	return numbers(x->b, y->b);
}

int order_terms(const void *graph, term_t a, term_t b)
{
	const struct graph *g = graph;
	const struct term *x = term_of(g->terms, a), *y = term_of(g->terms, b);

	if (a == b)
		return 0;
	return x->kind != y->kind ? numbers(x->kind, y->kind)
				  : contents(g, x, y);
}
