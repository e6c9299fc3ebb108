/*
 * A rewrite is a list of edits, each a span of the body to cut and bytes to put
 * there; the new body is the old one with the edits applied. Bytes outside all
 * edits are copied; there is no other way from the old body to the new one.
 *
 * The result is checked all the same (rewrite_check.c): otherwise only upstream
 * would find a mistake made here, in the middle of a user's work.
 */
#include "manager/transcript/rewrite.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "manager/transcript/rewrite_i.h"

/* What happens to one item. */
struct rewrite_step {
	uint32_t item;
	const struct replacement *replace; /* or NULL */
	const struct rewrite_note *note;   /* behind this item, or NULL */
};

static void put(struct writer *w, const char *bytes, size_t len)
{
	int r = buf_add(&w->out, bytes, len);

	if (r < 0 && w->error == 0)
		w->error = r;
}

static void put_text(struct writer *w, const char *text)
{
	put(w, text, strlen(text));
}

static void put_span(struct writer *w, struct span s)
{
	put(w, w->t->body + s.start, s.end - s.start);
}

static void put_encoded(struct writer *w, const char *text, size_t len)
{
	int r = buf_reserve(&w->out, literal_encoded_max(text, len));

	if (r == 0)
		w->out.len +=
			literal_encode(text, len, w->out.data + w->out.len);
	else if (w->error == 0)
		w->error = r;
}

/* Bytes put from here to end_edit() replace `cut`. */
static void begin_edit(struct writer *w, struct span cut)
{
	struct edit *e = array_add(&w->edits);

	assert(cut.start <= cut.end && cut.end <= w->t->len);
	e->cut = cut;
	e->put.start = w->out.len;
}

static void end_edit(struct writer *w)
{
	assert(w->edits.count > 0);
	array_last(&w->edits)->put.end = w->out.len;
}

static bool is_same(struct text a, const char *text, size_t len)
{
	return a.len == len && memcmp(a.at, text, len) == 0;
}

/* Make a literal say `text`; one that already does keeps its bytes. */
static void set_piece(struct writer *w, const struct item_piece *p,
		      const char *text, size_t len)
{
	if (transcript_says(w->t, p, text, len))
		return;
	begin_edit(w, p->span);
	put_text(w, "\"");
	put_encoded(w, text, len);
	put_text(w, "\"");
	end_edit(w);
}

static bool is_list(const struct writer *w, const struct item *i)
{
	return i->content.end > i->content.start &&
	       w->t->body[i->content.start] == '[';
}

/*
 * Is the note already the last piece of a content that is a list? Then that
 * piece is not replaced. A single piece counts as the text, not as the note.
 */
static bool list_has_note(const struct writer *w, const struct item *i,
			  const struct rewrite_step *p)
{
	return p->note && i->pieces_count > (p->replace ? 1 : 0) &&
	       transcript_says(w->t, &i->pieces[i->pieces_count - 1],
			       p->note->text, p->note->len);
}

/*
 * Spread a text over several pieces: those it begins with stay as they are, the
 * rest of the text goes into the next piece, and further ones refer to it.
 */
static void set_pieces(struct writer *w, const struct item_piece *pieces,
		       uint32_t count, const struct replacement *r)
{
	const char *text = r->text;
	size_t len = r->len;
	uint32_t i = 0;

	assert(count > 0 && len > 0);
	for (; i + 1 < count; i++) {
		struct text was = transcript_piece(w->t, &pieces[i], &w->arena);

		if (was.len >= len || memcmp(text, was.at, was.len) != 0)
			break;
		text += was.len;
		len -= was.len;
	}
	set_piece(w, &pieces[i], text, len);
	for (i++; i < count; i++) {
		if (pieces[i].span.end - pieces[i].span.start > 2)
			set_piece(w, &pieces[i], REWRITE_REST,
				  strlen(REWRITE_REST));
	}
}

/*
 * Does the note take the mark of `i` over? In Messages a result's own mark
 * covers all of its content, the note included.
 */
static bool moves_mark(const struct writer *w, const struct item *i)
{
	return i->marked &&
	       (w->t->dialect != DIALECT_MESSAGES || i->kind != ITEM_RESULT);
}

