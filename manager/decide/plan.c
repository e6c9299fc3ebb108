#include "manager/decide/plan.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "manager/decide/notes.h"
#include "manager/decide/own.h"

#define TEXT_MAX ((size_t)4 << 20) /* of one note, or one replacement */
/* The guessed size of a replacement before its text is made, in tokens. */
#define TOMBSTONE_TOKENS 40
/*
 * The requests still to come are not known. The estimate is as many as there
 * were since the cache was last empty, at most 30, of which 71 % are counted
 * on: an epoch is paid for at once, and a conversation may end at any time.
 */
#define EXPECTED_MOST	 30
#define EXPECTED_PERCENT 71

void plan_release(struct plan *p)
{
	array_release(&p->failed);
	free(p->later);
	buf_release(&p->retrieved);
	free(p->rank);
	free(p->features);
	decided_release(&p->decided);
}

/* What the newest calls were: failed edits, and whether the last is an edit. */
static void look_at_edits(struct plan *p)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < p->r->count; i++) {
		const struct held *h = p->held[i];
		const struct record *r;

		if (p->r->at[i].attached)
			continue;
		p->editing = false;
		if (h->kind != RECORD_EDIT)
			continue;
		r = records_read(p->r, i);
		p->editing = !r->failed;
		for (uint32_t k = 0;
		     h->fresh && r->failed && k < r->files_count; k++)
			if (evidence_path(&p->e->roots, r->dir,
					  r->files[k].path, path, sizeof(path)))
				array_push(&p->failed,
					   evidence_name(p->e, path));
	}
}

static void set_replacement(struct plan *p, struct held *h, enum replaced how,
			    const struct buf *text)
{
	struct decided d = { .place = DECIDED_IN_PLACE,
			     .action = h->evict			? "EVICT"
				       : h->kind == RECORD_STUB ? "REFRESH"
								: NULL,
			     .form = replaced_names[how],
			     .before = plan_bytes(h),
			     .after = text->len };

	assert(how != REPLACED_NOT && text->len > 0);
	assert(h->item != ITEM_NONE);
	if (h->kind == RECORD_STUB)
		d.why = "it refers to a result that is out of date";
	plan_decided(p, h, d, text->data, text->len);
	free(h->text);
	h->text = must_memdup(text->data, text->len);
	h->len = text->len;
	h->replaced = how;
	h->replaced_entry = p->e->n;
	h->notified = NOTIFIED_NOT;
	h->changed = true;
	if (h->item < p->from && h->item < p->l.cached)
		p->from = h->item;
}

/* The read a stub refers to: the last read of that file before it. */
static struct held *stub_target(const struct plan *p, const struct held *stub)
{
	if (!stub->referents.count)
		return NULL;
	for (uint32_t i = stub->record; i-- > 0;) {
		struct held *h = p->held[i];

		if (h->kind == RECORD_READ && h->referents.count == 1 &&
		    h->referents.at[0].path == stub->referents.at[0].path)
			return h;
	}
	return NULL;
}

/* "Unchanged since last read": put the current text into the stub. */
static void fill_stub(struct plan *p, struct held *stub, struct held *read)
{
	struct buf text = BUF(TEXT_MAX);

	if (plan_stub_text(p, read, &text) == 0 &&
	    cost_tokens(text.len) <= 2ull * read->tokens + 200) {
		set_replacement(p, stub, REPLACED_WHOLE, &text);
		stub->file = false;
		stub->tracked = false;
	}
	buf_release(&text);
}

static bool is_new_stub(const struct held *h)
{
	return h->kind == RECORD_STUB && !h->text && !h->left && h->fresh;
}

static void fill_new_stubs(struct plan *p)
{
	for (uint32_t i = 0; i < p->r->count; i++) {
		struct held *stub = p->held[i], *read;

		if (!is_new_stub(stub))
			continue;
		read = stub_target(p, stub);
		if (read && (read->replaced >= REPLACED_PART ||
			     read->action != ACTION_KEEP))
			fill_stub(p, stub, read);
	}
}

