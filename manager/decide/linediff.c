#include "manager/decide/linediff.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/cleanup.h"

/* Changed lines; with more, all between the first and the last is one hunk. */
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

static bool is_same(const void *ctx, uint32_t before, uint32_t after)
{
	const struct linediff *d = ctx;
	const struct linediff_line *a = &d->before.rows.at[before];
	const struct linediff_line *b = &d->after.rows.at[after];

	return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

void linediff_init(struct linediff *ret, const char *before, size_t before_len,
		   const char *after, size_t after_len)
{
	struct myers_input in = { .is_same = is_same,
				  .ctx = ret,
				  .edits_max = LINEDIFF_MOST };

	*ret = (struct linediff){ 0 };
	linediff_lines(&ret->before, before, before_len);
	linediff_lines(&ret->after, after, after_len);
	in.before_count = ret->before.rows.count;
	in.after_count = ret->after.rows.count;
	myers_diff(&in, &ret->hunks);
}

void linediff_release(struct linediff *d)
{
	linediff_lines_release(&d->before);
	linediff_lines_release(&d->after);
	myers_release(&d->hunks);
}

/* Where line `at` of the old text is in the new; `end`: of a range. */
static uint32_t carry(const struct linediff *d, uint32_t at, bool end)
{
	int64_t shift = 0;

	for (uint32_t i = 0; i < d->hunks.count; i++) {
		const struct myers_hunk *h = &d->hunks.at[i];

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

static bool touches(const struct myers_hunk *h, uint32_t first, uint32_t last)
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

static bool contains(const struct range *r, const struct myers_hunk *h)
{
	return h->before >= r->first &&
	       h->before + h->before_count <= r->last &&
	       touches(h, r->first, r->last);
}

/* The range that the hunk lies in; NULL: none. */
static const struct range *range_of(const struct myers_hunk *h,
				    const struct range *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (contains(&ranges[i], h))
			return &ranges[i];
	return NULL;
}

bool linediff_inside(const struct linediff *d, const struct range *ranges,
		     uint32_t count)
{
	for (uint32_t i = 0; i < d->hunks.count; i++) {
		const struct myers_hunk *h = &d->hunks.at[i];

		for (uint32_t k = 0; k < count; k++)
			if (touches(h, ranges[k].first, ranges[k].last) &&
			    !range_of(h, ranges, count))
				return false;
	}
	return true;
}

/* Consecutive hunks of one range that are printed as one, with context. */
struct linediff_group {
	const struct myers_hunk *at;
	uint32_t count;
	uint32_t first, last; /* lines of the old text, with the context */
};

static int add_group(const struct linediff *d, const struct linediff_group *g,
		     struct buf *out)
{
	const struct myers_hunk *last = &g->at[g->count - 1];
	uint32_t old = g->last - g->first, at = g->first;
	uint32_t from = g->at->after - (g->at->before - at);
	uint32_t trail = g->last - last->before - last->before_count;
	uint32_t new = last->after + last->after_count + trail - from;
	char head[80];
	int len = snprintf(head, sizeof(head), "@@ -%u,%u +%u,%u @@\n",
			   old ? at + 1 : at, old, new ? from + 1 : from, new);

	assert(g->count > 0 && g->last <= d->before.rows.count);
	if (buf_add(out, head, (size_t)len) < 0)
		return -EMSGSIZE;
	for (uint32_t i = 0; i < g->count; i++) {
		const struct myers_hunk *h = &g->at[i];

		if (add_lines(out, ' ', &d->before, at, h->before - at) < 0 ||
		    add_lines(out, '-', &d->before, h->before,
			      h->before_count) < 0 ||
		    add_lines(out, '+', &d->after, h->after, h->after_count) <
			    0)
			return -EMSGSIZE;
		at = h->before + h->before_count;
	}
	return add_lines(out, ' ', &d->before, at, trail);
}

/* The group that begins with hunk `i`, which lies in `r`. */
static struct linediff_group group_of(const struct linediff *d, uint32_t i,
				      const struct range *r, uint32_t context)
{
	struct linediff_group g = { .at = &d->hunks.at[i], .count = 1 };
	const struct myers_hunk *h = g.at;
	uint32_t most =
		r->last < d->before.rows.count ? r->last : d->before.rows.count;
	uint32_t end = h->before + h->before_count;

	while (i + g.count < d->hunks.count && contains(r, h + 1) &&
	       h[1].before - end <= 2 * context) {
		h++;
		g.count++;
		end = h->before + h->before_count;
	}
	g.first = g.at->before - r->first < context ? r->first
						    : g.at->before - context;
	g.last = most - end < context ? most : end + context;
	assert(g.first <= g.at->before && g.last >= end);
	return g;
}

int linediff_unified(const struct linediff *d, const struct range *ranges,
		     uint32_t count, uint32_t context, struct buf *out)
{
	size_t len = out->len;

	for (uint32_t i = 0; i < d->hunks.count;) {
		const struct range *r =
			range_of(&d->hunks.at[i], ranges, count);
		struct linediff_group g;

		if (!r) {
			i++;
			continue;
		}
		g = group_of(d, i, r, context);
		if (add_group(d, &g, out) < 0) {
			out->len = len;
			return -EMSGSIZE;
		}
		i += g.count;
	}
	return 0;
}
