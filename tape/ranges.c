/* Lines are compared by their hashes, and by their bytes if these agree. */
#include "tape/ranges.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/myers.h"

#define EDITS_MAX 600

struct ranges_line {
	const char *at;
	size_t len;
	uint64_t hash;
};

struct ranges_text {
	ARRAY(struct ranges_line) lines;
};

struct ranges_texts {
	struct ranges_text before, after;
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

static void text_cut(struct ranges_text *t, const char *text, size_t len)
{
	const char *end = text + len, *at = text, *feed;

	while (at < end) {
		struct ranges_line *l = array_add(&t->lines);

		feed = memchr(at, '\n', (size_t)(end - at));
		l->at = at;
		l->len = (size_t)((feed ? feed + 1 : end) - at);
		l->hash = XXH3_64bits(l->at, l->len);
		at += l->len;
	}
}

static bool is_same(const void *ctx, uint32_t before, uint32_t after)
{
	const struct ranges_texts *t = ctx;
	const struct ranges_line *x = &t->before.lines.at[before];
	const struct ranges_line *y = &t->after.lines.at[after];

	return x->hash == y->hash && x->len == y->len &&
	       memcmp(x->at, y->at, x->len) == 0;
}

/* As a diff counts: from 1, and an empty side is the line before it. */
static struct entry_range range_of(const struct myers_hunk *h)
{
	return (struct entry_range){
		.before = h->before + (h->before_count ? 1 : 0),
		.before_count = h->before_count,
		.after = h->after + (h->after_count ? 1 : 0),
		.after_count = h->after_count,
	};
}

static void fill(struct ranges *ret, const struct myers *m)
{
	ret->ranges = must_calloc(m->count, sizeof(*ret->ranges));
	for (uint32_t i = 0; i < m->count; i++) {
		struct entry_range r = range_of(&m->at[i]);

		assert(!i ||
		       m->at[i].before >=
			       m->at[i - 1].before + m->at[i - 1].before_count);

		ret->ranges[ret->count++] = r;
		ret->plus += r.after_count;
		ret->minus += r.before_count;
	}
}

void ranges_init(struct ranges *ret, const char *before, size_t before_len,
		 const char *after, size_t after_len)
{
	struct ranges_texts t = { 0 };
	struct myers m = { 0 };
	struct myers_input in = { .is_same = is_same,
				  .ctx = &t,
				  .edits_max = EDITS_MAX };

	*ret = (struct ranges){ 0 };
	text_cut(&t.before, before, before_len);
	text_cut(&t.after, after, after_len);
	in.before_count = t.before.lines.count;
	in.after_count = t.after.lines.count;
	myers_diff(&in, &m);
	if (m.count)
		fill(ret, &m);
	myers_release(&m);
	array_release(&t.before.lines);
	array_release(&t.after.lines);
}

void ranges_release(struct ranges *l)
{
	free(l->ranges);
	*l = (struct ranges){ 0 };
}