/* Before a read is removed, fill the stub that refers to it. */
static void fill_leaning_stub(struct plan *p, struct held *h)
{
	for (uint32_t i = p->r->count; i-- > h->record + 1;) {
		struct held *stub = p->held[i];

		if (stub->kind == RECORD_STUB && !stub->text &&
		    stub_target(p, stub) == h) {
			fill_stub(p, stub, h);
			return;
		}
	}
}

static uint64_t newest_text_drift(const struct held *h)
{
	uint64_t newest = h->drifted.count ? 0 : h->entry;

	for (uint32_t i = 0; i < h->drifted.count; i++)
		if (h->drifted.at[i].set == 'X' &&
		    h->drifted.at[i].entry > newest)
			newest = h->drifted.at[i].entry;
	return newest;
}

/*
 * Do the calls behind it say what changed, or that it is outdated? A run is by
 * another run of its command, and by edits as long as the model goes on with
 * them; then a line says so, once for each command.
 */
static bool is_in_view(const struct plan *p, const struct held *h)
{
	if (plan_is_rerun(p, h))
		return true;
	if (h->known < h->entry)
		return false;
	return held_is_run(h) ? p->editing || plan_is_run_told(p, h)
			      : !plan_is_failed(p, h);
}

/* Did it go stale since the model was last notified of it? */
static bool is_unnotified(const struct plan *p, const struct held *h)
{
	if (h->entry <= held_shown(h) || is_in_view(p, h))
		return false;
	switch (h->notified) {
	case NOTIFIED_NOT:
	case NOTIFIED_CHANGES:
		return true;
	case NOTIFIED_LINKS:
		return newest_text_drift(h) > h->notified_entry;
	case NOTIFIED_MOVED:
	case NOTIFIED_AGAIN:
	case NOTIFIED:
		return false;
	}
	return true;
}

/* Cached: reading all records of a long talk again takes long. */
static bool is_exact(const struct plan *p, struct held *h)
{
	if (h->exact == EXACT_UNKNOWN)
		h->exact = records_read(p->r, h->record)->shape.exact
				   ? EXACT
				   : EXACT_NOT;
	return h->exact == EXACT;
}

static uint64_t guess_replacement(const struct plan *p, struct held *h)
{
	if (h->action != ACTION_REFRESH)
		return TOMBSTONE_TOKENS;
	if (!h->file && !is_exact(p, h))
		return TOMBSTONE_TOKENS;
	if (p->c->requests - h->born_request < 8)
		return h->tokens;
	return TOMBSTONE_TOKENS + h->tokens / 5;
}

/* Far behind the marks more is lost than what follows the item. */
static uint64_t cached_behind(const struct plan *p, uint32_t item)
{
	uint32_t from;
	size_t end;

	if (item >= p->l.cached)
		return 0;
	from = conversation_reread(p->t, item);
	end = p->t->items[p->l.cached - 1].span.end;
	return cost_tokens(end - p->t->items[from].span.start);
}

struct plan_choice {
	ARRAY(struct stale) stale;
	ARRAY(struct held *) held; /* parallel to `stale` */
	ARRAY(struct sent_note) notes;
	ARRAY(enum decision) decisions;
	ARRAY(struct held *)
	moved; /* only their lines' numbers are to be told */
};

static void plan_choice_release(struct plan_choice *c)
{
	array_release(&c->stale);
	array_release(&c->held);
	array_release(&c->notes);
	array_release(&c->decisions);
	array_release(&c->moved);
}

static void list(struct plan *p, struct plan_choice *c, struct held *h,
		 struct stale s)
{
	assert(c->stale.count == c->held.count);
	assert(!c->held.count || array_last(&c->held)[0]->item < h->item);
	s.item = h->item;
	s.tokens = h->text ? cost_tokens(h->len) : h->tokens;
	s.behind = cached_behind(p, h->item);
	array_push(&c->stale, s);
	array_push(&c->held, h);
}

