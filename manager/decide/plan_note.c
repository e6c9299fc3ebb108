/* The sections of a note, and what each says of which records. */
#include "manager/decide/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "manager/decide/notes.h"
#include "manager/decide/own.h"

/*
 * All notes together may take this share of a request. A small change is shown
 * all the same: to read the file again would cost more.
 */
#define NOTES_SHARE	50 /* one part in fifty */
#define NOTES_LEAST	256
#define NOTE_DIFF_MAX	2000 /* tokens */
#define NOTE_DIFF_SMALL 400
#define NOTE_FRAME	40 /* tokens of the sentence around a diff */
#define DIFF_CONTEXT	2
/* Lines by which a text may move before its numbers mislead. */
#define SCREEN 40

/* In words the model knows, without entries. */
static const char *why_of(const struct held *h)
{
	return plan_is_shown(h) && h->words && *h->words ? h->words
							 : plan_cause(h);
}

bool plan_is_failed(const struct plan *p, const struct held *h)
{
	for (uint32_t i = 0; i < p->failed.count; i++)
		if (h->referents.count == 1 &&
		    p->failed.at[i] == h->referents.at[0].path)
			return true;
	return false;
}

uint64_t plan_base(const struct plan *p, const struct held *h)
{
	uint64_t shown = held_shown(h);

	if (h->known < shown || (plan_is_failed(p, h) && own_alone(p->c, h)))
		return shown;
	return h->known;
}

/* The section about `h` is out[begin, out->len). */
static void set_notified(struct plan *p, struct held *h, enum notified how,
			 struct pin *pin, const struct buf *out, size_t begin)
{
	struct decided d = { .place = DECIDED_NOTE,
			     .form = notified_names[how],
			     .before = plan_bytes(h),
			     .after = out->len - begin };

	assert(begin <= out->len);
	plan_decided(p, h, d, out->data + begin, out->len - begin);
	pin_mention(pin, &(struct mention){ h->key, how, held_shown(h), p->e->n,
					    plan_base(p, h), out->len });
	h->changed = true;
	if (how == NOTIFIED_MOVED)
		return;
	h->notified = how;
	h->notified_entry = p->e->n;
}

uint64_t plan_notes_left(const struct plan *p, const struct buf *out)
{
	uint64_t may = cost_tokens(p->t->len) / NOTES_SHARE;
	uint64_t used = p->c->note_tokens + NOTE_FRAME +
			(out ? cost_tokens(out->len) : 0);

	if (may < NOTES_LEAST)
		may = NOTES_LEAST;
	return used < may ? may - used : 0;
}

/* Tokens that a diff may take. */
static uint64_t diff_most(const struct plan *p, const struct held *h,
			  const struct buf *out)
{
	uint64_t left = plan_notes_left(p, out);

	if (plan_is_failed(p, h) || left < NOTE_DIFF_SMALL)
		return NOTE_DIFF_SMALL;
	return left;
}

/*
 * Append the diff if it fits; 0: it does not, and nothing was appended. All of
 * `group` have the same base.
 */
static int add_diff(struct plan *p, struct held **group, size_t count,
		    struct buf *out)
{
	CLEANUP(free_p)
	struct range *lines = must_alloc(count * sizeof(*lines));
	struct buf diff = BUF((size_t)4 * NOTE_DIFF_MAX);
	uint64_t since = plan_base(p, group[0]);
	struct linediff d;
	int added = 0;

	if (!group[0]->verified)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!plan_compare(p, group[i], since, &d, &lines[i]))
			return 0;
		if (i + 1 < count)
			linediff_release(&d);
	}
	if (linediff_inside(&d, lines, (uint32_t)count) &&
	    linediff_unified(&d, lines, (uint32_t)count, DIFF_CONTEXT, &diff) ==
		    0 &&
	    diff.len && cost_tokens(diff.len) <= diff_most(p, group[0], out))
		added = note_changes(out, plan_name(p, group[0]),
				     own_alone(p->c, group[0])
					     ? "your own edits"
					     : why_of(group[0]),
				     diff.data, diff.len) == 0;
	linediff_release(&d);
	buf_release(&diff);
	return added;
}

/* Did only callees or constants drift, not the text shown? */
static bool only_links(const struct plan *p, const struct held *h)
{
	uint64_t shown = plan_base(p, h);

	if (!h->drifted.count)
		return false;
	for (uint32_t i = 0; i < h->drifted.count; i++)
		if (h->drifted.at[i].set == 'X' &&
		    h->drifted.at[i].entry > shown)
			return false;
	return true;
}

static void note_file(struct plan *p, struct held **group, size_t count,
		      struct pin *pin, struct buf *out)
{
	struct held *h = group[0];
	const char *path = plan_name(p, h);
	enum notified how = NOTIFIED_AGAIN;
	size_t begin = out->len;