/* A text block with the note, and with the cache mark it takes over. */
static void put_block(struct writer *w, const struct item *from,
		      const struct rewrite_note *note)
{
	bool responses = w->t->dialect == DIALECT_RESPONSES;
	struct span key = from->mark_member;

	put_text(w, responses ? "{\"type\":\"input_text\",\"text\":\""
			      : "{\"type\":\"text\",\"text\":\"");
	put_encoded(w, note->text, note->len);
	put_text(w, "\"");
	if (moves_mark(w, from)) {
		/* The member's bytes, without the comma that is cut with it. */
		while (key.start < key.end && w->t->body[key.start] != '"')
			key.start++;
		put_text(w, ",");
		put_span(w, (struct span){ key.start, from->mark.end });
	}
	put_text(w, "}");
}

static void cut_mark(struct writer *w, const struct item *i)
{
	if (!moves_mark(w, i))
		return;
	begin_edit(w, i->mark_member);
	end_edit(w);
}

/* Messages: a block behind an attached file. */
static void add_block(struct writer *w, const struct rewrite_step *p)
{
	const struct transcript *t = w->t;
	const struct item *i = &t->items[p->item], *next = i + 1;

	if (p->item + 1 < t->items_count && next->kind == ITEM_USER &&
	    next->message == i->message && next->pieces_count == 1 &&
	    transcript_says(t, next->pieces, p->note->text, p->note->len))
		return;
	cut_mark(w, i);
	begin_edit(w, (struct span){ i->span.end, i->span.end });
	put_text(w, ",");
	put_block(w, i, p->note);
	end_edit(w);
	array_push(&w->inserted, p->item);
}

/* A further part of a content that is a list. */
static void add_part(struct writer *w, const struct rewrite_step *p)
{
	const struct item *i = &w->t->items[p->item];
	size_t before = i->content.end - 1;

	if (list_has_note(w, i, p))
		return;
	cut_mark(w, i);
	while (strchr(" \t\r\n", w->t->body[before - 1]))
		before--;
	begin_edit(w, (struct span){ before, before });
	if (before - 1 > i->content.start)
		put_text(w, ",");
	put_block(w, i, p->note);
	end_edit(w);
}

/* The length of the text without the note, if the note is at its end. */
static size_t len_without(struct text text, const struct rewrite_note *note)
{
	size_t gap = strlen(REWRITE_GAP), rest;

	if (text.len < note->len ||
	    memcmp(text.at + text.len - note->len, note->text, note->len) != 0)
		return text.len;
	rest = text.len - note->len;
	if (rest == 0)
		return 0;
	if (rest > gap && memcmp(text.at + rest - gap, REWRITE_GAP, gap) == 0)
		return rest - gap;
	return text.len;
}

/* The note goes into the same string as the text, or its last part. */
static void set_string(struct writer *w, const struct rewrite_step *p)
{
	const struct item *i = &w->t->items[p->item];
	const struct item_piece *piece = &i->pieces[i->pieces_count - 1];
	struct text text = transcript_piece(w->t, piece, &w->arena);
	size_t len = len_without(text, p->note);
	bool had = len < text.len;
	bool same = !p->replace || is_same((struct text){ text.at, len },
					   p->replace->text, p->replace->len);
	bool gap = p->replace || len > 0;

	if (same && had)
		return;
	if (same) {
		size_t end = piece->span.end - 1;

		begin_edit(w, (struct span){ end, end });
	} else {
		begin_edit(w, piece->span);
		put_text(w, "\"");
		put_encoded(w, p->replace->text, p->replace->len);
	}
	if (gap)
		put_encoded(w, REWRITE_GAP, strlen(REWRITE_GAP));
	put_encoded(w, p->note->text, p->note->len);
	if (!same)
		put_text(w, "\"");
	end_edit(w);
}

static int apply_step(struct writer *w, const struct rewrite_step *p)
{
	const struct item *i = &w->t->items[p->item];
	uint32_t count = i->pieces_count;

	if (p->replace && count == 0)
		return -ENODATA;
	assert(count > 0 || i->kind == ITEM_RESULT);
	if (p->note && i->attached.at)
		add_block(w, p);
	else if (p->note && (i->kind == ITEM_USER || !is_list(w, i)))
		set_string(w, p);
	else {
		if (p->replace)
			set_pieces(w, i->pieces, count - list_has_note(w, i, p),
				   p->replace);
		if (p->note)
			add_part(w, p);
	}
	return w->error;
}

