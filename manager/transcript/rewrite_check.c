/*
 * A rewritten body is checked before it is sent. Elements of the list that no
 * edit touched must be there byte for byte, and so must everything around the
 * list. Touched elements alone are parsed again: each must be one JSON value
 * with its old items, changed as asked for. One JSON value may replace another
 * anywhere, so the whole body is JSON again; parsing a megabyte once more for
 * the sake of a note would take longer than all the rest.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "manager/transcript/rewrite_i.h"

static bool is_same(struct text a, struct text b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* Does the item's text begin with the replacement? */
static bool begins_with(const struct transcript *t, const struct item *i,
			const struct replacement *r, struct arena *a)
{
	struct text text;

	if (i->pieces_count == 1)
		return transcript_begins(t, i->pieces, r->text, r->len);
	text = transcript_text(t, i, a);
	return text.len >= r->len && memcmp(text.at, r->text, r->len) == 0;
}

static bool is_empty(const struct item_piece *p)
{
	return p->span.end - p->span.start == 2;
}

/* Is `now`, an item of `t`, what `r` makes of `was`? */
static bool is_as_planned(const struct item *was, const struct transcript *t,
			  const struct item *now, const struct replacement *r,
			  struct arena *a)
{
	uint32_t i;

	if (was->kind != now->kind || was->error != now->error)
		return false;
	/* We make up the ids of the user's texts from what they say. */
	if (was->kind != ITEM_USER && !is_same(was->id, now->id))
		return false;
	if (now->pieces_count < was->pieces_count)
		return false;
	for (i = 0; i < was->pieces_count; i++) {
		if (!is_empty(&was->pieces[i]) && is_empty(&now->pieces[i]))
			return false;
	}
	return !r || begins_with(t, now, r, a);
}

static bool is_note(const struct transcript *t, const struct item *i,
		    const struct rewrite_note *n, struct arena *a)
{
	const struct item_piece *p;
	struct text last;

	if (!n || i->pieces_count == 0)
		return false;
	p = &i->pieces[i->pieces_count - 1];
	if (transcript_says(t, p, n->text, n->len))
		return true;
	last = transcript_piece(t, p, a);
	return last.len >= n->len &&
	       memcmp(last.at + last.len - n->len, n->text, n->len) == 0;
}

/* Positions in the old body, the new body, the edits and the two lists. */
struct rewrite_checker {
	const struct writer *w;
	const struct transcript *was;
	const struct rewriting *r;
	const char *body; /* the new one */
	size_t len;
	/* Behind the last touched element, or 0: */
	size_t old_at, new_at;
	uint32_t edit;		 /* the next one */
	ARRAY(uint32_t) touched; /* indices of elements */
	uint32_t marks;		 /* cache marks they had */
	struct buf copy;	 /* a body of the touched elements, as new */
	/* Reading the copy: */
	struct transcript now;
	size_t replacement, note; /* the next ones */
	uint32_t inserted;
	uint32_t at; /* the next item of `now` */
};

/* The user's words stay as they are; a note may follow them. */
static bool keeps_words(struct rewrite_checker *c, const struct item *was,
			const struct item *now)
{
	struct text a = transcript_text(c->was, was, &c->now.arena);
	struct text b = transcript_text(&c->now, now, &c->now.arena);

	return was->pieces_count == now->pieces_count && a.len <= b.len &&
	       memcmp(a.at, b.at, a.len) == 0;
}

static bool check_item(struct rewrite_checker *c, uint32_t i)
{
	const struct item *was = &c->was->items[i], *now;
	const struct replacement *replace = NULL;
	const struct rewrite_note *note = NULL;
	bool attached = was->attached.at != NULL;

	if (c->at >= c->now.items_count)
		return false;
	now = &c->now.items[c->at++];
	if (c->replacement < c->r->replacements_count &&
	    c->r->replacements[c->replacement].item == i)
		replace = &c->r->replacements[c->replacement++];
	if (c->note < c->r->notes_count &&
	    c->was->items[c->r->notes[c->note].item].place == i)
		note = &c->r->notes[c->note++];
	if (!is_as_planned(was, &c->now, now, replace, &c->now.arena))
		return false;
	if (!replace && (attached || !note) && was->hash != now->hash)
		return false;
	if (!note)
		return true;
	if (!attached)
		return is_note(&c->now, now, note, &c->now.arena) &&
		       (was->kind != ITEM_USER || keeps_words(c, was, now));
	if (c->at == c->now.items_count || now[1].kind != ITEM_USER ||
	    now[1].message != now->message ||
	    !is_note(&c->now, now + 1, note, &c->now.arena))
		return false;
	/* A note that was there before is an item of both transcripts. */
	if (c->inserted < c->w->inserted.count &&
	    c->w->inserted.at[c->inserted] == i) {
		c->inserted++;
		c->at++;
	}
	return true;
}

/* Are the bytes from the last touched element up to old `end` unchanged? */
static bool is_same_until(struct rewrite_checker *c, size_t end)
{
	size_t len = end - c->old_at;

	return end >= c->old_at && len <= c->len - c->new_at &&
	       memcmp(c->was->body + c->old_at, c->body + c->new_at, len) == 0;
}