	assert(count > 0 && h->referents.count == 1);
	if (plan_is_gone(p, h)) {
		/* Holds until the file exists again. */
		(void)note_gone(out, path, why_of(h));
		how = NOTIFIED_CHANGES;
	} else if (!evidence_text(p->e, h->referents.at[0].path, CLIENT_NOW)) {
		(void)note_outdated(out, path, why_of(h));
	} else if (only_links(p, h)) {
		(void)note_elsewhere(out, path, why_of(h));
		how = NOTIFIED_LINKS;
	} else if (add_diff(p, group, count, out)) {
		how = NOTIFIED_CHANGES;
	} else {
		(void)note_read_again(out, path, why_of(h));
	}
	for (size_t i = 0; i < count; i++)
		set_notified(p, group[i], how, pin, out, begin);
}

static bool is_file(const struct held *h)
{
	return h->referents.count == 1 && h->kind != RECORD_RUN &&
	       (h->kind != RECORD_SHELL || h->file);
}

/* One line for all runs. */
static void note_all_runs(struct plan *p, struct held **stale, size_t count,
			  struct pin *pin, struct buf *out)
{
	ARRAY(const char *) names = { 0 };
	const struct held *first = NULL;
	size_t begin = out->len;

	for (size_t i = 0; i < count; i++) {
		if (!stale[i] || !held_is_run(stale[i]))
			continue;
		array_push(&names, plan_name(p, stale[i]));
		if (!first || own_alone(p->c, first))
			first = stale[i];
	}
	if (first)
		(void)note_runs(out, names.at, names.count,
				own_alone(p->c, first) ? "your edits"
						       : why_of(first));
	for (size_t i = 0; i < count; i++)
		if (stale[i] && held_is_run(stale[i]))
			set_notified(p, stale[i], NOTIFIED_AGAIN, pin, out,
				     begin);
	array_release(&names);
}

/* Do they go into one section? */
static bool is_same_section(const struct plan *p, const struct held *a,
			    const struct held *b)
{
	return is_file(b) && a->verified == b->verified &&
	       a->referents.at[0].path == b->referents.at[0].path &&
	       plan_base(p, a) == plan_base(p, b) &&
	       only_links(p, a) == only_links(p, b);
}

void plan_note(struct plan *p, struct held **stale, size_t count,
	       struct pin *pin, struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		struct held *h = stale[i];
		size_t n = 1, begin = out->len;

		if (held_is_run(h))
			continue;
		if (!is_file(h)) {
			(void)note_outdated(out, plan_name(p, h), why_of(h));
			set_notified(p, h, NOTIFIED_AGAIN, pin, out, begin);
			continue;
		}
		for (size_t k = i + 1; k < count; k++) {
			struct held *o = stale[k];

			if (!is_same_section(p, h, o))
				continue;
			stale[k] = stale[i + n];
			stale[i + n] = o;
			n++;
		}
		note_file(p, stale + i, n, pin, out);
		i += n - 1;
	}
	note_all_runs(p, stale, count, pin, out);
}

/* -- Lines that moved. */

/* How far did line `at` (from 0) go? INT32_MAX: it is gone. */
static int32_t shift_of(const struct linediff *d, uint32_t at)
{
	uint32_t first = at, last = at + 1;

	return linediff_carry(d, &first, &last) ? (int32_t)first - (int32_t)at
						: INT32_MAX;
}

/* The first line in `lines` that went further than a screen; -1: none. */
static int64_t first_moved(const struct linediff *d, struct range lines,
			   int32_t *ret_shift)
{
	uint32_t rows = d->before.rows.count;

	for (uint32_t i = 0; i <= d->hunks.count; i++) {
		/* Behind each hunk, and at the begin, lines move alike. */
		uint32_t at = lines.first;

		if (i > 0)
			at = d->hunks.at[i - 1].before +
			     d->hunks.at[i - 1].before_count;
		if (at < lines.first)
			at = lines.first;
		if (at >= lines.last || at >= rows)
			continue;
		*ret_shift = shift_of(d, at);
		if (*ret_shift != INT32_MAX && abs(*ret_shift) > SCREEN)
			return at;
	}
	return -1;
}

/* Its first line (from 0) that moved too far since its number was told. */
static int64_t find_moved(struct plan *p, const struct held *h,
			  int32_t *ret_shift)
{
	uint64_t told = held_shown(h);
	struct linediff d;
	struct range lines;
	int64_t at;

	if (h->moved_entry > told)
		told = h->moved_entry;
	if (!plan_compare(p, h, told, &d, &lines))
		return -1;
	at = first_moved(&d, lines, ret_shift);
	linediff_release(&d);
	return at;
}

bool plan_is_moved(struct plan *p, const struct held *h)
{
	int32_t shift;

	return is_file(h) && h->verified && h->known >= h->entry &&
	       evidence_touched(p->e, h->referents.at[0].path) &&
	       find_moved(p, h, &shift) >= 0;
}

void plan_note_moved(struct plan *p, struct held *h, struct pin *pin,
		     struct buf *out)
{
	size_t begin = out->len;
	int32_t shift = 0;
	int64_t at = find_moved(p, h, &shift);

	assert(at >= 0);
	(void)note_moved(out, plan_name(p, h), (uint32_t)at + 1, shift);
	set_notified(p, h, NOTIFIED_MOVED, pin, out, begin);
}