static bool is_result(const struct transcript *t, uint32_t item)
{
	return item < t->items_count && t->items[item].kind == ITEM_RESULT;
}

static int check_request(const struct transcript *t, const struct rewriting *r)
{
	size_t i;

	for (i = 0; i < r->replacements_count; i++) {
		const struct replacement *x = &r->replacements[i];

		if (!is_result(t, x->item) || x->len == 0 ||
		    (i > 0 && x->item <= x[-1].item))
			return -EINVAL;
	}
	for (i = 0; i < r->notes_count; i++) {
		const struct rewrite_note *n = &r->notes[i];

		if (n->item >= t->items_count ||
		    t->items[n->item].place == ITEM_NONE || n->len == 0)
			return -EINVAL;
		/* Places ascend with items, so equal ones are neighbours. */
		if (i > 0 &&
		    t->items[n->item].place <= t->items[n[-1].item].place)
			return -EINVAL;
	}
	return 0;
}

/* Both lists ascend: merge them into one step per item, in order. */
static int apply_all(struct writer *w, const struct rewriting *r)
{
	size_t a = 0, b = 0;
	int e = 0;

	while (e == 0 && (a < r->replacements_count || b < r->notes_count)) {
		uint32_t x = ITEM_NONE, y = ITEM_NONE;
		struct rewrite_step p = { 0 };

		if (a < r->replacements_count)
			x = r->replacements[a].item;
		if (b < r->notes_count)
			y = w->t->items[r->notes[b].item].place;
		p.item = x < y ? x : y;
		if (x == p.item)
			p.replace = &r->replacements[a++];
		if (y == p.item)
			p.note = &r->notes[b++];
		e = apply_step(w, &p);
	}
	return e;
}

static int compare_edits(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	return (x->cut.start > y->cut.start) - (x->cut.start < y->cut.start);
}

/* The body with all edits applied. */
static int splice(struct writer *w, char **ret, size_t *ret_len)
{
	size_t len = w->t->len, at = 0, n = 0;
	char *out;
	uint32_t i;

	for (i = 0; i < w->edits.count; i++)
		len = len +
		      (w->edits.at[i].put.end - w->edits.at[i].put.start) -
		      (w->edits.at[i].cut.end - w->edits.at[i].cut.start);
	if (len > TRANSCRIPT_MAX)
		return -EMSGSIZE;
	out = malloc(len + 1);
	if (!out)
		return -ENOMEM;
	if (w->edits.count > 1)
		qsort(w->edits.at, w->edits.count, sizeof(*w->edits.at),
		      compare_edits);
	for (i = 0; i < w->edits.count; i++) {
		const struct edit *e = &w->edits.at[i];
		size_t more = e->put.end - e->put.start;

		assert(at <= e->cut.start); /* edits do not overlap */
		memcpy(out + n, w->t->body + at, e->cut.start - at);
		n += e->cut.start - at;
		if (more > 0)
			memcpy(out + n, w->out.data + e->put.start, more);
		n += more;
		at = e->cut.end;
	}
	assert(n + (w->t->len - at) == len);
	memcpy(out + n, w->t->body + at, w->t->len - at);
	out[len] = '\0';
	*ret = out;
	*ret_len = len;
	return 0;
}

static int write_body(struct writer *w, const struct rewriting *r, char **ret,
		      size_t *ret_len)
{
	CLEANUP(free_p) char *body = NULL;
	size_t len = 0;
	int e = apply_all(w, r);

	if (e < 0)
		return e;
	e = splice(w, &body, &len);
	if (e < 0)
		return e;
	if (w->edits.count > 0) {
		e = rewrite_check(w, r, body, len);
		if (e < 0)
			return e;
	}
	*ret = TAKE(body);
	*ret_len = len;
	return 0;
}

int rewrite(const struct transcript *t, const struct rewriting *r, char **ret,
	    size_t *ret_len)
{
	struct writer w = { .t = t, .out = BUF(TRANSCRIPT_MAX) };
	int e = check_request(t, r);

	if (e == 0)
		e = write_body(&w, r, ret, ret_len);
	array_release(&w.edits);
	array_release(&w.inserted);
	arena_release(&w.arena);
	buf_release(&w.out);
	return e;
}
