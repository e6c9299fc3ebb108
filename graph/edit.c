/*
 * An edit, found and read anew where it is. The old text is not kept: every
 * unit knows the hashes of the pieces of its own text (facts.h), so walking
 * them from both ends over the new text leaves what was touched. When that is
 * one piece in the body of one definition, the definition is read by itself
 * and takes its former place; everything else about the file stays, but for
 * places further down, which move.
 */
#include <errno.h>
#include <string.h>

#include "graph/base/memory.h"
#include "graph/graph_i.h"

/* A stretch of a file's text that belongs to one unit. */
struct stretch {
	uint32_t from, to;
	uint64_t hash;
	uint32_t owner; /* index in file->units */
	bool head;
};

struct stretches {
	struct stretch *at;
	uint32_t count, size;
};

static void stretch(struct stretches *s, uint32_t from, uint32_t to,
		    uint64_t hash, uint32_t owner)
{
	s->at = must_grow(s->at, &s->size, s->count + 1, sizeof(*s->at));
	s->at[s->count++] = (struct stretch){ from, to, hash, owner, false };
}

/* The way through a file's units: those not closed yet, how far we are. */
struct way {
	uint32_t *open;
	uint32_t depth, at;
};

/* Closes the units that end before unit k: their tails. */
static void close_units(const struct graph *g, const struct file *f,
			struct stretches *s, struct way *w, uint32_t k)
{
	while (w->depth) {
		uint32_t o = w->open[w->depth - 1];
		const struct unit *u = &g->units[f->units[o]];

		if (k <= o + u->u->units)
			break;
		stretch(s, w->at, u->end, u->u->tail, o);
		w->at = u->end;
		w->depth--;
	}
}

static void stretches_of(const struct graph *g, const struct file *f,
			 struct stretches *s)
{
	struct way w = { .open = must_calloc(f->units_count, sizeof(*w.open)) };

	for (uint32_t k = 0; k < f->units_count; k++) {
		const struct unit *u = &g->units[f->units[k]];
		uint32_t body = u->start + u->u->body;

		close_units(g, f, s, &w, k);
		if (k) {
			stretch(s, w.at, u->start, u->gap, w.open[w.depth - 1]);
			stretch(s, u->start, body, u->u->head, k);
			s->at[s->count - 1].head = true;
			w.at = body;
		}
		w.open[w.depth++] = k;
	}
	close_units(g, f, s, &w, f->units_count);
	free(w.open);
}

static bool stretch_same(const struct stretch *s, const char *text, size_t len,
			 int64_t by)
{
	int64_t from = s->from + by, to = s->to + by;

	return from >= 0 && to >= from && (uint64_t)to <= len &&
	       XXH3_64bits(text + from, (size_t)(to - from)) == s->hash;
}

enum found { FOUND_NOTHING, FOUND_UNIT, FOUND_MUCH };

/* Which unit must be read anew? */
static enum found find_edit(const struct graph *g, const struct file *f,
			    const char *text, size_t len, uint32_t *ret)
{
	struct stretches s = { .count = 0 };
	int64_t by = (int64_t)len - f->length;
	uint32_t first = 0, last;
	enum found found = FOUND_MUCH;

	stretches_of(g, f, &s);
	last = s.count;
	while (first < s.count && stretch_same(&s.at[first], text, len, 0))
		first++;
	while (last > first && stretch_same(&s.at[last - 1], text, len, by))
		last--;
	if (first == last && by == 0) {
		found = FOUND_NOTHING;
	} else if (first < s.count && last <= first + 1 && !s.at[first].head &&
		   s.at[first].owner != 0) {
		*ret = s.at[first].owner;
		found = FOUND_UNIT;
	}
	free(s.at);
	return found;
}

/* `by` lines more or less after a place in the unit's text. */
static void unit_shift(struct graph *g, struct unit *u, uint32_t after,
		       int32_t by)
{
	size_t bytes = u->shifts_count * sizeof(*u->shifts);
	struct shift *shifts;

	if (!by)
		return;
	shifts = list_take(g, bytes + sizeof(*shifts));
	if (u->shifts_count)
		memcpy(shifts, u->shifts, bytes);
	list_give(g, u->shifts, bytes);
	u->shifts = shifts;
	u->shifts[u->shifts_count++] = (struct shift){ after, by };
}

static bool may_shift(const struct graph *g, const struct file *f, uint32_t k)
{
	unit_t n = f->units[k];

	while (g->units[n].parent != n) {
		n = g->units[n].parent;
		if (g->units[n].shifts_count >= SHIFTS_MAX)
			return false;
	}
	return true;
}

