#include "manager/decide/plan.h"

#include <errno.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "manager/decide/notes.h"

#define TEXT_MAX ((size_t)4 << 20) /* of one note, or of one place */
/* How a place is guessed before its text is made, in tokens. */
#define STONE_TOKENS 40
/*
 * Requests still to come: nobody knows, so as many as there were since the
 * talk began or was begun anew, thirty at most; and of these only a part is
 * counted on, for an epoch is paid at once and a talk may end at any time.
 */
#define EXPECTED_MOST	 30
#define EXPECTED_PERCENT 71

void plan_release(struct plan *p)
{
	array_release(&p->own);
	free(p->later);
	buf_release(&p->retrieved);
}

/*
 * Files that edits of this very request changed, and how often. Only what the
 * model wrote word for word counts: what a command of its did (sed -i, a
 * formatter) it has yet to see.
 */
static void find_own_edits(struct plan *p)
{
	for (uint32_t i = 0; i < p->r->count; i++) {
		const struct held *h = p->held[i];
		uint32_t path, k = 0;

		if (!h->fresh || h->kind != RECORD_EDIT ||
		    records_read(p->r, i)->failed ||
		    records_read(p->r, i)->command || !h->referents.count)
			continue;
		path = h->referents.at[0].path;
		while (k < p->own.count && p->own.at[k].path != path)
			k++;
		if (k == p->own.count)
			array_push(&p->own, ((struct own_edits){ path, 0 }));
		p->own.at[k].count++;
	}
}

static void set_place(struct plan *p, struct held *h, enum placed_how how,
		      const struct buf *text)
{
	free(h->text);
	h->text = must_memdup(text->data, text->len);
	h->len = text->len;
	h->placed = how;
	h->placed_entry = p->e->n;
	h->told = TOLD_NOTHING;
	h->changed = true;
	if (h->item < p->from && h->item < p->l.cached)
		p->from = h->item;
}

/* The read a stub refers to: the last one of that file before it. */
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

/* "Unchanged since last read": then the stub shows what is there now. */
static void fill_stub(struct plan *p, struct held *stub, struct held *read)
{
	struct buf text = BUF(TEXT_MAX);

	if (plan_stub_text(p, read, &text) == 0 &&
	    tokens_of(text.len) <= 2ull * read->tokens + 200) {
		set_place(p, stub, PLACED_WHOLE, &text);
		stub->file = false;
		stub->tracked = false;
	}
	buf_release(&text);
}

static void fill_new_stubs(struct plan *p)
{
	for (uint32_t i = 0; i < p->r->count; i++) {
		struct held *stub = p->held[i], *read;

		if (stub->kind != RECORD_STUB || stub->text || !stub->fresh)
			continue;
		read = stub_target(p, stub);
		if (read && (read->placed >= PLACED_PART ||
			     read->action != ACTION_KEEP))
			fill_stub(p, stub, read);
	}
}

/* Before a read goes from its place, the stub that leans on it is filled. */
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

/* The user's words before the first answer. */
static struct text task_of(const struct plan *p)
{
	const struct transcript *t = p->t;
	const struct item_piece *task = NULL;

	for (uint32_t i = 0; i < t->items_count; i++) {
		const struct item *at = &t->items[i];

		if (at->kind == ITEM_ASSISTANT || at->kind == ITEM_CALL)
			break;
		if (at->kind == ITEM_USER && at->pieces_count)
			task = at->pieces;
	}
	return task ? transcript_piece(t, task, &p->r->arena)
		    : (struct text){ "", 0 };
}

/* Each for the policy to look at, with what the tape says of it. */
static void show_records(const struct plan *p, struct policy_record *in,
			 enum action *actions)
{
	for (uint32_t i = 0; i < p->r->count; i++) {
		const struct held *h = p->held[i];

		in[i] = (struct policy_record){
			.key = h->key,
			.kind = h->file ? RECORD_READ : h->kind,
			.tokens = h->tokens,
			.age = p->c->requests - h->born_request,
			.action = h->action,
			.why = h->why,
			.entry = h->entry,
		};
		actions[i] = h->action;
		if (h->referents.count == 1) {
			in[i].path = conversation_name(p->c,
						       h->referents.at[0].path);
			in[i].start = h->referents.at[0].start;
			in[i].end = h->referents.at[0].end;
		}
		if (h->action != ACTION_KEEP)
			in[i].superseded = plan_superseded(p, h);
	}
}

