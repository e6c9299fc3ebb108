/*
 * From a request received to the request sent. On failure:
 *
 *   unknown path or body, side request, internal
 *   error, failed self-check, deadline passed      -> the bytes received
 *   tape not running, late, or not ready           -> earlier decisions are
 *                                                     sent again, no new ones
 *                                                     are made
 *
 * Sending earlier decisions without a tape is safe: each text was true when it
 * was made and says as of when. The provider's cache holds them too, so leaving
 * them out would cost a rewrite of the cache and hide from the model what it
 * was notified of.
 *
 * When the replies of a conversation show twice in a row that the cache read
 * less than predicted, no new decisions are made in it; earlier ones are sent
 * again, for the same reason.
 *
 * Locks: `brain.lock` guards the table of conversations and is held for
 * look-ups only. A conversation's lock is held while its request is processed.
 * Order: conversation.lock, then brain.lock.
 */
#include "manager/decide/brain.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/debug.h"
#include "manager/decide/brain_i.h"
#include "manager/decide/plan.h"
#include "manager/decide/step.h"
#include "manager/transcript/sse.h"
#include "tape/wire/links.h"
#include "tape/wire/protocol.h"
#include "tape/wire/subscribe.h"

/* Conversations kept in memory; others are loaded from the archive. */
#define CONVERSATIONS_MAX 32
/* What the tape may take for the held files, and then for all others; and how
   long an answer is waited for. */
#define SYNC_HELD_MS 100
#define SYNC_ALL_MS  100
#define SYNC_MS	     250
#define QUESTION_MS  1000 /* any other question to the tape */
/* Of the deadline, reserved for putting the new body together. */
#define SPLICE_NS 5000000

void brain_say(struct brain *b, const char *format, ...)
{
	CLEANUP(free_p) char *text = NULL;
	va_list args;
	int len;

	if (!b->say)
		return;
	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len >= 0)
		b->say(b->say_ctx, text);
	else
		text = NULL;
}

static int refuse(char **ret_why, const char *sentence)
{
	if (ret_why)
		*ret_why = must_strdup(sentence);
	return -EINVAL;
}

int brain_new(const struct brain_options *o, struct brain **ret, char **ret_why)
{
	struct brain *b;
	int rc;

	if (!o->repo || o->repo[0] != '/')
		return refuse(ret_why, "the repository's path is not absolute");
	b = must_calloc(1, sizeof(*b));
	(void)pthread_mutex_init(&b->lock, NULL);
	b->policy = o->policy ? o->policy : &policy_defaults;
	b->mode = o->mode;
	b->repo = o->repo ? must_strdup(o->repo) : NULL;
	b->other = o->other ? must_strdup(o->other) : NULL;
	b->cwd = o->cwd ? must_strdup(o->cwd) : NULL;
	b->subscriptions = o->subscriptions;
	b->no_prompts = o->no_prompts;
	b->keep_days = o->keep_days;
	b->keep_bytes = o->keep_bytes;
	b->ask = o->ask;
	b->ask_ctx = o->ask_ctx;
	if (!b->ask && o->tape_socket) {
		b->links = links_new(o->tape_socket);
		b->ask = links_ask;
		b->ask_ctx = b->links;
	}
	b->say = o->say;
	b->say_ctx = o->say_ctx;
	/* Without it decisions are made as before, only later. */
	if (o->pub_socket)
		(void)subscribe_open(o->pub_socket, NULL, NULL, &b->subscribe);
	prices_init(&b->prices);
	rc = o->prices ? prices_override(&b->prices, o->prices, ret_why) : 0;
	if (rc == 0)
		rc = archive_open(o->dir, true, &b->archive, ret_why);
	if (rc < 0) {
		brain_free(b);
		return rc;
	}
	brain_keep(b);
	*ret = b;
	return 0;
}

void brain_keep(struct brain *b)
{
	if ((b->keep_days || b->keep_bytes) &&
	    archive_keep(b->archive, b->keep_days, b->keep_bytes,
			 clock_wall_ns()) < 0)
		brain_say(b, "The manager's archive could not be made smaller");
}

