/*
 * What both texts begin and end with is taken off first, which leaves next to
 * nothing of a usual edit. Between the two, Myers' greedy search goes on for
 * at most EDITS_MAX changed lines, keeping the frontier of each round to find
 * the way back; beyond that the rest is one range. So the cost is bounded by
 * EDITS_MAX squared steps and as many numbers of memory, whatever comes.
 *
 * Lines are compared by their hashes first, and by their bytes if these agree.
 */
#include "tape/ranges.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"

#define EDITS_MAX 600

struct line {
	const char *at;
	size_t len;
	uint64_t hash;
};

struct text {
	ARRAY(struct line) lines;
};

/* One round's frontier: how far each diagonal -d..d has come. */
struct round {
	int32_t *reach;
};

struct search {
	const struct line *a, *b;
	int32_t n, m;
	ARRAY(struct round) rounds;
	ARRAY(struct entry_range) ranges; /* found from the end backwards */
};

uint32_t ranges_lines(const char *text, size_t len)
{
	uint32_t n = 0;
	const char *end = text + len, *at = text, *feed;

	while (at < end) {
		feed = memchr(at, '\n', (size_t)(end - at));
		n++;
		at = feed ? feed + 1 : end;
	}
	return n;
}

static void text_cut(struct text *t, const char *text, size_t len)
{
	const char *end = text + len, *at = text, *feed;

	while (at < end) {
		struct line *l = array_add(&t->lines);

		feed = memchr(at, '\n', (size_t)(end - at));
		l->at = at;
		l->len = (size_t)((feed ? feed + 1 : end) - at);
		l->hash = XXH3_64bits(l->at, l->len);
		at += l->len;
	}
}

static bool is_same(const struct line *x, const struct line *y)
{
	return x->hash == y->hash && x->len == y->len &&
	       memcmp(x->at, y->at, x->len) == 0;
}

/* How far the two agree from x in a and y in b on. */
static int32_t slide(const struct search *s, int32_t x, int32_t y)
{
	while (x < s->n && y < s->m && is_same(&s->a[x], &s->b[y])) {
		x++;
		y++;
	}
	return x;
}

/* Where diagonal k begins in round d, from the frontier of the round before:
   one line down from above, or one to the right. */
static int32_t step(const int32_t *before, int32_t d, int32_t k)
{
	if (d == 0)
		return 0;
	if (k == -d || (k != d && before[k - 1] < before[k + 1]))
		return before[k + 1];
	return before[k - 1] + 1;
}

static const int32_t *frontier(const struct search *s, int32_t d)
{
	return d < 0 ? NULL : s->rounds.at[d].reach + d + 1;
}

/* One more changed line. True: the end is reached. */
static bool search_round(struct search *s, int32_t d)
{
	struct round *r = array_add(&s->rounds);
	int32_t *reach;

	r->reach = must_calloc((size_t)d * 2 + 3, sizeof(int32_t));
	reach = r->reach + d + 1;
	for (int32_t k = -d; k <= d; k += 2) {
		int32_t x = step(frontier(s, d - 1), d, k);

		/* Beyond an end there is nothing to find. */
		if (x > s->n || x - k > s->m) {
			reach[k] = x;
			continue;
		}
		reach[k] = slide(s, x, x - k);
		if (reach[k] >= s->n && reach[k] - k >= s->m)
			return true;
	}
	return false;
}

/* One changed line, found from the end: it joins the range it touches. */
static void note(struct search *s, int32_t x, int32_t y, bool insertion)
{
	struct entry_range *r = s->ranges.count ? array_last(&s->ranges) : NULL;
	uint32_t removed = insertion ? 0 : 1, added = insertion ? 1 : 0;

	if (!r || r->before != (uint32_t)x + removed ||
	    r->after != (uint32_t)y + added)
		r = array_add(&s->ranges);
	r->before = (uint32_t)x;
	r->after = (uint32_t)y;
	r->before_count += removed;
	r->after_count += added;
}

static void walk_back(struct search *s)
{
	int32_t x = s->n, y = s->m;

	for (int32_t d = (int32_t)s->rounds.count - 1; d > 0; d--) {
		const int32_t *before = frontier(s, d - 1);
		int32_t k = x - y;
		bool down =
			k == -d || (k != d && before[k - 1] < before[k + 1]);
		int32_t from = down ? k + 1 : k - 1;

		x = before[from];
		y = x - from;
		note(s, x, y, down);
	}
}

/* False: too many lines differ. */
static bool search_all(struct search *s)
{
	for (int32_t d = 0; d <= EDITS_MAX; d++) {
		if (search_round(s, d)) {
			walk_back(s);
			return true;
		}
	}
	return false;
}

static void search_release(struct search *s)
{
	for (uint32_t i = 0; i < s->rounds.count; i++)
		free(s->rounds.at[i].reach);
	array_release(&s->rounds);
	array_release(&s->ranges);
}

static size_t common_start(const struct text *a, const struct text *b)
{
	size_t n = 0;

	while (n < a->lines.count && n < b->lines.count &&
	       is_same(&a->lines.at[n], &b->lines.at[n]))
		n++;
	return n;
}

static size_t common_end(const struct text *a, const struct text *b,
			 size_t start)
{
	size_t n = 0;

	while (n + start < a->lines.count && n + start < b->lines.count &&
	       is_same(&a->lines.at[a->lines.count - 1 - n],
		       &b->lines.at[b->lines.count - 1 - n]))
		n++;
	return n;
}

/* As diffs count: from 1, and an empty side is the line before it. */
static struct entry_range told(struct entry_range r, size_t start)
{
	r.before += (uint32_t)start + (r.before_count ? 1 : 0);
	r.after += (uint32_t)start + (r.after_count ? 1 : 0);
	return r;
}

static void fill(struct ranges *ret, const struct search *s, size_t start)
{
	ret->ranges = must_calloc(s->ranges.count, sizeof(*ret->ranges));
	for (uint32_t i = s->ranges.count; i-- > 0;) {
		struct entry_range r = told(s->ranges.at[i], start);

		ret->ranges[ret->count++] = r;
		ret->plus += r.after_count;
		ret->minus += r.before_count;
	}
}

static void compare(struct ranges *ret, const struct text *a,
		    const struct text *b)
{
	size_t start = common_start(a, b);
	size_t end = common_end(a, b, start);
	struct search s = {
		.a = start ? a->lines.at + start : a->lines.at,
		.b = start ? b->lines.at + start : b->lines.at,
		.n = (int32_t)(a->lines.count - start - end),
		.m = (int32_t)(b->lines.count - start - end),
	};

	if (s.n == 0 && s.m == 0)
		return;
	/* With one side empty there is nothing to search. */
	if (s.n == 0 || s.m == 0 || !search_all(&s)) {
		struct entry_range *r = array_add(&s.ranges);

		r->before_count = (uint32_t)s.n;
		r->after_count = (uint32_t)s.m;
	}
	fill(ret, &s, start);
	search_release(&s);
}

void ranges_init(struct ranges *ret, const char *before, size_t before_len,
		 const char *after, size_t after_len)
{
	struct text a = { 0 }, b = { 0 };

	*ret = (struct ranges){ 0 };
	text_cut(&a, before, before_len);
	text_cut(&b, after, after_len);
	compare(ret, &a, &b);
	array_release(&a.lines);
	array_release(&b.lines);
}

void ranges_release(struct ranges *l)
{
	free(l->ranges);
	*l = (struct ranges){ 0 };
}
