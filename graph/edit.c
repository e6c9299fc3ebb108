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

#include "graph/base/alloc.h"
#include "graph/facts/lang.h"
#include "graph/graph_i.h"

/* A stretch of a unit's own text, or all of a unit inside of it. */
struct stretch {
	uint32_t from, to;
	uint64_t hash;
	uint32_t inner; /* index in file->units; NONE: it is our own text */
	bool head;
};

struct stretches {
	struct stretch *at;
	uint32_t count, size;
	uint32_t length; /* of the file's text as it was */
};

static void stretch(struct stretches *s, uint32_t from, uint32_t to,
		    uint64_t hash, uint32_t inner)
{
	s->at = must_grow(s->at, &s->size, s->count + 1, sizeof(*s->at));
	s->at[s->count++] = (struct stretch){ from, to, hash, inner, false };
}

static void stretches_of(const struct graph *g, const struct file *f,
			 uint32_t k, struct stretches *s)
{
	const struct unit *u = &g->units[f->units[k]], *in;
	uint32_t at = u->start + u->u->body, n;

	s->count = 0;
	if (k) {
		stretch(s, u->start, at, u->u->head, NONE);
		s->at[0].head = true;
	} else {
		at = 0;
	}
	for (n = k + 1; n <= k + u->u->units; n += in->u->units + 1) {
		in = &g->units[f->units[n]];
		stretch(s, at, in->start, in->gap, NONE);
		stretch(s, in->start, in->end, in->whole, n);
		at = in->end;
	}
	stretch(s, at, u->end, u->u->tail, NONE);
}

static bool stretch_same(const struct stretch *s, const char *text, size_t len,
			 int64_t by)
{
	int64_t from = s->from + by, to = s->to + by;

	return from >= 0 && to >= from && (uint64_t)to <= len &&
	       XXH3_64bits(text + from, (size_t)(to - from)) == s->hash;
}

enum found { FOUND_NOTHING, FOUND_UNIT, FOUND_MUCH };

/*
 * Is there a stretch outside of which all is as it was? What was put in between
 * two of them may belong to either: to the first if `before`, else to the last
 * of those that it may belong to.
 */
static enum found find_stretch(const struct stretches *s, const char *text,
			       size_t len, bool before, uint32_t *ret)
{
	int64_t by = (int64_t)len - s->length;
	uint32_t first = 0, last = s->count;

	while (first < s->count && stretch_same(&s->at[first], text, len, 0))
		first++;
	if (first == s->count && by == 0)
		return FOUND_NOTHING;
	while (last && stretch_same(&s->at[last - 1], text, len, by))
		last--;
	if (last > first + 1)
		return FOUND_MUCH;
	if (before)
		*ret = last ? last - 1 : 0;
	else
		*ret = first < s->count ? first : s->count - 1;
	return FOUND_UNIT;
}

/*
 * Which unit must be read anew? Looked for from the module inwards: a class
 * that is as it was is one comparison, whatever it holds.
 */
