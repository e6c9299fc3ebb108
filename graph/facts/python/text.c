/*
 * Where units lie, and the hashes of their text. This is done after all units
 * are read: a unit ends where its last part ends, which may be a unit.
 *
 *	@decorator		start
 *	def outer():		... the head
 *		a = 1		body: after the colon
 *		def inner():	the gap of inner: from there to its start
 *			b
 *		return a	the tail of outer: from inner's end to its own
 *
 * b(outer) is all of this except inner's body, the text after its colon.
 */
#include "graph/facts/python/reader_i.h"

void reader_add_piece(struct reader *r, uint32_t start, uint32_t end)
{
	struct reader_piece *p;

	if (r->unit->kind != UNIT_MODULE || end < start)
		return;
	p = array_add(&r->pieces);
	p->start = start;
	p->end = end;
	p->depth = r->block_depth;
	p->variable = p->next = FACTS_NONE;
}

/* A comment on the unit's last line is part of it. */
static void include_comment(const struct reader *r, struct reader_span *s)
{
	uint32_t at = s->end;
	const char *line;

	while (char_at(r, at) && strchr(" \t;", r->text[at]))
		at++;
	if (char_at(r, at) != '#')
		return;
	line = memchr(r->text + at, '\n', r->len - at);
	s->end = line ? (uint32_t)(line - r->text) : r->len;
	if (r->text[s->end - 1] == '\r')
		s->end--;
}

/* From the last to the first, so that a unit comes before its parent. */
static void find_ends(struct reader *r)
{
	uint32_t i;

	for (i = r->units.count; i-- > 0;) {
		const struct facts_unit *u = &r->units.at[i];
		struct reader_span *s = &r->spans.at[i];
		struct facts_unit *parent = &r->units.at[i - u->parent];
		struct reader_span *around = &r->spans.at[i - u->parent];

		if (u->kind != UNIT_MODULE)
			include_comment(r, s);
		if (i == 0)
			break;
		parent->units += u->units + 1;
		if (s->end > around->end) {
			around->end = s->end;
			around->last_row = s->last_row;
		}
	}
}

static void put_place(struct reader *r, uint32_t i)
{
	struct facts_unit *u = &r->units.at[i];
	const struct reader_span *s = &r->spans.at[i];
	const struct reader_span *around = &r->spans.at[i - u->parent];

	assert(s->start >= around->start && s->body >= s->start);
	u->start = s->start - around->start;
	u->end = s->end - around->start;
	u->line = s->row - around->row;
	u->lines = s->last_row - s->row + 1;
	u->body = s->body - s->start;
}

/* Hashes text[from .. to); errors may leave `to` before `from`. */
static uint64_t hash_piece(const struct reader *r, uint32_t from, uint32_t to)
{
	return XXH3_64bits(r->text + from, to > from ? to - from : 0);
}

/* Appends text to r->chars. A line that ends in \r\n says what one in \n does.
 */
static void add_text(struct reader *r, uint32_t from, uint32_t to)
{
	const char *at = r->text + from, *end = r->text + to, *next;

	if (to <= from)
		return;
	while (r->carriage && (next = memchr(at, '\r', (size_t)(end - at)))) {
		array_append(&r->chars, at, (size_t)(next - at));
		at = next + 1;
		if (at == end || *at != '\n')
			array_push(&r->chars, '\r');
	}
	array_append(&r->chars, at, (size_t)(end - at));
}

/* Hashes its text without the bodies of the units directly in it. */
static void hash_unit(struct reader *r, uint32_t i)
{
	struct facts_unit *u = &r->units.at[i];
	const struct reader_span *s = &r->spans.at[i];
	uint32_t at = s->start, inside = s->body, c;

	r->chars.count = 0;
	u->head = hash_piece(r, s->start, s->body);
	for (c = i + 1; c <= i + u->units; c += 1 + r->units.at[c].units) {
		const struct reader_span *in = &r->spans.at[c];

		r->units.at[c].gap = hash_piece(r, inside, in->start);
		add_text(r, at, in->body);
		at = inside = in->end;
	}
	u->tail = hash_piece(r, inside, s->end);
	u->whole = u->kind == UNIT_MODULE ? 0 : hash_piece(r, s->start, s->end);
	if (!u->units && !r->carriage) {
		u->hash = XXH3_128bits(r->text + at, s->end - at);
		return;
	}
	add_text(r, at, s->end);
	u->hash = XXH3_128bits(r->chars.at, r->chars.count);
}

void reader_texts(struct reader *r)
{
	uint32_t i;

	assert(r->units.count > 0 && r->spans.count == r->units.count);
	find_ends(r);
	for (i = 0; i < r->units.count; i++) {
		put_place(r, i);
		hash_unit(r, i);
	}
}

XXH128_hash_t reader_module_hash(struct reader *r)
{
	uint32_t i;

	r->chars.count = 0;
	for (i = 0; i < r->pieces.count; i++) {
		const struct reader_piece *p = &r->pieces.at[i];
		const char *depth = (const char *)&p->depth;
		size_t depth_bytes = sizeof(p->depth);

		if (p->variable != FACTS_NONE)
			continue;
		array_append(&r->chars, depth, depth_bytes);
		add_text(r, p->start, p->end);
		array_push(&r->chars, '\n');
	}
	return XXH3_128bits(r->chars.at, r->chars.count);
}

void reader_hash_variables(struct reader *r)
{
	uint32_t i, next;

	assert(r->first_pieces.count == r->variables.count);
	for (i = 0; i < r->variables.count; i++) {
		r->chars.count = 0;
		for (next = r->first_pieces.at[i]; next != FACTS_NONE;) {
			const struct reader_piece *p = &r->pieces.at[next];

			add_text(r, p->start, p->end);
			array_push(&r->chars, '\n');
			next = p->next;
		}
		r->variables.at[i].hash =
			XXH3_128bits(r->chars.at, r->chars.count);
	}
}