/* All that lies behind the unit moves; what holds it grows. */
static void move_rest(struct graph *g, struct file *f, uint32_t k, int64_t by,
		      int32_t lines)
{
	unit_t n = f->units[k];
	const struct unit *edited = &g->units[n];
	uint32_t after = edited->line, end = edited->end;

	for (uint32_t m = k + edited->u->units + 1; m < f->units_count; m++) {
		struct unit *u = &g->units[f->units[m]];

		if (u->start < end)
			continue;
		u->start = (uint32_t)(u->start + by);
		u->end = (uint32_t)(u->end + by);
		u->line = (uint32_t)(u->line + (uint32_t)lines);
	}
	while (g->units[n].parent != n) {
		struct unit *u;

		n = g->units[n].parent;
		u = &g->units[n];
		u->end = (uint32_t)(u->end + by);
		u->lines = (uint32_t)(u->lines + (uint32_t)lines);
		unit_shift(g, u, after - u->line, lines);
	}
}

/* Do they have the same names, and stand in each other alike? */
static bool same_units(const struct graph *g, const struct file *f, uint32_t k,
		       const struct facts *p)
{
	const struct facts_unit *now = facts_units(p);

	if (p->units_count != g->units[f->units[k]].u->units + 1)
		return false;
	for (uint32_t m = 0; m < p->units_count; m++) {
		const struct unit *u = &g->units[f->units[k + m]];

		if (now[m].units != u->u->units ||
		    strcmp(facts_string(p, now[m].name, NULL),
			   atom_text(g, atom_of(u, u->u->name))) != 0)
			return false;
	}
	return true;
}

/* Unit k and those in it are what these facts say. */
static void splice(struct graph *g, uint32_t file, uint32_t k, struct facts *p)
{
	struct piece *pieces = must_alloc(p->units_count * sizeof(*pieces));
	struct sheet *sheet = sheet_new(g, p);

	for (uint32_t m = 0; m < p->units_count; m++)
		pieces[m] = (struct piece){ sheet, facts_units(p) + m };
	file_splice(g, file, k, pieces, p->units_count);
	sheet_unref(g, sheet);
	free(pieces);
}

/* How far the definition is indented. */
static size_t indent_of(const char *text, uint32_t start)
{
	uint32_t at = start;

	while (at && text[at - 1] != '\n')
		at--;
	return start - at;
}

static bool edit_unit(struct graph *g, struct facts_reader *r, uint32_t file,
		      uint32_t k, const char *text, size_t len)
{
	struct file *f = &g->files[file];
	struct unit was = g->units[f->units[k]];
	int64_t by = (int64_t)len - f->length;
	int64_t long_now = (int64_t)(was.end - was.start) + by;
	const struct facts_unit *u;
	struct facts *p;

	/* Text that repeats itself may seem to lose more than is there. */
	if (long_now < (int64_t)was.u->body || !may_shift(g, f, k))
		return false;
	p = facts_read_unit(r, text + was.start, (size_t)long_now,
			    indent_of(text, was.start),
			    was.u->flags & UNIT_METHOD);
	if (!p)
		return false;
	u = facts_units(p);
	if (!same_units(g, f, k, p) || u->kind != was.u->kind ||
	    u->head != was.u->head || p->broken) {
		free(p);
		return false;
	}
	move_rest(g, f, k, by, (int32_t)u->lines - (int32_t)was.lines);
	splice(g, file, k, p);
	g->files[file].length = (uint32_t)len;
	return true;
}

int graph_edit(struct graph *g, struct facts_reader *r, const char *path,
	       const char *text, size_t len, bool *ret_partial)
{
	uint32_t file = file_find(g, path), k = 0;
	enum found found = FOUND_MUCH;
	struct facts *f;

	if (ret_partial)
		*ret_partial = false;
	if (file != NONE && g->files[file].there &&
	    !g->files[file].sheet->facts->broken &&
	    !g->files[file].sheet->facts->joined)
		found = find_edit(g, &g->files[file], text, len, &k);
	if (found == FOUND_NOTHING)
		return 0;
	if (found == FOUND_UNIT && edit_unit(g, r, file, k, text, len)) {
		if (ret_partial)
			*ret_partial = true;
		return 0;
	}
	f = facts_read(r, text, len);
	if (!f)
		return -ENOMEM;
	return graph_put(g, path, f);
}