/* A record to evict, where that makes the request shorter. */
static void list_finished(struct plan *p, struct plan_choice *c, struct held *h)
{
	if (!h->fresh && !p->r->at[h->record].attached &&
	    h->replaced < REPLACED_TOMBSTONE && h->tokens > TOMBSTONE_TOKENS)
		list(p, c, h,
		     (struct stale){ .action = ACTION_DROP,
				     .finished = true,
				     .pending = true,
				     .replaced = TOMBSTONE_TOKENS });
}

/*
 * It reads as the file does: by itself, or only with the notes and edits behind
 * it, without which it is stale again.
 */
static void keep_true(struct plan *p, struct held *h)
{
	uint64_t shown = held_shown(h);

	h->changed = true;
	h->foreign = shown > h->birth ? shown : 0;
	if (plan_shows_now(p, h)) {
		h->birth = p->e->n;
		h->action = ACTION_KEEP;
	} else if (h->leans) {
		h->entry = own_newest(p->c, h, plan_base(p, h));
	} else if (shown > h->birth) {
		h->entry = shown;
	} else {
		h->action = ACTION_KEEP;
	}
	h->known = p->e->n;
}

static void list_nominated(struct plan *p, struct plan_choice *c,
			   struct held *h)
{
	struct stale s = { .action = h->action,
			   .recent = h->entry > p->e->lower,
			   .unnotified = is_unnotified(p, h) };

	if (s.unnotified && !held_is_run(h) && plan_reads_true(p, h)) {
		keep_true(p, h);
		s.unnotified = false;
	}
	if (h->action == ACTION_KEEP) {
		plan_decided(p, h,
			     (struct decided){
				     .form = "",
				     .why = "its text reads as the file does",
				     .before = plan_bytes(h),
				     .after = plan_bytes(h) },
			     "", 0);
		return;
	}
	if (!s.unnotified && plan_is_moved(p, h))
		array_push(&c->moved, h);
	p->counts.stale += h->tokens;
	s.pending = h->replaced == REPLACED_NOT || h->replaced_entry < h->entry;
	/* A result that is new is only ever refreshed; a file attached to
	   the user's message stays as the user sent it. */
	if ((h->fresh && (h->action != ACTION_REFRESH || !s.unnotified)) ||
	    p->r->at[h->record].attached)
		s.pending = false;
	s.replaced = guess_replacement(p, h);
	list(p, c, h, s);
}

static void list_stale(struct plan *p, struct plan_choice *c)
{
	for (uint32_t i = 0; i < p->r->count; i++) {
		struct held *h = p->held[i];

		if (h->tracked)
			p->counts.held += h->tokens;
		if (h->left)
			continue;
		if (h->evict)
			list_finished(p, c, h);
		else if (h->replaced == REPLACED_TOMBSTONE)
			p->counts.stale += h->tokens;
		else if (h->tracked && h->replaced < REPLACED_TOMBSTONE &&
			 h->action != ACTION_KEEP)
			list_nominated(p, c, h);
	}
}

/* The end of the mentions that share the section of mentions[first]. */
static uint32_t section_end(const struct pin *pin, uint32_t first)
{
	uint32_t last = first + 1;

	while (last < pin->mentions.count &&
	       pin->mentions.at[last].end == pin->mentions.at[first].end)
		last++;
	return last;
}

/* Its index in `stale`, which is in the order of records. */
static uint32_t stale_index(const struct plan_choice *c, const struct held *h)
{
	uint32_t low = 0, high = c->held.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (c->held.at[middle]->record < h->record)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->held.count && c->held.at[low] == h ? low : UINT32_MAX;
}