static enum found find_edit(const struct graph *g, const struct file *f,
			    const char *text, size_t len, bool before,
			    uint32_t *ret)
{
	struct stretches s = { .length = f->length };
	uint32_t k = 0, which = 0;
	enum found found;

	for (;;) {
		stretches_of(g, f, k, &s);
		found = find_stretch(&s, text, len, before, &which);
		if (found != FOUND_UNIT || s.at[which].inner == NONE)
			break;
		k = s.at[which].inner;
	}
	/* Inside of what differs something does, or hashes deceive us. */
	if (found == FOUND_NOTHING && k)
		found = FOUND_MUCH;
	if (found == FOUND_UNIT && (!k || s.at[which].head))
		found = FOUND_MUCH;
	free(s.at);
	*ret = k;
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

/* All that lies behind the unit moves. */
static void move_rest(struct graph *g, const struct file *f, uint32_t k,
		      int64_t by, int32_t lines)
{
	const struct unit *edited = &g->units[f->units[k]];
	uint32_t end = edited->end;

	for (uint32_t m = k + edited->u->units + 1; m < f->units_count; m++) {
		struct unit *u = &g->units[f->units[m]];

		if (u->start < end)
			continue;
		u->start = (uint32_t)(u->start + by);
		u->end = (uint32_t)(u->end + by);
		u->line = (uint32_t)(u->line + (uint32_t)lines);
	}
}

/* What holds the unit grows, and reads otherwise. */
static void grow_around(struct graph *g, unit_t n, const char *text, int64_t by,
			int32_t lines)
{
	uint32_t after = g->units[n].line;

	while (g->units[n].parent != n) {
		struct unit *u;

		n = g->units[n].parent;
		u = &g->units[n];
		u->end = (uint32_t)(u->end + by);
		u->lines = (uint32_t)(u->lines + (uint32_t)lines);
		if (u->parent != n)
			u->whole =
				XXH3_64bits(text + u->start, u->end - u->start);
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

static bool edit_unit(struct graph *g, struct lang_readers *r, uint32_t file,
		      uint32_t k, const char *text, size_t len)
{
	struct file *f = &g->files[file];
	struct unit was = g->units[f->units[k]];
	int64_t by = (int64_t)len - f->length;
	int64_t long_now = (int64_t)(was.end - was.start) + by;
	const struct facts_unit *u;
	struct facts *p;
	int32_t lines;

	/* Text that repeats itself may seem to lose more than is there. */
	if (long_now < (int64_t)was.u->body || !may_shift(g, f, k))
		return false;
	p = lang_read_unit(r, atom_text(g, f->path), text + was.start,
			   (size_t)long_now, indent_of(text, was.start),
			   was.u->flags & UNIT_METHOD);
	if (!p)
		return false;
	u = facts_units(p);
	if (!same_units(g, f, k, p) || u->kind != was.u->kind ||
	    u->head != was.u->head || p->broken) {
		free(p);
		return false;
	}
	lines = (int32_t)u->lines - (int32_t)was.lines;
	move_rest(g, f, k, by, lines);
	grow_around(g, f->units[k], text, by, lines);
	splice(g, file, k, p);
	g->files[file].length = (uint32_t)len;
	return true;
}

/* FOUND_UNIT: it is done. */
static enum found edit_part(struct graph *g, struct lang_readers *r,
			    uint32_t file, const char *text, size_t len)
{
	const struct file *f = &g->files[file];
	uint32_t k = 0, tried;
	enum found found;

	if (!f->there || f->sheet->facts->broken || f->sheet->facts->joined ||
	    f->sheet->facts->lang != lang_of(atom_text(g, f->path))->id)
		return FOUND_MUCH;
	found = find_edit(g, f, text, len, true, &k);
	if (found == FOUND_NOTHING ||
	    (found == FOUND_UNIT && edit_unit(g, r, file, k, text, len)))
		return found;
	tried = found == FOUND_UNIT ? k : NONE;
	found = find_edit(g, f, text, len, false, &k);
	if (found == FOUND_UNIT && k != tried &&
	    edit_unit(g, r, file, k, text, len))
		return found;
	return FOUND_MUCH;
}

int graph_edit(struct graph *g, struct lang_readers *r, const char *path,
	       const char *text, size_t len, bool *ret_partial)
{
	uint32_t file = file_find(g, path);
	enum found found = FOUND_MUCH;
	struct facts *f;

	if (!lang_of(path))
		return -EMEDIUMTYPE;
	/* Edits make it grow, one definition at a time. */
	if (file != NONE && !lang_is_vast(r, path, text, len))
		found = edit_part(g, r, file, text, len);
	if (ret_partial)
		*ret_partial = found == FOUND_UNIT;
	if (found != FOUND_MUCH)
		return 0;
	f = lang_read(r, path, text, len);
	if (!f)
		return -ENOMEM;
	return graph_put(g, path, f);
}
