/* The note in the newest result, and the line that files may have changed. */
#include <limits.h>
#include <stdlib.h>

#include "graph/base/alloc.h"
#include "manager/decide/notes.h"
#include "manager/decide/plan.h"

#define TEXT_MAX ((size_t)4 << 20)
/* Files that the line names. */
#define NAMED_MAX 5

static const struct held *newest_result(const struct plan *p)
{
	const struct held *attached = NULL;

	for (uint32_t i = p->r->count; i-- > 0;) {
		if (p->t->items[p->r->at[i].item].place == ITEM_NONE)
			continue;
		if (!p->r->at[i].attached)
			return p->held[i];
		if (!attached)
			attached = p->held[i];
	}
	/* Before the first call there may be attached files. */
	return attached;
}

/*
 * The user's newest words, if no result came with them: the model may answer
 * them at once, from what it was shown, so the note does not wait for the next
 * result; and in an earlier one it would stand before an answer that did not
 * know it, and change what the cache holds.
 */
static const struct item *newest_words(const struct plan *p)
{
	const struct transcript *t = p->t;
	uint32_t i = t->items_count;

	while (i > 0 && t->items[i - 1].kind == ITEM_USER)
		i--;
	if (i == t->items_count || i == 0 ||
	    t->items[i - 1].kind == ITEM_RESULT)
		return NULL;
	for (i = t->items_count - 1; t->items[i].kind == ITEM_USER; i--)
		if (!t->items[i].attached.at && t->items[i].place != ITEM_NONE)
			return &t->items[i];
	return NULL;
}

struct pin *plan_newest_pin(struct plan *p)
{
	const struct item *words = newest_words(p);
	const struct held *result = words ? NULL : newest_result(p);
	struct pin *pin;

	if (!words && !result)
		return NULL;
	pin = conversation_pin(p->c, words ? words->id.at : result->key);
	if (pin->gone)
		pin_clear(pin);
	pin->gone = false;
	pin->item = words ? (uint32_t)(words - p->t->items) : result->item;
	return pin;
}

void plan_put_note(struct plan *p, struct pin *pin, const struct buf *text)
{
	uint32_t place = p->t->items[pin->item].place;

	p->counts.notes += cost_tokens(text->len - pin->len);
	/* A result of an earlier request changes with its note. */
	if (place < p->from && place < p->l.cached)
		p->from = place;
	free(pin->text);
	pin->text = must_memdup(text->data, text->len);
	pin->len = text->len;
	pin->changed = true;
}

/* -- What could not be checked. */

/* Was it said since something was decided last? */
static bool is_said(const struct plan *p)
{
	const struct pin *pin, *next;

	HASH_ITER (hh, p->c->pins, pin, next) {
		if (pin->item == ITEM_NONE || pin->gone)
			continue;
		for (uint32_t i = 0; i < pin->mentions.count; i++) {
			const struct mention *m = &pin->mentions.at[i];

			if (!*m->key && m->how == NOTIFIED_AGAIN &&
			    m->since + p->c->undecided > p->c->requests)
				return true;
		}
	}
	return false;
}

/* The file that it shows, as a number of a name; 0: none known. */
static uint32_t shown_by(const struct plan *p, const struct held *h)
{
	const struct record *r;
	char path[PATH_MAX];

	if (h->text && h->replaced >= REPLACED_TOMBSTONE)
		return 0;
	if (h->seen)
		return h->tracked && h->referents.count
			       ? h->referents.at[0].path + 1
			       : 0;
	r = h->kind == RECORD_READ || h->kind == RECORD_EDIT
		    ? records_read(p->r, h->record)
		    : NULL;
	if (!r || !r->path ||
	    !evidence_path(&p->e->roots, r->dir, r->path, path, sizeof(path)))
		return 0;
	return intern_add(p->c->names, path, strlen(path)) + 1;
}

/* Does it claim something about files without a name? */
static bool is_run(const struct held *h)
{
	if (!h->seen)
		return h->kind == RECORD_RUN || h->kind == RECORD_SHELL;
	return h->kind == RECORD_RUN || h->tracked;
}

/* The newest ones' names; the number of all. */
static uint32_t list_shown(const struct plan *p, const char **names,
			   bool *ret_runs)
{
	ARRAY(uint32_t) all = { 0 };
	uint32_t count = 0;

	for (uint32_t i = p->r->count; i-- > 0;) {
		uint32_t file = shown_by(p, p->held[i]), k = 0;

		*ret_runs |= is_run(p->held[i]);
		while (k < all.count && all.at[k] != file)
			k++;
		if (!file || k < all.count)
			continue;
		if (count < NAMED_MAX)
			names[count] = conversation_name(p->c, file - 1);
		count++;
		array_push(&all, file);
	}
	array_release(&all);
	return count;
}

void plan_doubt(struct plan *p, const char *why)
{
	const char *names[NAMED_MAX];
	bool runs = false;
	uint32_t count = list_shown(p, names, &runs);
	struct buf text = BUF(TEXT_MAX);
	char none[] = "";
	struct pin *pin;
	size_t begin;

	if (p->mode == MODE_OFF || (!count && !runs) || is_said(p))
		return;
	pin = plan_newest_pin(p);
	if (!pin)
		return;
	if (pin->len)
		(void)buf_add(&text, pin->text, pin->len);
	else if (p->t->items[pin->item].kind == ITEM_USER)
		(void)note_automatic(&text);
	begin = text.len;
	(void)note_unchecked(&text, names,
			     count < NAMED_MAX ? count : NAMED_MAX, count);
	decided_add(&p->decided,
		    &(struct decided){ .key = none,
				       .what = "what is shown of files",
				       .why = why,
				       .action = "ANNOTATE",
				       .form = notified_names[NOTIFIED_AGAIN],
				       .place = DECIDED_NOTE,
				       .after = text.len - begin },
		    text.data + begin, text.len - begin);
	pin_mention(pin,
		    &(struct mention){ none, NOTIFIED_AGAIN, p->c->requests,
				       p->c->last_n, p->c->last_n, text.len });
	plan_put_note(p, pin, &text);
	buf_release(&text);
}
