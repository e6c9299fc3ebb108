/*
 * Myers' greedy algorithm for the shortest edit, after the common prefix and
 * suffix are removed. Time and memory grow with the square of the number of
 * differing lines; beyond LINEDIFF_MOST of them the whole middle becomes one
 * hunk, which is correct, only longer.
 */
#include "manager/decide/linediff.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/cleanup.h"

#define LINEDIFF_MOST 400

void linediff_lines(struct linediff_lines *ret, const char *text, size_t len)
{
	const char *end = text + len;

	*ret = (struct linediff_lines){ { 0 } };
	while (text && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		struct linediff_line l = { text, 0 };

		l.len = (uint32_t)((stop ? stop : end) - text);
		array_push(&ret->rows, l);
		text = stop ? stop + 1 : end;
	}
}

void linediff_lines_release(struct linediff_lines *l)
{
	array_release(&l->rows);
}

const char *linediff_slice(const struct linediff_lines *l, uint32_t first,
			   uint32_t count, size_t *ret_len)
{
	const struct linediff_line *last;

	*ret_len = 0;
	if (first >= l->rows.count || count == 0)
		return "";
	if (count > l->rows.count - first)
		count = l->rows.count - first;
	last = &l->rows.at[first + count - 1];
	*ret_len = (size_t)(last->at + last->len - l->rows.at[first].at);
	return l->rows.at[first].at;
}

static bool same(const struct linediff_line *a, const struct linediff_line *b)
{
	return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

/* The two middle parts, and the trace of the search. */
struct linediff_search {
	const struct linediff_line *a, *b;
	int n, m;
	ARRAY(int) trace; /* of each step, its 2d+1 furthest points */
};

/* The furthest point on diagonal k after d steps. */
static int *reach(struct linediff_search *s, int d, int k)
{
	assert(-d <= k && k <= d);
	/* Steps 0..d-1 took 1 + 3 + ... = d * d places. */
	return &s->trace.at[d * d + (k + d)];
}

static int furthest(struct linediff_search *s, int d, int k)
{
	int x;

	if (d == 0)
		x = 0;
	else if (k == -d ||
		 (k != d && *reach(s, d - 1, k - 1) < *reach(s, d - 1, k + 1)))
		x = *reach(s, d - 1, k + 1);
	else
		x = *reach(s, d - 1, k - 1) + 1;
	while (x < s->n && x - k < s->m && same(&s->a[x], &s->b[x - k]))
		x++;
	return x;
}

/*
 * The number of differing lines, or -1: more than LINEDIFF_MOST. Step d has
 * points at k = d mod 2 only, so every other element stays unused: simpler than
 * packing them.
 */
static int search_forward(struct linediff_search *s)
{
	for (int d = 0; d <= LINEDIFF_MOST; d++) {
		array_reserve(&s->trace, 2 * (uint32_t)d + 1);
		s->trace.count += 2 * (uint32_t)d + 1;
		for (int k = -d; k <= d; k += 2) {
			int x = furthest(s, d, k);

			*reach(s, d, k) = x;
			if (x >= s->n && x - k >= s->m)
				return d;
		}
	}
	return -1;
}

/* Append hunks of one line each, the last one first. */
static void search_back(struct linediff_search *s, int d, uint32_t skip,
			struct linediff *ret)
{
	int x = s->n, y = s->m;

	for (; d > 0; d--) {
		int k = x - y, from;
		struct hunk h = { 0 };

		if (k == -d || (k != d && *reach(s, d - 1, k - 1) <
						  *reach(s, d - 1, k + 1)))
			from = k + 1;
		else
			from = k - 1;
		x = *reach(s, d - 1, from);
		y = x - from;
		h.before = skip + (uint32_t)x;
		h.after = skip + (uint32_t)y;
		h.before_count = from == k - 1;
		h.after_count = from == k + 1;
		array_push(&ret->hunks, h);
	}
}

/* Reverse the order and join adjacent hunks. */
static void tidy(struct linediff *d)
{
	uint32_t n = d->hunks.count, kept = 0;
	struct hunk *at = d->hunks.at;

	for (uint32_t i = 0; i < n / 2; i++) {
		struct hunk h = at[i];

		at[i] = at[n - 1 - i];
		at[n - 1 - i] = h;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct hunk *last = kept ? &at[kept - 1] : NULL;

		if (last && last->before + last->before_count == at[i].before &&
		    last->after + last->after_count == at[i].after) {
			last->before_count += at[i].before_count;
			last->after_count += at[i].after_count;
		} else {
			assert(!last || last->before + last->before_count <
						at[i].before);
			at[kept++] = at[i];
		}
	}
	d->hunks.count = kept;
}

void linediff_init(struct linediff *ret, const char *before, size_t before_len,
		   const char *after, size_t after_len)
{
	struct linediff_search s = { 0 };
	uint32_t skip = 0, n, m;
	int d;

	*ret = (struct linediff){ 0 };
	linediff_lines(&ret->before, before, before_len);
	linediff_lines(&ret->after, after, after_len);
	n = ret->before.rows.count;
	m = ret->after.rows.count;
	while (skip < n && skip < m &&
	       same(&ret->before.rows.at[skip], &ret->after.rows.at[skip]))
		skip++;
	while (n > skip && m > skip &&
	       same(&ret->before.rows.at[n - 1], &ret->after.rows.at[m - 1])) {
		n--;
		m--;
	}
	if (n == skip && m == skip)
		return;
	s.a = ret->before.rows.at + skip;
	s.b = ret->after.rows.at + skip;
	s.n = (int)(n - skip);
	s.m = (int)(m - skip);
	d = s.n && s.m ? search_forward(&s) : -1;
	if (d >= 0) {
		search_back(&s, d, skip, ret);
		tidy(ret);
	} else {
		struct hunk all = { skip, n - skip, skip, m - skip };

		array_push(&ret->hunks, all);
	}
	array_release(&s.trace);
}

void linediff_release(struct linediff *d)
{
	linediff_lines_release(&d->before);
	linediff_lines_release(&d->after);
	array_release(&d->hunks);
}

/* Where line `at` of the old text is in the new; `end`: of a range. */
static uint32_t carry(const struct linediff *d, uint32_t at, bool end)
{
	int64_t shift = 0;

	for (uint32_t i = 0; i < d->hunks.count; i++) {
		const struct hunk *h = &d->hunks.at[i];

		/* Lines inserted just before a range do not belong to it. */
		if (end ? at <= h->before : at < h->before)
			break;
		if (at < h->before + h->before_count)
			return end ? h->after + h->after_count : h->after;
		shift = (int64_t)(h->after + h->after_count) -
			(h->before + h->before_count);
	}
	return (uint32_t)(at + shift);
}

bool linediff_carry(const struct linediff *d, uint32_t *first, uint32_t *last)
{
	uint32_t a = carry(d, *first, false), b = carry(d, *last, true);

	*first = a;
	*last = b > a ? b : a;
	return b > a;
}

static bool touches(const struct hunk *h, uint32_t first, uint32_t last)
{
	/* Lines inserted inside the range touch it, and so do lines inserted
	 * before the first line of the file. */
	if (h->before_count == 0)
		return (h->before > first || first == 0) && h->before < last;
	return h->before < last && h->before + h->before_count > first;
}

bool linediff_touches(const struct linediff *d, uint32_t first, uint32_t last)
{
	for (uint32_t i = 0; i < d->hunks.count; i++)
		if (touches(&d->hunks.at[i], first, last))
			return true;
	return false;
}

static int add_lines(struct buf *out, char sign, const struct linediff_lines *l,
		     uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count && i < l->rows.count; i++) {
		const struct linediff_line *row = &l->rows.at[i];

		if (buf_add(out, &sign, 1) < 0 ||
		    buf_add(out, row->at, row->len) < 0 ||
		    buf_add(out, "\n", 1) < 0)
			return -EMSGSIZE;
	}
	return 0;
}

