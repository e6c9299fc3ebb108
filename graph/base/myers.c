/*
 * Both sequences are the sides of a grid: a step to the right removes an
 * element, a step down adds one, a step along a diagonal keeps one that both
 * have. Round d finds, for each diagonal k = x - y, the furthest x that d
 * steps to the right or down can reach. The first round to reach the lower
 * right corner has found the shortest way, and the frontiers of the rounds
 * before lead back along it.
 *
 * Round d visits the diagonals -d, -d + 2 ... d, so it takes d + 1 places in
 * the trace, and the rounds before it took d * (d + 1) / 2.
 */
#include "graph/base/myers.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"

struct myers_search {
	const struct myers_input *in;
	uint32_t skip; /* elements of the common start */
	int32_t n, m;  /* elements between common start and end */
	ARRAY(int32_t) trace;
};

/* How far diagonal k had come after round d. */
static int32_t *reach(const struct myers_search *s, int32_t d, int32_t k)
{
	assert(-d <= k && k <= d);
	return &s->trace.at[d * (d + 1) / 2 + (k + d) / 2];
}

/* Does the way to diagonal k in round d end with a step down? */
static bool comes_down(const struct myers_search *s, int32_t d, int32_t k)
{
	return k == -d ||
	       (k != d && *reach(s, d - 1, k - 1) < *reach(s, d - 1, k + 1));
}

static int32_t furthest(const struct myers_search *s, int32_t d, int32_t k)
{
	const struct myers_input *in = s->in;
	int32_t x = 0;

	if (d > 0)
		x = comes_down(s, d, k) ? *reach(s, d - 1, k + 1)
					: *reach(s, d - 1, k - 1) + 1;
	while (x < s->n && x - k < s->m &&
	       in->is_same(in->ctx, s->skip + (uint32_t)x,
			   s->skip + (uint32_t)(x - k)))
		x++;
	return x;
}

/* How many elements differ; -1: more than edits_max. */
static int32_t search_forward(struct myers_search *s)
{
	for (int32_t d = 0; d <= (int32_t)s->in->edits_max; d++) {
		array_reserve(&s->trace, (uint32_t)d + 1);
		s->trace.count += (uint32_t)d + 1;
		for (int32_t k = -d; k <= d; k += 2) {
			int32_t x = furthest(s, d, k);

			*reach(s, d, k) = x;
			if (x >= s->n && x - k >= s->m)
				return d;
		}
	}
	return -1;
}

/* One element removed or added, found from the end: joins the hunk it
   touches. */
static void put_edit(const struct myers_search *s, int32_t x, int32_t y,
		     bool added, struct myers *ret)
{
	struct myers_hunk *h = ret->count ? array_last(ret) : NULL;
	uint32_t before = s->skip + (uint32_t)x, after = s->skip + (uint32_t)y;

	assert(x >= 0 && y >= 0 && x <= s->n && y <= s->m);
	if (!h || h->before != before + !added || h->after != after + added)
		h = array_add(ret);
	h->before = before;
	h->after = after;
	h->before_count += !added;
	h->after_count += added;
}

static void search_back(const struct myers_search *s, int32_t d,
			struct myers *ret)
{
	int32_t x = s->n, y = s->m;

	for (; d > 0; d--) {
		bool down = comes_down(s, d, x - y);
		int32_t from = x - y + (down ? 1 : -1);

		x = *reach(s, d - 1, from);
		y = x - from;
		put_edit(s, x, y, down, ret);
	}
}

static void reverse(struct myers *m)
{
	for (uint32_t i = 0; i < m->count / 2; i++) {
		struct myers_hunk h = m->at[i];

		m->at[i] = m->at[m->count - 1 - i];
		m->at[m->count - 1 - i] = h;
	}
}

/* False: too much differs, or there is nothing to search in. */
static bool search(const struct myers_input *in, uint32_t skip, uint32_t n,
		   uint32_t m, struct myers *ret)
{
	struct myers_search s = { .in = in, .skip = skip };
	int32_t d;

	if (!n || !m || n > INT32_MAX / 2 || m > INT32_MAX / 2)
		return false;
	s.n = (int32_t)n;
	s.m = (int32_t)m;
	d = search_forward(&s);
	if (d >= 0) {
		search_back(&s, d, ret);
		reverse(ret);
	}
	array_release(&s.trace);
	return d >= 0;
}

void myers_diff(const struct myers_input *in, struct myers *ret)
{
	uint32_t skip = 0, n = in->before_count, m = in->after_count;

	assert(ret->count == 0);
	assert(in->edits_max < 1 << 15);
	while (skip < n && skip < m && in->is_same(in->ctx, skip, skip))
		skip++;
	while (n > skip && m > skip && in->is_same(in->ctx, n - 1, m - 1)) {
		n--;
		m--;
	}
	if (n == skip && m == skip)
		return;
	if (!search(in, skip, n - skip, m - skip, ret))
		array_push(ret, ((struct myers_hunk){ skip, n - skip, skip,
						      m - skip }));
}

void myers_release(struct myers *m)
{
	array_release(m);
}