/* NOLINTBEGIN(readability-function-*): uthash's macros are not ours. */
void brain_free(struct brain *b)
{
	struct conversation *c, *next;

	if (!b)
		return;
	HASH_ITER (hh, b->conversations, c, next) {
		HASH_DEL(b->conversations, c);
		conversation_free(c);
	}
	archive_free(b->archive);
	prices_release(&b->prices);
	(void)pthread_mutex_destroy(&b->lock);
	free(b->repo);
	free(b->other);
	free(b->cwd);
	links_free(b->links);
	subscribe_free(b->subscribe);
	free(b);
}

/* -- The table of conversations. */

static void forget_oldest_locked(struct brain *b)
{
	struct conversation *c, *next, *oldest = NULL;

	if (HASH_COUNT(b->conversations) <= CONVERSATIONS_MAX)
		return;
	HASH_ITER (hh, b->conversations, c, next)
		if (!c->users && (!oldest || c->used_ns < oldest->used_ns))
			oldest = c;
	if (!oldest)
		return;
	HASH_DEL(b->conversations, oldest);
	conversation_free(oldest);
}

struct conversation *brain_conversation(struct brain *b, const char *key,
					int64_t at_ns)
{
	struct conversation *c;

	(void)pthread_mutex_lock(&b->lock);
	HASH_FIND_STR(b->conversations, key, c);
	if (!c) {
		forget_oldest_locked(b);
		c = conversation_new(key);
		HASH_ADD_KEYPTR(hh, b->conversations, c->key, strlen(c->key),
				c);
	}
	c->users++;
	c->used_ns = clock_mono_ns();
	if (at_ns) {
		c->before_ns = c->asked_ns;
		c->asked_ns = at_ns;
	}
	(void)pthread_mutex_unlock(&b->lock);
	return c;
}

/* NOLINTEND(readability-function-*) */

void brain_leave(struct brain *b, struct conversation *c)
{
	(void)pthread_mutex_lock(&b->lock);
	assert(c->users > 0);
	c->users--;
	(void)pthread_mutex_unlock(&b->lock);
}

/* -- One request. */

/* Everything about one request, while its conversation's lock is held. */
struct thought {
	struct brain *b;
	const struct request *r;
	struct turn *turn;
	struct transcript t;
	struct records records;
	struct identity who;
	struct client client;
	struct evidence e;
	struct plan p;
	struct plan_rewriting w;
	struct price hour;
	const char *outcome; /* why nothing new was decided; NULL: it was */
	char *body;
	size_t len;
};

static uint64_t position(const struct transcript *t, uint32_t item)
{
	const struct item *first = t->items;
	const struct item *last = &t->items[t->items_count - 1];
	size_t around = t->len - (last->span.end - first->span.start);

	/* The provider puts tools and system text first in the prompt,
	 * wherever they stand in the body. */
	if (item >= t->items_count)
		return cost_tokens(t->len);
	return cost_tokens(around + t->items[item].span.start -
			   first->span.start);
}

/* Tokens by which the request sent is longer, up to an item. */
static int64_t growth(const struct thought *th, uint32_t item)
{
	const struct rewriting *w = &th->w.all;
	int64_t bytes = 0;

	for (uint32_t i = 0; i < th->p.r->count; i++) {
		const struct held *h = th->p.held[i];

		if (h->item >= item)
			break;
		if (h->text)
			bytes += (int64_t)h->len - (int64_t)h->bytes;
	}
	for (size_t i = 0; i < w->notes_count && w->notes[i].item < item; i++)
		bytes += (int64_t)w->notes[i].len;
	return bytes / 4;
}

static uint64_t moved(const struct thought *th, uint32_t item)
{
	int64_t at = (int64_t)position(&th->t, item) + growth(th, item);

	return at > 0 ? (uint64_t)at : 0;
}

static void account(struct thought *th, struct archive_request *ret)
{
	const struct plan *p = &th->p;
	const struct price *price = p->price;
	uint32_t cached = p->l.cached;
	uint32_t sent_cached = p->from < cached ? p->from : cached;
	bool cold = p->l.free == EPOCH_COLD;
	struct charge with, without;

	*ret = (struct archive_request){
		.at_ns = th->r->at_ns,
		.request = p->c->requests,
		.outcome = th->body	 ? "rewritten"
			   : th->outcome ? th->outcome
					 : "unchanged",
		.epoch = epoch_names[p->epoch],
		.received = cost_tokens(th->t.len),
		.sent = th->body ? cost_tokens(th->len)
				 : cost_tokens(th->t.len),
		.held = p->counts.held,
		.stale = p->counts.stale,
		.refreshed = p->counts.refreshed,
		.dropped = p->counts.dropped,
		.rerun = p->counts.rerun,
		.notes = p->counts.notes,
		.evicted = p->counts.evicted,
		.retrieved = p->counts.retrieved,
		.notified = p->counts.notified,
		.replaced = p->counts.replaced,
	};
	without = cost_request(price, ret->received,
			       cached ? position(&th->t, cached) : 0, cold);
	with = cost_request(price, ret->sent,
			    sent_cached ? moved(th, sent_cached) : 0, cold);
	ret->cost_without = cost_of(price, &without);
	ret->cost_with = cost_of(price, &with);
	if (cached > sent_cached)
		ret->rewritten = moved(th, cached) - moved(th, sent_cached);
	ret->latency_us =
		(uint64_t)(clock_mono_ns() - th->turn->began_ns) / 1000;
}