/* Print `n` hunks from `h` on, which are close together, as one. */
static int add_group(const struct linediff *d, const struct hunk *h, uint32_t n,
		     uint32_t context, struct buf *out)
{
	const struct hunk *last = &h[n - 1];
	uint32_t lead = h->before < context ? h->before : context;
	uint32_t end = last->before + last->before_count;
	uint32_t room = d->before.rows.count - end;
	uint32_t trail = room < context ? room : context;
	uint32_t at = h->before - lead;
	uint32_t old = end + trail - at;
	uint32_t new =
		last->after + last->after_count + trail - (h->after - lead);
	char head[80];
	int len = snprintf(head, sizeof(head), "@@ -%u,%u +%u,%u @@\n",
			   old ? at + 1 : at, old,
			   new ? h->after - lead + 1 : h->after - lead, new);

	if (buf_add(out, head, (size_t)len) < 0)
		return -EMSGSIZE;
	for (uint32_t i = 0; i < n; i++) {
		if (add_lines(out, ' ', &d->before, at, h[i].before - at) < 0 ||
		    add_lines(out, '-', &d->before, h[i].before,
			      h[i].before_count) < 0 ||
		    add_lines(out, '+', &d->after, h[i].after,
			      h[i].after_count) < 0)
			return -EMSGSIZE;
		at = h[i].before + h[i].before_count;
	}
	return add_lines(out, ' ', &d->before, at, trail);
}

int linediff_unified(const struct linediff *d, uint32_t first, uint32_t last,
		     uint32_t context, struct buf *out)
{
	const struct hunk *h = d->hunks.at;
	uint32_t count = d->hunks.count, i = 0;
	size_t len = out->len;

	while (i < count) {
		uint32_t n = 1;

		if (!touches(&h[i], first, last)) {
			i++;
			continue;
		}
		while (i + n < count && touches(&h[i + n], first, last) &&
		       h[i + n].before - h[i + n - 1].before -
				       h[i + n - 1].before_count <=
			       2 * context)
			n++;
		if (add_group(d, &h[i], n, context, out) < 0) {
			out->len = len;
			return -EMSGSIZE;
		}
		i += n;
	}
	return 0;
}
