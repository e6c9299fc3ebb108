/*
 * Both differences are walked together from the first line of `base`. Hunks
 * that overlap or touch form a group; between two groups all three texts have
 * the same lines, so a position in `base` gives one in each of the others.
 */
#include "tools/verb/undo/merge.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "tape/ranges.h"

/* A text that is read line by line. */
struct merge_reader {
	const char *at, *end;
	uint32_t line; /* how many were read */
};

/* One way in which the base was changed. */
struct merge_side {
	struct ranges changes;
	size_t next; /* index of the first range not merged yet */
	struct merge_reader text;
};

struct merging {
	struct merge_reader base;
	struct merge_side mine, theirs;
	enum merge_favour favour;
	bool failed; /* a conflict that nothing decides */
	ARRAY(char) out;
	ARRAY(struct merge_conflict) conflicts;
};

static struct merge_reader reader(struct merge_text t)
{
	return (struct merge_reader){ .at = t.at, .end = t.at + t.len };
}

/* The text up to line `to`, which is not less than the reader's. */
static struct merge_text read_to(struct merge_reader *r, uint32_t to)
{
	struct merge_text t = { .at = r->at };

	assert(to >= r->line);
	for (; r->line < to; r->line++) {
		const char *feed =
			memchr(r->at, '\n', (size_t)(r->end - r->at));

		assert(r->at < r->end);
		r->at = feed ? feed + 1 : r->end;
	}
	t.len = (size_t)(r->at - t.at);
	return t;
}

static void put(struct merging *m, struct merge_text t)
{
	array_append(&m->out, t.at, t.len);
}

/* A range counts as a diff does; these count lines from 0. */
static uint32_t begins(const struct entry_range *r)
{
	return r->before_count ? r->before - 1 : r->before;
}

static uint32_t ends(const struct entry_range *r)
{
	return begins(r) + r->before_count;
}

static const struct entry_range *next_of(const struct merge_side *s)
{
	return s->next < s->changes.count ? &s->changes.ranges[s->next] : NULL;
}

/* Lines of the base, and by how much the lines of a side are more. */
struct merge_group {
	uint32_t start, end;
	int64_t more[2]; /* of mine, of theirs */
	bool changed[2];
};

/* Add the side's next change if it touches the group. */
static bool add_change(struct merge_group *g, struct merge_side *s, int which)
{
	const struct entry_range *r = next_of(s);

	if (!r || begins(r) > g->end)
		return false;
	assert(begins(r) >= g->start);
	if (ends(r) > g->end)
		g->end = ends(r);
	g->more[which] += (int64_t)r->after_count - r->before_count;
	g->changed[which] = true;
	s->next++;
	return true;
}

/* False: nothing is left. */
static bool next_group(struct merging *m, struct merge_group *ret)
{
	const struct entry_range *x = next_of(&m->mine);
	const struct entry_range *y = next_of(&m->theirs);
	struct merge_group g = { .start = UINT32_MAX };

	if (x)
		g.start = begins(x);
	if (y && begins(y) < g.start)
		g.start = begins(y);
	if (!x && !y)
		return false;
	g.end = g.start;
	while (add_change(&g, &m->mine, 0) || add_change(&g, &m->theirs, 1))
		continue;
	*ret = g;
	return true;
}

static struct merge_text read_side(struct merge_side *s,
				   const struct merge_group *g, int which)
{
	int64_t lines = (int64_t)g->end - g->start + g->more[which];

	assert(lines >= 0);
	return read_to(&s->text, s->text.line + (uint32_t)lines);
}

static bool same(struct merge_text a, struct merge_text b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static void put_conflict(struct merging *m, struct merge_conflict where,
			 struct merge_text mine, struct merge_text theirs)
{
	array_push(&m->conflicts, where);
	if (m->favour == MERGE_NONE)
		m->failed = true;
	else
		put(m, m->favour == MERGE_MINE ? mine : theirs);
}

static void put_group(struct merging *m, const struct merge_group *g)
{
	uint32_t line = m->mine.text.line;
	struct merge_text mine = read_side(&m->mine, g, 0);
	struct merge_text theirs = read_side(&m->theirs, g, 1);
	struct merge_conflict where = { .count = m->mine.text.line - line };

	where.line = line + (where.count > 0);
	if (!g->changed[0])
		put(m, theirs);
	else if (!g->changed[1] || same(mine, theirs))
		put(m, mine);
	else
		put_conflict(m, where, mine, theirs);
	(void)read_to(&m->base, g->end);
}

/* The lines in front of line `to` of the base, which nobody changed. */
static void put_common(struct merging *m, uint32_t to)
{
	uint32_t lines = to - m->base.line;
	struct merge_text t = read_to(&m->base, to);

	(void)read_to(&m->mine.text, m->mine.text.line + lines);
	(void)read_to(&m->theirs.text, m->theirs.text.line + lines);
	put(m, t);
}

void merge_init(struct merge *ret, struct merge_text base,
		struct merge_text mine, struct merge_text theirs,
		enum merge_favour favour)
{
	struct merging m = { .base = reader(base),
			     .mine.text = reader(mine),
			     .theirs.text = reader(theirs),
			     .favour = favour };
	struct merge_group g;

	ranges_init(&m.mine.changes, base.at, base.len, mine.at, mine.len);
	ranges_init(&m.theirs.changes, base.at, base.len, theirs.at,
		    theirs.len);
	while (next_group(&m, &g)) {
		put_common(&m, g.start);
		put_group(&m, &g);
	}
	put_common(&m, ranges_lines(base.at, base.len));
	assert(m.mine.text.at == m.mine.text.end);
	assert(m.theirs.text.at == m.theirs.text.end);
	ranges_release(&m.mine.changes);
	ranges_release(&m.theirs.changes);
	*ret = (struct merge){ .len = m.out.count,
			       .conflicts = m.conflicts.at,
			       .conflicts_count = m.conflicts.count };
	array_push(&m.out, '\0');
	if (m.failed) {
		array_release(&m.out);
		ret->len = 0;
	}
	ret->text = m.out.at;
}

void merge_release(struct merge *m)
{
	free(m->text);
	free(m->conflicts);
	*m = (struct merge){ .text = NULL };
}