/* The new length of one element. False: an edit crosses its border. */
static bool take_edits(struct rewrite_checker *c, struct span of, size_t *len)
{
	const struct writer *w = c->w;

	*len = of.end - of.start;
	for (; c->edit < w->edits.count; c->edit++) {
		const struct edit *e = &w->edits.at[c->edit];

		if (e->cut.start >= of.end)
			break;
		if (e->cut.start < of.start || e->cut.end > of.end)
			return false;
		*len = *len + (e->put.end - e->put.start) -
		       (e->cut.end - e->cut.start);
	}
	return true;
}

/* Element `i` was touched: compare the bytes before it, and copy it. */
static bool touch(struct rewrite_checker *c, uint32_t i)
{
	const struct element *e = &c->was->elements[i];
	uint32_t behind = i + 1 < c->was->messages ? e[1].marks : c->was->marks;
	size_t len;

	if (!is_same_until(c, e->span.start) || !take_edits(c, e->span, &len))
		return false;
	c->new_at += e->span.start - c->old_at;
	c->old_at = e->span.end;
	if (len > c->len - c->new_at ||
	    (c->touched.count && buf_add(&c->copy, ",", 1) < 0) ||
	    buf_add(&c->copy, c->body + c->new_at, len) < 0)
		return false;
	c->new_at += len;
	assert(c->new_at <= c->len && c->old_at <= c->was->len);
	assert(behind >= e->marks);
	c->marks += behind - e->marks;
	array_push(&c->touched, i);
	return true;
}

/* Compare all bytes outside touched elements; copy those elements. */
static bool check_bytes(struct rewrite_checker *c)
{
	const struct transcript *t = c->was;
	const char *head = t->dialect == DIALECT_RESPONSES ? "{\"input\":["
							   : "{\"messages\":[";

	if (buf_add(&c->copy, head, strlen(head)) < 0)
		return false;
	for (uint32_t i = 0; i < t->messages && t->elements; i++) {
		if (c->edit == c->w->edits.count)
			break;
		if (c->w->edits.at[c->edit].cut.start <
			    t->elements[i].span.end &&
		    !touch(c, i))
			return false;
	}
	return c->edit == c->w->edits.count && is_same_until(c, t->len) &&
	       c->len - c->new_at == t->len - c->old_at &&
	       buf_add(&c->copy, "]}", 2) == 0;
}

static bool has_note(struct rewrite_checker *c, uint32_t i,
		     const struct rewrite_note *n)
{
	const struct item *was = &c->was->items[i];
	struct arena *a = &c->now.arena;

	if (!was->attached.at)
		return is_note(c->was, was, n, a);
	return i + 1 < c->was->items_count && is_note(c->was, was + 1, n, a);
}

/* What the lists ask for before `element`, without an edit, must be there. */
static bool pass_untouched(struct rewrite_checker *c, uint32_t element)
{
	const struct item *items = c->was->items;

	for (; c->replacement < c->r->replacements_count; c->replacement++) {
		const struct replacement *r =
			&c->r->replacements[c->replacement];

		if (items[r->item].message >= element)
			break;
		if (!begins_with(c->was, &items[r->item], r, &c->now.arena))
			return false;
	}
	for (; c->note < c->r->notes_count; c->note++) {
		const struct rewrite_note *n = &c->r->notes[c->note];
		uint32_t place = items[n->item].place;

		if (items[place].message >= element)
			break;
		if (!has_note(c, place, n))
			return false;
	}
	return true;
}

static bool check_items(struct rewrite_checker *c)
{
	const struct transcript *was = c->was;
	uint32_t i = 0;

	if (c->now.messages != c->touched.count || c->now.marks != c->marks)
		return false;
	for (uint32_t k = 0; k < c->touched.count; k++) {
		uint32_t element = c->touched.at[k];

		if (!pass_untouched(c, element))
			return false;
		while (i < was->items_count && was->items[i].message < element)
			i++;
		for (; i < was->items_count && was->items[i].message == element;
		     i++)
			if (!check_item(c, i) ||
			    c->now.items[c->at - 1].message != k)
				return false;
	}
	return c->at == c->now.items_count &&
	       c->inserted == c->w->inserted.count &&
	       pass_untouched(c, UINT32_MAX);
}

int rewrite_check(const struct writer *w, const struct rewriting *r,
		  const char *body, size_t len)
{
	struct rewrite_checker c = {
		.w = w, .was = w->t, .r = r, .body = body
	};
	int e = -EBADMSG;

	c.len = len;
	c.copy = BUF(TRANSCRIPT_MAX + 64);
	if (check_bytes(&c))
		e = transcript_init(&c.now, w->t->dialect, c.copy.data,
				    c.copy.len);
	if (e == 0 && !check_items(&c))
		e = -EBADMSG;
	transcript_release(&c.now);
	array_release(&c.touched);
	buf_release(&c.copy);
	return e;
}
