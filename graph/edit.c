/*
 * Find an edit and parse only the definition it lies in. The old text is not
 * kept: every unit has hashes of the stretches of its own text (facts.h).
 * Comparing them with the new text from both ends leaves the stretches that
 * the edit touched. If that is one stretch in the body of one definition, the
 * definition is parsed alone and replaces its earlier version; the rest of the
 * file's facts stay valid, apart from the positions of what lies behind it.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/facts/lang.h"
#include "graph/graph_i.h"

/* A stretch of a unit's own text, or the whole text of a unit inside it. */
struct stretch {
	uint32_t from, to;
	uint64_t hash;
	uint32_t inner; /* index in file->units; NONE: own text */
	bool head;	/* decorators and signature, up to the colon */
};

struct stretches {
	struct stretch *at;
	uint32_t count, size;
	uint32_t length; /* of the file's old text */
};

static void stretch(struct stretches *s, uint32_t from, uint32_t to,
		    uint64_t hash, uint32_t inner)
{
	s->at = must_grow(s->at, &s->size, s->count + 1, sizeof(*s->at));
	s->at[s->count++] = (struct stretch){ from, to, hash, inner, false };
}

static void stretches_of(const struct graph *g, const struct source_file *f,
			 uint32_t k, struct stretches *s)
{
	const struct unit *u = &g->units[f->units[k]], *in;
	uint32_t at = u->start + u->u->body, n;

	assert(k < f->units_count);
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

/* The text is the same; one unit's body differs; more differs. */
enum found { FOUND_NOTHING, FOUND_UNIT, FOUND_MUCH };

/*
 * The one stretch that holds the edit. Text inserted between two stretches may
 * belong to either: `before` takes the first that it may belong to, otherwise
 * the last.
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
 * The unit to parse. Searched from the module inwards: an unchanged class
 * costs one comparison, however much it holds.
 */
static enum found find_edit(const struct graph *g, const struct source_file *f,
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
	/* A unit that differs has a stretch that differs, unless hashes
	   collide. */
	if (found == FOUND_NOTHING && k)
		found = FOUND_MUCH;
	if (found == FOUND_UNIT && (!k || s.at[which].head))
		found = FOUND_MUCH;
	free(s.at);
	*ret = k;
	return found;
}

/* Move the units behind unit k. */
static void move_rest(struct graph *g, const struct source_file *f, uint32_t k,
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

/* Update the length and the hash of the units around unit n. */
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
		lines_shift(g, u, after - u->line, lines);
	}
}

/* Do unit k and the units inside it keep their names and nesting? */
static bool same_units(const struct graph *g, const struct source_file *f,
		       uint32_t k, const struct facts *p)
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

/* Replace unit k and the units inside it. */
static void splice(struct graph *g, uint32_t file, uint32_t k, struct facts *p)
{
	struct unit_piece *pieces =
		must_alloc(p->units_count * sizeof(*pieces));
	struct sheet *sheet = sheet_new(g, p);

	for (uint32_t m = 0; m < p->units_count; m++)
		pieces[m] = (struct unit_piece){ sheet, facts_units(p) + m };
	file_splice(g, file, k, pieces, p->units_count);
	sheet_unref(g, sheet);
	free(pieces);
}

/* Bytes of indentation before the definition. */
static size_t indent_of(const char *text, uint32_t start)
{
	uint32_t at = start;

	while (at && text[at - 1] != '\n')
		at--;
	return start - at;
}

/* How long unit k is in the new text; less than 0: in repetitive text the
   matches from both ends may overlap. */
static int64_t new_length(const struct graph *g, const struct source_file *f,
			  uint32_t k, size_t len)
{
	const struct unit *was = &g->units[f->units[k]];
	int64_t long_now =
		(int64_t)(was->end - was->start) + ((int64_t)len - f->length);

	return long_now < (int64_t)was->u->body ? -1 : long_now;
}

/* Unit k by itself, if it can be exchanged (free it); else NULL. */
static struct facts *read_unit(const struct graph *g, struct lang_readers *r,
			       const struct source_file *f, uint32_t k,
			       const char *text, size_t len)
{
	const struct unit *was = &g->units[f->units[k]];
	int64_t long_now = new_length(g, f, k, len);
	const struct facts_unit *u;
	struct facts *p;

	if (long_now < 0)
		return NULL;
	p = lang_read_unit(r, atom_text(g, f->path), text + was->start,
			   (size_t)long_now, indent_of(text, was->start),
			   was->u->flags & UNIT_METHOD);
	if (!p)
		return NULL;
	u = facts_units(p);
	if (same_units(g, f, k, p) && u->kind == was->u->kind &&
	    u->head == was->u->head && !p->broken)
		return p;
	free(p);
	return NULL;
}

static bool edit_unit(struct graph *g, struct lang_readers *r, uint32_t file,
		      uint32_t k, const char *text, size_t len)
{
	struct source_file *f = &g->files[file];
	struct unit was = g->units[f->units[k]];
	int64_t by = (int64_t)len - f->length;
	struct facts *p = read_unit(g, r, f, k, text, len);
	int32_t lines;

	if (!p)
		return false;
	lines = (int32_t)facts_units(p)->lines - (int32_t)was.lines;
	move_rest(g, f, k, by, lines);
	grow_around(g, f->units[k], text, by, lines);
	splice(g, file, k, p);
	g->files[file].length = (uint32_t)len;
	assert(g->units[g->files[file].units[0]].end == len);
	return true;
}

static bool is_editable(const struct graph *g, const struct source_file *f)
{
	return f->exists && !f->sheet->facts->broken &&
	       !f->sheet->facts->joined && !f->sheet->facts->deep &&
	       f->sheet->facts->lang == lang_of(atom_text(g, f->path))->id;
}

bool graph_edits_little(const struct graph *g, struct lang_readers *r,
			const char *path, const char *text, size_t len,
			size_t most)
{
	uint32_t file = file_find(g, path);

	if (file == NONE || !is_editable(g, &g->files[file]) ||
	    lang_is_vast(r, path, text, len))
		return len <= most;
	/* As edit_part() tries them. */
	for (int before = 1; before >= 0; before--) {
		const struct source_file *f = &g->files[file];
		struct facts *p;
		uint32_t k = 0;
		enum found found = find_edit(g, f, text, len, before, &k);

		if (found == FOUND_NOTHING)
			return true;
		if (found != FOUND_UNIT ||
		    (uint64_t)new_length(g, f, k, len) > most)
			continue;
		p = read_unit(g, r, f, k, text, len);
		free(p);
		if (p)
			return true;
	}
	return len <= most;
}

/* FOUND_UNIT: the unit was replaced. FOUND_MUCH: nothing was done. */
static enum found edit_part(struct graph *g, struct lang_readers *r,
			    uint32_t file, const char *text, size_t len)
{
	const struct source_file *f = &g->files[file];
	uint32_t k = 0, tried;
	enum found found;

	if (!is_editable(g, f))
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
	/* Edits of single definitions could grow a file beyond the limit. */
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