/* What the policy makes of the nominations. */
static void ask_policy(struct plan *p)
{
	struct policy_record *in = must_calloc(p->r->count + 1, sizeof(*in));
	enum action *actions = must_calloc(p->r->count + 1, sizeof(*actions));
	bool *evict = must_calloc(p->r->count + 1, sizeof(*evict));
	struct policy_in all = { .records = in,
				 .count = p->r->count,
				 .all = p->r,
				 .asks = p->e->asks,
				 .task = task_of(p),
				 .budget = plan_notes_left(p, NULL) };
	struct policy_out out = { actions, evict, &p->retrieved };

	p->retrieved = BUF(TEXT_MAX);
	show_records(p, in, actions);
	if (p->policy->decide(&all, &out) < 0) {
		p->policy_failed = true;
		p->retrieved.len = 0;
		memset(evict, 0, p->r->count * sizeof(*evict));
		show_records(p, in, actions);
		(void)policy_defaults.decide(&all, &out);
	}
	if (tokens_of(p->retrieved.len) > all.budget)
		p->retrieved.len = 0;
	for (uint32_t i = 0; i < p->r->count; i++) {
		p->held[i]->action = actions[i];
		p->held[i]->evict = evict[i] && actions[i] == ACTION_KEEP;
	}
	free(in);
	free(actions);
	free(evict);
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

/* Has it gone stale beyond what the model was told? */
static bool is_untold(const struct plan *p, const struct held *h)
{
	if (h->entry <= held_shown(h))
		return false;
	switch (h->told) {
	case TOLD_NOTHING:
	case TOLD_CHANGES:
		return true;
	case TOLD_LINKS:
		return newest_text_drift(h) > h->told_entry;
	case TOLD_OWN:
		return h->entry > h->told_entry && !plan_own(p, h);
	case TOLD_AGAIN:
		return false;
	}
	return true;
}

/* Found once: to read the records of a long talk anew takes long. */
static bool is_exact(const struct plan *p, struct held *h)
{
	if (h->exact == EXACT_UNKNOWN)
		h->exact = records_read(p->r, h->record)->shape.exact
				   ? EXACT
				   : EXACT_NOT;
	return h->exact == EXACT;
}

static uint64_t guess_placed(const struct plan *p, struct held *h)
{
	if (h->action != ACTION_REFRESH)
		return STONE_TOKENS;
	if (!h->file && !is_exact(p, h))
		return STONE_TOKENS;
	if (p->c->requests - h->born_request < 8)
		return h->tokens;
	return STONE_TOKENS + h->tokens / 5;
}

static uint64_t cached_behind(const struct plan *p, uint32_t item)
{
	size_t end;

	if (item >= p->l.cached)
		return 0;
	end = p->t->items[p->l.cached - 1].span.end;
	return tokens_of(end - p->t->items[item].span.start);
}

struct choice {
	ARRAY(struct stale) stale;
	ARRAY(struct held *) held; /* of each stale one */
	ARRAY(struct told) told;
	ARRAY(enum doing) doing;
};

static void choice_release(struct choice *c)
{
	array_release(&c->stale);
	array_release(&c->held);
	array_release(&c->told);
	array_release(&c->doing);
}

static void list(struct plan *p, struct choice *c, struct held *h,
		 struct stale s)
{
	s.item = h->item;
	s.tokens = h->text ? tokens_of(h->len) : h->tokens;
	s.behind = cached_behind(p, h->item);
	array_push(&c->stale, s);
	array_push(&c->held, h); /* NOLINT(bugprone-sizeof-*) */
}

/* One that is true, and may go where that makes the request shorter. */
static void list_finished(struct plan *p, struct choice *c, struct held *h)
{
	if (!h->fresh && !p->r->at[h->record].attached &&
	    h->placed < PLACED_STONE && h->tokens > STONE_TOKENS)
		list(p, c, h,
		     (struct stale){ .action = ACTION_DROP,
				     .finished = true,
				     .waits = true,
				     .placed = STONE_TOKENS });
}

static void list_nominated(struct plan *p, struct choice *c, struct held *h)
{
	struct stale s = { .action = h->action, .untold = is_untold(p, h) };

	if (s.untold && plan_reads_true(p, h)) {
		h->action = ACTION_KEEP;
		return;
	}
	p->counts.stale += h->tokens;
	s.waits = h->placed == PLACED_NOT || h->placed_entry < h->entry;
	/* Nothing read just now is taken away again; and what the user's text
	   says, he said. */
	if ((h->fresh && h->action != ACTION_REFRESH) ||
	    p->r->at[h->record].attached)
		s.waits = false;
	s.placed = guess_placed(p, h);
	list(p, c, h, s);
}

static void list_stale(struct plan *p, struct choice *c)
{
	for (uint32_t i = 0; i < p->r->count; i++) {
		struct held *h = p->held[i];

		if (h->tracked)
			p->counts.held += h->tokens;
		if (h->evict)
			list_finished(p, c, h);
		else if (h->placed == PLACED_STONE)
			p->counts.stale += h->tokens;
		else if (h->tracked && h->placed < PLACED_STONE &&
			 h->action != ACTION_KEEP)
			list_nominated(p, c, h);
	}
}

/* Where the section that begins with about[first] ends. */
static uint32_t section_end(const struct pin *pin, uint32_t first)
{
	uint32_t last = first + 1;

	while (last < pin->about.count &&
	       pin->about.at[last].end == pin->about.at[first].end)
		last++;
	return last;
}

/* Its index among the stale ones, which stand in the records' order. */
static uint32_t stale_index(const struct choice *c, const struct held *h)
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

/* The first waiting record that about[first, last) speaks of, as an index. */
static uint32_t first_waiting(const struct plan *p, const struct choice *c,
			      const struct about *first,
			      const struct about *last)
{
	uint32_t least = UINT32_MAX;

	for (; first < last; first++) {
		const struct held *h = conversation_find(p->c, first->key);
		uint32_t i = h ? stale_index(c, h) : UINT32_MAX;

		if (i < least && c->stale.at[i].waits)
			least = i;
	}
	return least;
}

static void list_told(struct plan *p, struct choice *c)
{
	struct pin *pin, *next;

	c->told.count = 0;
	HASH_ITER (hh, p->c->pins, pin, next) {
		size_t at = 0;

		if (pin->item == ITEM_NONE)
			continue;
		for (uint32_t i = 0; i < pin->about.count;) {
			uint32_t last = section_end(pin, i);
			size_t end = pin->about.at[i].end;

			array_push(
				&c->told,
				((struct told){
					first_waiting(p, c, &pin->about.at[i],
						      &pin->about.at[last]),
					tokens_of(end - at) }));
			at = end;
			i = last;
		}
	}
}

static void choose(struct plan *p, struct choice *c)
{
	uint32_t n = p->c->since_begin;
	struct situation s = { .mode = p->mode,
			       .notes_only = p->notes_only,
			       .free = p->l.free,
			       .cached = p->l.cached,
			       .since_epoch = p->c->since_epoch,
			       .tokens = tokens_of(p->t->len),
			       .price = p->price };

	s.expected = (n > EXPECTED_MOST ? EXPECTED_MOST : n) *
		     EXPECTED_PERCENT / 100;
	array_reserve(&c->doing, c->stale.count + 1);
	p->epoch = decide(&s, c->stale.at, c->stale.count, c->told.at,
			  c->told.count, c->doing.at);
}

/* Before an epoch that costs something: what do the places really take? */
static void measure(struct plan *p, struct choice *c)
{
	struct buf text = BUF(TEXT_MAX);

	for (uint32_t i = 0; i < c->stale.count; i++) {
		struct stale *s = &c->stale.at[i];

		if (!s->waits || c->held.at[i]->action == ACTION_ANNOTATE)
			continue;
		if (plan_place_text(p, c->held.at[i], &text) == PLACED_NOT)
			s->waits = false;
		else
			s->placed = tokens_of(text.len);
	}
	buf_release(&text);
}

static void count_placed(struct plan *p, const struct held *h, uint64_t before)
{
	p->counts.placed++;
	if (h->placed == PLACED_WHOLE || h->placed == PLACED_PART)
		p->counts.refreshed += before;
	else if (h->placed == PLACED_EVICTED)
		p->counts.evicted += before;
	else if (h->action == ACTION_RERUN)
		p->counts.rerun += before;
	else
		p->counts.dropped += before;
}

static void place_all(struct plan *p, struct choice *c)
{
	struct buf text = BUF(TEXT_MAX);

	/* From the end: what a later record shows need not be shown twice. */
	for (uint32_t i = c->stale.count; i-- > 0;) {
		struct held *h = c->held.at[i];
		enum placed_how how;

		if (c->doing.at[i] != DO_PLACE)
			continue;
		how = plan_place_text(p, h, &text);
		if (how == PLACED_NOT || (h->fresh && how != PLACED_WHOLE)) {
			c->doing.at[i] =
				c->stale.at[i].untold ? DO_NOTE : DO_NOTHING;
			continue;
		}
		if (how != PLACED_WHOLE)
			fill_leaning_stub(p, h);
		set_place(p, h, how, &text);
		count_placed(p, h, c->stale.at[i].tokens);
	}
	buf_release(&text);
}

/* Does the record's place say more than the note does? */
static struct held *overtaken(const struct plan *p, const struct about *a,
			      bool *ret)
{
	struct held *h = conversation_find(p->c, a->key);

	*ret = h && h->item != ITEM_NONE && h->placed != PLACED_NOT &&
	       h->placed_entry >= a->entry;
	return h;
}

/* Nothing tells of it any more; a note will. */
static void tell_again(struct choice *c, struct held *h)
{
	h->told = TOLD_NOTHING;
	for (uint32_t i = 0; i < c->stale.count; i++)
		if (c->held.at[i] == h && c->doing.at[i] == DO_NOTHING)
			c->doing.at[i] = DO_NOTE;
}

/*
 * A note on what has been put right since would speak of a text that is not
 * there. It stands behind the record, so its bytes are written anew anyway.
 */
static void cut_notes(struct plan *p, struct choice *c, struct pin *pin)
{
	for (uint32_t i = 0; i < pin->about.count;) {
		uint32_t last = section_end(pin, i);
		bool cut = false, over;

		for (uint32_t k = i; k < last; k++) {
			(void)overtaken(p, &pin->about.at[k], &over);
			cut = cut || over;
		}
		for (uint32_t k = i; cut && k < last; k++) {
			struct held *h = overtaken(p, &pin->about.at[k], &over);

			if (h && !over)
				tell_again(c, h);
		}
		if (cut)
			pin_cut(pin, i, last);
		else
			i = last;
		if (cut && pin->item < p->from && pin->item < p->l.cached)
			p->from = pin->item;
	}
	pin->gone = !pin->about.count;
}

static void remove_notes(struct plan *p, struct choice *c)
{
	struct pin *pin, *next;

	HASH_ITER (hh, p->c->pins, pin, next)
		if (pin->item != ITEM_NONE)
			cut_notes(p, c, pin);
}

static const struct held *newest_result(const struct plan *p)
{
	for (uint32_t i = p->r->count; i-- > 0;)
		if (!p->r->at[i].attached)
			return p->held[i];
	/* Where nothing was called yet there may be files all the same. */
	for (uint32_t i = p->r->count; i-- > 0;)
		if (p->t->items[p->r->at[i].item].place != ITEM_NONE)
			return p->held[i];
	return NULL;
}

/*
 * The note behind the newest result, where all notes of this request go; begun
 * anew if it was taken away just now. NULL: there is no result yet.
 */
static struct pin *newest_pin(struct plan *p)
{
	const struct held *anchor = newest_result(p);
	struct pin *pin;

	if (!anchor)
		return NULL;
	pin = conversation_pin(p->c, anchor->key);
	if (pin->gone)
		pin_clear(pin);
	pin->gone = false;
	pin->item = anchor->item;
	return pin;
}

/* It speaks of no record, so nothing ever overtakes it. */
static void add_retrieved(struct plan *p, struct pin *pin, struct buf *text)
{
	char none[] = "";

	if (!p->retrieved.len ||
	    note_retrieved(text, p->retrieved.data, p->retrieved.len) < 0)
		return;
	p->counts.retrieved += tokens_of(p->retrieved.len);
	pin_speak(pin, &(struct about){ none, TOLD_NOTHING, p->e->n, p->e->n,
					text->len });
}

static void add_note(struct plan *p, struct held **stale, size_t count)
{
	struct buf text = BUF(TEXT_MAX);
	struct pin *pin = count || p->retrieved.len ? newest_pin(p) : NULL;

	if (!pin)
		return;
	if (pin->len)
		(void)buf_add(&text, pin->text, pin->len);
	plan_note(p, stale, count, pin, &text);
	add_retrieved(p, pin, &text);
	p->counts.told += (uint32_t)count;
	p->counts.notes += tokens_of(text.len - pin->len);
	if (pin->len && pin->item < p->from && pin->item < p->l.cached)
		p->from = pin->item + 1;
	free(pin->text);
	pin->text = must_memdup(text.data, text.len);
	pin->len = text.len;
	pin->changed = true;
	buf_release(&text);
}

/* It was told of the reader's own edits; more of them say so themselves. */
static void stay_told(struct plan *p, const struct held *h)
{
	struct pin *pin = newest_pin(p);

	if (!pin)
		return;
	pin_speak(pin, &(struct about){ h->key, TOLD_OWN, held_shown(h),
					p->e->n, pin->len });
}

static void add_notes(struct plan *p, const struct choice *c)
{
	ARRAY(struct held *) stale = { 0 };
	struct pin *pin, *next;

	p->c->note_tokens = 0;
	HASH_ITER (hh, p->c->pins, pin, next)
		if (pin->item != ITEM_NONE && !pin->gone)
			p->c->note_tokens += tokens_of(pin->len);
	for (uint32_t i = 0; i < c->stale.count; i++) {
		struct held *h = c->held.at[i];

		if (c->doing.at[i] == DO_NOTE)
			array_push(&stale, h); /* NOLINT(bugprone-sizeof-*) */
		else if (h->told == TOLD_OWN && h->entry > h->told_entry &&
			 !c->stale.at[i].untold)
			stay_told(p, h);
	}
	add_note(p, stale.at, stale.count);
	array_release(&stale);
}

void plan_make(struct plan *p)
{
	struct choice c = { 0 };

	p->from = ITEM_NONE;
	find_own_edits(p);
	plan_find_later(p);
	ask_policy(p);
	if (p->mode != MODE_OFF && !p->notes_only)
		fill_new_stubs(p);
	list_stale(p, &c);
	list_told(p, &c);
	choose(p, &c);
	if (p->epoch == EPOCH_PROFIT || p->epoch == EPOCH_FULL) {
		measure(p, &c);
		list_told(p, &c);
		choose(p, &c);
	}
	if (p->mode != MODE_OFF) {
		place_all(p, &c);
		remove_notes(p, &c);
		add_notes(p, &c);
		if (p->epoch == EPOCH_PROFIT || p->epoch == EPOCH_FULL)
			p->c->since_epoch = 0;
	}
	choice_release(&c);
}

/* -- What is sent. */

/* The last result of the run, or message, that `item` stands in. */
static uint32_t place_of(const struct transcript *t, uint32_t item)
{
	uint32_t last = item;

	for (uint32_t i = item + 1; i < t->items_count; i++) {
		if (t->items[i].kind != ITEM_RESULT)
			break;
		if (t->dialect == DIALECT_MESSAGES &&
		    t->items[i].message != t->items[item].message)
			break;
		last = i;
	}
	return last;
}

static int note_order(const void *a, const void *b)
{
	const struct rewrite_note *x = a, *y = b;

	return x->item < y->item ? -1 : x->item > y->item;
}

static void join_notes(const struct plan *p, struct plan_rewriting *ret)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; ret->notes.at && i < ret->notes.count; i++) {
		struct rewrite_note *n = &ret->notes.at[i];
		struct rewrite_note *last =
			kept ? &ret->notes.at[kept - 1] : NULL;
		char *both;

		if (!last ||
		    place_of(p->t, last->item) != place_of(p->t, n->item)) {
			ret->notes.at[kept++] = *n;
			continue;
		}
		both = must_alloc(last->len + n->len + 1);
		memcpy(both, last->text, last->len);
		memcpy(both + last->len, n->text, n->len);
		both[last->len + n->len] = '\0';
		array_push(&ret->joined, both);
		last->text = both;
		last->len += n->len;
	}
	ret->notes.count = kept;
}

void plan_rewriting(const struct plan *p, struct plan_rewriting *ret)
{
	struct pin *pin, *next;

	*ret = (struct plan_rewriting){ 0 };
	for (uint32_t i = 0; i < p->r->count; i++) {
		const struct held *h = p->held[i];

		if (h->text)
			array_push(&ret->replacements,
				   ((struct replacement){ h->item, h->text,
							  h->len }));
	}
	HASH_ITER (hh, p->c->pins, pin, next)
		if (pin->item != ITEM_NONE && pin->len && !pin->gone)
			array_push(&ret->notes,
				   ((struct rewrite_note){ pin->item, pin->text,
							   pin->len }));
	if (ret->notes.count)
		qsort(ret->notes.at, ret->notes.count, sizeof(*ret->notes.at),
		      note_order);
	join_notes(p, ret);
	ret->all = (struct rewriting){
		ret->replacements.at,
		ret->replacements.count,
		ret->notes.at,
		ret->notes.count,
	};
}

void plan_rewriting_release(struct plan_rewriting *r)
{
	for (uint32_t i = 0; i < r->joined.count; i++)
		free(r->joined.at[i]);
	array_release(&r->joined);
	array_release(&r->replacements);
	array_release(&r->notes);
}