/* Find the births of new records. False: the deadline passed before all. */
static bool find_births(struct thought *th)
{
	struct plan *p = &th->p;

	for (uint32_t i = p->r->count; i-- > 0;) {
		struct held *h = p->held[i];

		if (!h->fresh)
			continue;
		h->born_request = p->c->requests;
		if (evidence_birth(&th->e, h, records_read(p->r, i)) ==
		    -ETIMEDOUT) {
			h->tracked = false;
			return false;
		}
		h->seen = h->changed = true;
	}
	return true;
}

/*
 * May commands have run since this conversation's last reply that are not in
 * its transcript? True if another conversation made a request since then, or
 * if this one made one for which the tape was not asked.
 */
static bool is_crowded(struct brain *b, const struct conversation *c)
{
	const struct conversation *o, *next;
	/* After a restart the other conversations are not known. */
	bool crowded = c->returned;

	(void)pthread_mutex_lock(&b->lock);
	crowded |= c->before_ns > c->reply_ns;
	HASH_ITER (hh, b->conversations, o, next)
		crowded |= o != c && o->asked_ns >= c->reply_ns;
	(void)pthread_mutex_unlock(&b->lock);
	return crowded;
}

static const char *tape_trouble(int rc)
{
	return rc == -ETIMEDOUT	       ? "the tape was late"
	       : client_is_unknown(rc) ? "the tape's answer was not understood"
				       : "the tape is away";
}

/* Files that records depend on, without repetition. */
struct held_paths {
	struct conversation *c;
	const struct roots *roots;
	ARRAY(uint32_t) numbers; /* of names */
	ARRAY(const char *) names;
};

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void add_fresh(struct held_paths *p, const struct record *r)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < r->files_count; i++)
		if (evidence_path(p->roots, r->dir, r->files[i].path, path,
				  sizeof(path)))
			array_push(&p->numbers,
				   intern_add(p->c->names, path, strlen(path)));
}

static void add_held(struct held_paths *p, const struct held *h)
{
	for (uint32_t i = 0; i < h->referents.count; i++)
		array_push(&p->numbers, h->referents.at[i].path);
	array_append(&p->numbers, h->opened.at, h->opened.count);
	array_append(&p->numbers, h->missed.at, h->missed.count);
}

static void add_names(struct held_paths *p)
{
	uint32_t last = 0;

	if (p->numbers.count)
		qsort(p->numbers.at, p->numbers.count, sizeof(*p->numbers.at),
		      by_number);
	for (uint32_t i = 0; i < p->numbers.count; i++) {
		const char *name = conversation_name(p->c, p->numbers.at[i]);

		if ((i == 0 || p->numbers.at[i] != last) && *name)
			array_push(&p->names, name);
		last = p->numbers.at[i];
	}
}

/*
 * The barrier: first for the files of all records, then for a while for the
 * rest, which may change calls and names that they depend on. Usually there is
 * none; a tree that is being copied in takes longer.
 */
static int sync_tape(struct thought *th, const struct roots *roots,
		     struct client_head *ret)
{
	struct held_paths p = { .c = th->p.c, .roots = roots };
	struct client_paths paths;
	int rc;

	for (uint32_t i = 0; i < th->p.r->count; i++) {
		const struct held *h = th->p.held[i];

		if (h->fresh)
			add_fresh(&p, records_read(th->p.r, i));
		else if (h->tracked)
			add_held(&p, h);
	}
	add_names(&p);
	paths = (struct client_paths){ p.names.at, p.names.count };
	rc = client_sync(&th->client,
			 paths.count <= SYNC_PATHS_MAX ? &paths : NULL,
			 SYNC_HELD_MS, SYNC_MS, ret);
	if (rc == 0 && ret->pending)
		rc = client_sync(&th->client, NULL, SYNC_ALL_MS, SYNC_MS, ret);
	array_release(&p.numbers);
	array_release(&p.names);
	return rc;
}