/* Of the records in mentions [first, last), the first pending one's index. */
static uint32_t first_waiting(const struct plan *p, const struct plan_choice *c,
			      const struct mention *first,
			      const struct mention *last)
{
	uint32_t least = UINT32_MAX;

	for (; first < last; first++) {
		const struct held *h = conversation_find(p->c, first->key);
		uint32_t i = h ? stale_index(c, h) : UINT32_MAX;

		if (i < least && c->stale.at[i].pending)
			least = i;
	}
	return least;
}

static void list_notes(struct plan *p, struct plan_choice *c)
{
	struct pin *pin, *next;

	c->notes.count = 0;
	HASH_ITER (hh, p->c->pins, pin, next) {
		size_t at = 0;

		if (pin->item == ITEM_NONE)
			continue;
		for (uint32_t i = 0; i < pin->mentions.count;) {
			uint32_t last = section_end(pin, i);
			size_t end = pin->mentions.at[i].end;

			array_push(&c->notes,
				   ((struct sent_note){
					   first_waiting(
						   p, c, &pin->mentions.at[i],
						   &pin->mentions.at[last]),
					   cost_tokens(end - at) }));
			at = end;
			i = last;
		}
	}
}

/* Is it the last request once more? Then no epoch is paid for. */
static bool is_repeated(const struct plan *p)
{
	return p->l.head && p->l.same == p->t->items_count &&
	       p->l.head->hashes.count == p->l.same;
}

static void choose(struct plan *p, struct plan_choice *c)
{
	uint32_t n = p->c->since_begin;
	struct situation s = { .mode = p->mode,
			       .notes_only = p->notes_only,
			       .free = p->l.free,
			       .cached = p->l.cached,
			       .since_epoch =
				       is_repeated(p) ? 0 : p->c->since_epoch,
			       .tokens = cost_tokens(p->t->len),
			       .price = p->price };

	s.expected = (n > EXPECTED_MOST ? EXPECTED_MOST : n) *
		     EXPECTED_PERCENT / 100;
	array_reserve(&c->decisions, c->stale.count + 1);
	p->epoch = decide(&s, c->stale.at, c->stale.count, c->notes.at,
			  c->notes.count, c->decisions.at);
}

/* Before an epoch that is paid for: replace guessed sizes by real ones. */
static void measure(struct plan *p, struct plan_choice *c)
{
	struct buf text = BUF(TEXT_MAX);

	for (uint32_t i = 0; i < c->stale.count; i++) {
		struct stale *s = &c->stale.at[i];

		if (!s->pending || c->held.at[i]->action == ACTION_ANNOTATE)
			continue;
		if (plan_replacement(p, c->held.at[i], &text) == REPLACED_NOT)
			s->pending = false;
		else
			s->replaced = cost_tokens(text.len);
	}
	buf_release(&text);
}

static void count_replaced(struct plan *p, const struct held *h,
			   uint64_t before)
{
	p->counts.replaced++;
	if (h->replaced == REPLACED_WHOLE || h->replaced == REPLACED_PART)
		p->counts.refreshed += before;
	else if (h->replaced == REPLACED_EVICTED)
		p->counts.evicted += before;
	else if (h->action == ACTION_RERUN)
		p->counts.rerun += before;
	else
		p->counts.dropped += before;
}

static void replace_all(struct plan *p, struct plan_choice *c)
{
	struct buf text = BUF(TEXT_MAX);

	/* From the end: lines that a later record shows are not shown twice. */
	for (uint32_t i = c->stale.count; i-- > 0;) {
		struct held *h = c->held.at[i];
		enum replaced how;

		if (c->decisions.at[i] != DECISION_REPLACE)
			continue;
		how = plan_replacement(p, h, &text);
		if (how == REPLACED_NOT ||
		    (h->fresh && how != REPLACED_WHOLE)) {
			c->decisions.at[i] = c->stale.at[i].unnotified
						     ? DECISION_NOTE
						     : DECISION_NONE;
			continue;
		}
		if (how != REPLACED_WHOLE)
			fill_leaning_stub(p, h);
		set_replacement(p, h, how, &text);
		count_replaced(p, h, c->stale.at[i].tokens);
	}
	buf_release(&text);
}