/* Births and nominations. False: nothing new can be decided. */
static bool ask_tape(struct thought *th)
{
	struct conversation *c = th->p.c;
	const struct roots roots = { .repo = th->b->repo,
				     .other = th->b->other,
				     .cwd = th->b->cwd };
	struct client_head head;
	bool fresh = false;
	uint64_t n;
	int rc = sync_tape(th, &roots, &head);

	if (rc < 0) {
		th->outcome = tape_trouble(rc);
		return false;
	}
	if (!head.ready) {
		th->outcome = "the tape is not ready";
		return false;
	}
	n = head.n;
	if (n < c->last_n)
		conversation_begin_anew(c);
	th->e = (struct evidence){ .client = &th->client,
				   .c = c,
				   .roots = roots,
				   .lower = c->nominated ? c->last_n : 0,
				   .first = !c->nominated,
				   .from_ns = c->reply_ns,
				   .to_ns = th->r->at_ns,
				   .crowded = is_crowded(th->b, c),
				   .pending = head.pending > 0,
				   .n = n };
	for (uint32_t i = 0; i < th->p.r->count; i++)
		fresh |= th->p.held[i]->fresh;
	evidence_init(&th->e);
	if (!find_births(th))
		rc = -ETIME;
	else if (fresh || n != c->nominated_n || head.pending)
		rc = evidence_nominate(&th->e, th->p.held, th->p.r->count);
	if (rc < 0) {
		/* Some records were asked about, some not: ask again about all.
		 */
		c->nominated_n = UINT64_MAX;
		th->outcome =
			rc == -ETIME ? "the deadline passed" : tape_trouble(rc);
		return false;
	}
	c->nominated_n = c->last_n = n;
	c->nominated = true;
	c->returned = false;
	th->turn->settled = true;
	return true;
}

static void make_plan(struct thought *th)
{
	struct conversation *c = th->p.c;

	if (th->t.compaction) {
		th->outcome = "a compaction";
		return;
	}
	if (!ask_tape(th))
		return;
	if (c->stopped) {
		th->outcome = "the cache read too little before";
		return;
	}
	plan_make(&th->p);
	if (th->p.policy_failed)
		archive_count(th->b->archive, "policy failed", 1);
}

static void splice(struct thought *th)
{
	int rc;

	plan_rewriting(&th->p, &th->w);
	if (th->p.mode == MODE_OFF ||
	    (!th->w.all.replacements_count && !th->w.all.notes_count))
		return;
	rc = rewrite(&th->t, &th->w.all, &th->body, &th->len);
	if (rc < 0) {
		th->body = NULL;
		th->outcome = "the body could not be rewritten";
		brain_say(th->b,
			  "A request could not be rewritten and was passed on "
			  "as it was: %s",
			  strerrordesc_np(-rc));
	}
}

/* Trace the decisions, and move them from the plan to the turn. */
static void finish_row(struct thought *th, struct archive_request *row)
{
	struct turn *turn = th->turn;

	assert(turn->c == th->p.c);
	row->notes_sent = th->body ? (uint32_t)th->w.all.notes_count : 0;
	row->replacements_sent =
		th->body ? (uint32_t)th->w.all.replacements_count : 0;
	turn->decided = th->p.decided;
	th->p.decided = (struct decided_list){ 0 };
	row->decided = &turn->decided;
	decided_trace(&turn->decided, row->request);
	DEBUG(DEBUG_MANAGER,
	      "request %u of conversation %.12s: %s; %llu tokens received, "
	      "%llu sent, %llu stale, %u notes and %u replacements in it, "
	      "epoch %s",
	      row->request, turn->c->key, row->outcome,
	      (unsigned long long)row->received, (unsigned long long)row->sent,
	      (unsigned long long)row->stale, row->notes_sent,
	      row->replacements_sent, row->epoch);
}