/* The record of a mention; *ret: its replacement is as new as the note. */
static struct held *overtaken(const struct plan *p, const struct mention *a,
			      bool *ret)
{
	struct held *h = conversation_find(p->c, a->key);

	*ret = h && h->item != ITEM_NONE && h->replaced != REPLACED_NOT &&
	       h->replaced_entry >= a->entry;
	return h;
}

/* No note names it any longer: add it to the new note. */
static void notify_again(struct plan_choice *c, struct held *h)
{
	h->notified = NOTIFIED_NOT;
	h->known = held_shown(h);
	for (uint32_t i = 0; i < c->stale.count; i++)
		if (c->held.at[i] == h && c->decisions.at[i] == DECISION_NONE)
			c->decisions.at[i] = DECISION_NOTE;
}

/* List that the section of mentions[first] is no longer sent. */
static void list_cut(struct plan *p, const struct pin *pin, uint32_t first)
{
	const struct mention *m = &pin->mentions.at[first];
	const struct held *h = conversation_find(p->c, m->key);
	size_t begin = first ? m[-1].end : 0;
	struct decided d = { .key = m->key,
			     .what = m->key,
			     .why = "its record was replaced in place",
			     .action = "",
			     .form = notified_names[m->how],
			     .place = DECIDED_NOTE_CUT,
			     .entry = m->entry,
			     .before = m->end - begin };

	if (h && h->item != ITEM_NONE)
		plan_decided(p, h, d, "", 0);
	else
		decided_add(&p->decided, &d, "", 0);
}

/*
 * Remove the sections on records that were replaced since: they would describe
 * a text that is no longer there. A note stands behind its records, so the
 * cache loses its bytes anyway.
 */
static void cut_notes(struct plan *p, struct plan_choice *c, struct pin *pin)
{
	for (uint32_t i = 0; i < pin->mentions.count;) {
		uint32_t last = section_end(pin, i);
		bool cut = false, over;

		for (uint32_t k = i; k < last; k++) {
			(void)overtaken(p, &pin->mentions.at[k], &over);
			cut = cut || over;
		}
		for (uint32_t k = i; cut && k < last; k++) {
			struct held *h =
				overtaken(p, &pin->mentions.at[k], &over);

			if (h && !over)
				notify_again(c, h);
		}
		if (cut) {
			list_cut(p, pin, i);
			pin_cut(pin, i, last);
		} else
			i = last;
		if (cut && pin->item < p->from && pin->item < p->l.cached)
			p->from = pin->item;
	}
	pin->gone = !pin->mentions.count;
}

static void remove_notes(struct plan *p, struct plan_choice *c)
{
	struct pin *pin, *next;

	HASH_ITER (hh, p->c->pins, pin, next)
		if (pin->item != ITEM_NONE)
			cut_notes(p, c, pin);
}

/* Its mention names no record, so no replacement ever removes it. */
static void add_retrieved(struct plan *p, struct pin *pin, struct buf *text)
{
	char none[] = "";

	if (!p->retrieved.len ||
	    note_retrieved(text, p->retrieved.data, p->retrieved.len) < 0)
		return;
	decided_add(&p->decided,
		    &(struct decided){ .key = none,
				       .what = "code for the next step",
				       .why = "the policy chose it",
				       .action = "RETRIEVE",
				       .form = "",
				       .place = DECIDED_NOTE,
				       .after = p->retrieved.len },
		    p->retrieved.data, p->retrieved.len);
	p->counts.retrieved += cost_tokens(p->retrieved.len);
	pin_mention(pin, &(struct mention){ none, NOTIFIED_NOT, p->e->n,
					    p->e->n, p->e->n, text->len });
}