static void think_locked(struct thought *th, struct conversation *c)
{
	struct turn *turn = th->turn;
	struct archive_request *row = &turn->row;

	if (!c->loaded) {
		c->returned = archive_load(th->b->archive, c) == 0;
		c->loaded = true;
	}
	c->subagent = th->who.subagent;
	c->subscription = th->who.subscription;
	if (!*c->client && *th->who.client) {
		free(c->client);
		c->client = must_strdup(th->who.client);
	}
	if (c->refused) {
		th->outcome = "left alone";
		return;
	}
	th->p = (struct plan){ .c = c,
			       .t = &th->t,
			       .r = &th->records,
			       .e = &th->e,
			       .policy = th->b->policy,
			       .mode = th->b->mode,
			       .from = ITEM_NONE };
	th->p.price =
		prices_of(&th->b->prices, th->t.model.at, th->t.model.len);
	if (th->t.hour) {
		th->hour = price_of_hour(th->p.price);
		th->p.price = &th->hour;
	}
	th->p.notes_only = c->subscription && !th->b->subscriptions;
	th->p.held = conversation_match(c, &th->t, &th->records);
	/* All before the first birth: that depends on the other commands. */
	for (uint32_t i = 0; i < th->records.count; i++)
		if (th->p.held[i]->fresh)
			evidence_meet(th->p.held[i],
				      records_read(&th->records, i));
	th->p.l = conversation_lineage(c, &th->t, th->p.price, th->r->at_ns);
	if (!c->reply_ns)
		c->reply_ns = th->r->at_ns;
	make_plan(th);
	splice(th);
	account(th, row);
	turn->predicted = -1;
	if (th->p.l.free == EPOCH_NONE && th->p.from == ITEM_NONE && th->body)
		turn->predicted = th->p.l.head->kept;
	conversation_advance(c, &th->p.l, &th->t, th->r->at_ns);
	turn->head = th->p.l.head;
	turn->head->received = row->received;
	turn->head->sent = row->sent;
	turn->request = c->requests;
	turn->unkept = true;
	turn->step = step_begin(c, &th->t, th->r->at_ns, !th->b->no_prompts);
	turn->guessed = th->who.guessed;
	finish_row(th, row);
	evidence_release(&th->e);
	plan_rewriting_release(&th->w);
	plan_release(&th->p);
	free(th->p.held);
}

/* Why a request is passed on without a look; NULL: it is processed. */
static const char *why_pass(const struct transcript *t)
{
	if (!t->tools)
		return "a side request";
	if (t->partial)
		return "a partial request";
	return t->items_count ? NULL : "an empty request";
}

static void think(struct thought *th)
{
	struct turn *turn = th->turn;
	int rc;

	rc = transcript_init(&th->t, turn->dialect, th->r->body, th->r->len);
	if (rc < 0) {
		th->outcome = "a body that was not understood";
		return;
	}
	th->outcome = why_pass(&th->t);
	if (th->outcome)
		return;
	records_init(&th->records, &th->t);
	conversation_identify(th->r, &th->t, &th->who);
	turn->c = brain_conversation(th->b, th->who.key, th->r->at_ns);
	(void)pthread_mutex_lock(&turn->c->lock);
	think_locked(th, turn->c);
	(void)pthread_mutex_unlock(&turn->c->lock);
}

const char *brain_think(struct brain *b, const struct request *r,
			size_t *ret_len, struct turn **ret_turn)
{
	struct turn *turn = must_calloc(1, sizeof(*turn));
	struct thought th = { .b = b, .r = r, .turn = turn };

	*ret_turn = turn;
	turn->b = b;
	turn->began_ns = clock_mono_ns();
	turn->at_ns = r->at_ns;
	turn->predicted = -1;
	turn->dialect = transcript_dialect(r->method, r->target);
	if (turn->dialect == DIALECTS)
		return NULL;
	client_init(&th.client, b->ask, b->ask_ctx, r->deadline_ns - SPLICE_NS,
		    QUESTION_MS);
	think(&th);
	client_release(&th.client);
	if (th.outcome)
		archive_count(b->archive, th.outcome, 1);
	if (th.outcome && !turn->unkept)
		DEBUG(DEBUG_MANAGER, "request passed on as received: %s",
		      th.outcome);
	records_release(&th.records);
	transcript_release(&th.t);
	turn->body = th.body;
	*ret_len = th.len;
	return th.body;
}

void brain_passed(struct brain *b, const char *why)
{
	archive_count(b->archive, why, 1);
	DEBUG(DEBUG_MANAGER, "request passed on as received: %s", why);
}