static void add_note(struct plan *p, struct held **stale, size_t count,
		     const struct plan_choice *c)
{
	struct buf text = BUF(TEXT_MAX);
	bool any = count || c->moved.count || p->retrieved.len;
	struct pin *pin = any ? plan_newest_pin(p) : NULL;

	if (!pin)
		return;
	if (pin->len)
		(void)buf_add(&text, pin->text, pin->len);
	else if (p->t->items[pin->item].kind == ITEM_USER)
		(void)note_automatic(&text);
	plan_note(p, stale, count, pin, &text);
	for (uint32_t i = 0; i < c->moved.count; i++)
		if (c->moved.at[i]->replaced_entry < p->e->n)
			plan_note_moved(p, c->moved.at[i], pin, &text);
	add_retrieved(p, pin, &text);
	p->counts.notified += (uint32_t)count;
	plan_put_note(p, pin, &text);
	buf_release(&text);
}

static void add_notes(struct plan *p, const struct plan_choice *c)
{
	ARRAY(struct held *) stale = { 0 };
	struct pin *pin, *next;

	p->c->note_tokens = 0;
	HASH_ITER (hh, p->c->pins, pin, next)
		if (pin->item != ITEM_NONE && !pin->gone)
			p->c->note_tokens += cost_tokens(pin->len);
	for (uint32_t i = 0; i < c->stale.count; i++) {
		struct held *h = c->held.at[i];

		if (c->decisions.at[i] == DECISION_NOTE)
			array_push(&stale, h);
	}
	add_note(p, stale.at, stale.count, c);
	array_release(&stale);
}

/* What the mode and the login forbid did not happen. */
static void check_made(const struct plan *p)
{
	assert(p->mode != MODE_OFF ||
	       p->counts.replaced + p->counts.notified == 0);
	assert(!p->notes_only || p->counts.replaced == 0);
}

/* False: not in time. */
static bool gather(struct plan *p, const struct plan_choice *c)
{
	bool paid = p->epoch == EPOCH_PROFIT || p->epoch == EPOCH_FULL;

	for (uint32_t i = 0; i < p->r->count; i++) {
		const struct held *read = NULL;

		if (is_new_stub(p->held[i]))
			read = stub_target(p, p->held[i]);
		if (read)
			plan_gather(p, read, true);
	}
	for (uint32_t i = 0; i < c->stale.count; i++) {
		bool replace = paid ? c->stale.at[i].pending
				    : c->decisions.at[i] == DECISION_REPLACE;

		if (replace || c->decisions.at[i] == DECISION_NOTE)
			plan_gather(p, c->held.at[i], replace);
		if (evidence_late(p->e))
			return false;
	}
	return !evidence_late(p->e);
}

static void carry_out(struct plan *p, struct plan_choice *c)
{
	if (p->mode != MODE_OFF && !p->notes_only)
		fill_new_stubs(p);
	if (p->epoch == EPOCH_PROFIT || p->epoch == EPOCH_FULL) {
		measure(p, c);
		list_notes(p, c);
		choose(p, c);
	}
	if (p->mode != MODE_OFF) {
		replace_all(p, c);
		remove_notes(p, c);
		add_notes(p, c);
		if (p->epoch == EPOCH_PROFIT || p->epoch == EPOCH_FULL)
			p->c->since_epoch = 0;
	}
}

int plan_make(struct plan *p)
{
	struct plan_choice c = { 0 };
	bool in_time;

	p->from = ITEM_NONE;
	look_at_edits(p);
	plan_find_later(p);
	plan_ask_policy(p);
	list_stale(p, &c);
	list_notes(p, &c);
	choose(p, &c);
	in_time = gather(p, &c);
	if (in_time)
		carry_out(p, &c);
	else
		p->epoch = EPOCH_NONE;
	check_made(p);
	plan_choice_release(&c);
	return in_time ? 0 : -ETIMEDOUT;
}
