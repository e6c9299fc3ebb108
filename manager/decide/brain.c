/*
 * From a request received to the request sent. On failure:
 *
 *   unknown path or body, side request, internal
 *   error, failed self-check                       -> the bytes received
 *   tape not running, late, or not ready; the      -> earlier decisions are
 *   time for new decisions is over; the new           sent again, no new ones
 *   ones cannot be put into the body                  are made
 *
 * So a request is thought about in two stages. The first one, which finds the
 * conversation and what is sent again in it, needs no tape and has no time
 * limit. The second one makes new decisions (inquiry.h, plan.h) and has one.
 * If it comes to no end, the result of the first stage is sent, with a line
 * that files may have changed (plan_doubt()).
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
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/debug.h"
#include "graph/base/proc_stat.h"
#include "manager/decide/brain_i.h"
#include "manager/decide/inquiry.h"
#include "manager/decide/plan.h"
#include "manager/decide/step.h"
#include "manager/transcript/sse.h"
#include "tape/wire/links.h"
#include "tape/wire/subscribe.h"

/* Conversations kept in memory; others are loaded from the archive. */
#define CONVERSATIONS_MAX 32
#define QUESTION_MS	  1000 /* any one question to the tape */

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
	b->planned = o->planned;
	b->planned_ctx = o->planned_ctx;
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
	if (o->run)
		archive_run(b->archive, o->run);
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

/* Who made its last request; 0: not known. */
static uint32_t last_process(struct brain *b, const char *key,
			     uint64_t *ret_start)
{
	struct conversation *c;
	uint32_t pid = 0;

	(void)pthread_mutex_lock(&b->lock);
	HASH_FIND_STR(b->conversations, key, c);
	if (c) {
		pid = c->pid;
		*ret_start = c->start;
	}
	(void)pthread_mutex_unlock(&b->lock);
	return pid;
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
	struct plan_rewriting told; /* what was sent before */
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
	uint32_t sent_cached = p->from < cached
				       ? conversation_reread(&th->t, p->from)
				       : cached;
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
			    cached ? moved(th, sent_cached) : 0, cold);
	ret->cost_without = cost_of(price, &without);
	ret->cost_with = cost_of(price, &with);
	if (cached > sent_cached)
		ret->rewritten = moved(th, cached) - moved(th, sent_cached);
	ret->latency_us =
		(uint64_t)(clock_mono_ns() - th->turn->began_ns) / 1000;
}

/* The second stage. NULL, or why nothing new was decided. */
static const char *decide_new(struct thought *th, struct inquiry *q)
{
	const char *why = inquiry_ask(q);

	if (why)
		return why;
	if (th->p.c->stopped) {
		inquiry_over(q);
		return NULL;
	}
	plan_rewriting(&th->p, &th->told);
	plan_rewriting_own(&th->told);
	if (plan_make(&th->p) < 0)
		return "the deadline passed";
	if (th->b->planned)
		th->b->planned(th->b->planned_ctx, &th->p);
	if (th->p.policy_failed)
		archive_count(th->b->archive, "policy failed", 1);
	inquiry_over(q);
	return NULL;
}

static void make_plan(struct thought *th)
{
	struct conversation *c = th->p.c;
	struct inquiry q = { .b = th->b,
			     .r = th->r,
			     .begun_ns = th->turn->began_ns,
			     .c = c,
			     .records = &th->records,
			     .held = th->p.held,
			     .client = &th->client,
			     .e = &th->e };

	if (th->t.compaction) {
		th->outcome = "a compaction";
		return;
	}
	th->outcome = decide_new(th, &q);
	th->turn->settled = !th->outcome;
	c->undecided = th->outcome ? c->undecided + 1 : 0;
	if (th->outcome && th->b->ask && !c->stopped)
		plan_doubt(&th->p, th->outcome);
	if (!th->outcome && c->stopped)
		th->outcome = "the cache read too little before";
}

static int splice_one(struct thought *th, const struct rewriting *w)
{
	if (th->p.mode == MODE_OFF ||
	    (!w->replacements_count && !w->notes_count))
		return 0;
	return rewrite(&th->t, w, &th->body, &th->len);
}

/*
 * Put all texts into the body. If that fails, without the new ones, which are
 * withdrawn.
 */
static void splice(struct thought *th)
{
	int rc, again = 0;

	plan_rewriting(&th->p, &th->w);
	rc = splice_one(th, &th->w.all);
	if (rc < 0) {
		th->body = NULL;
		turn_withdraw(th->p.c, &th->p.decided);
		again = splice_one(th, &th->told.all);
		th->outcome = "the body could not be rewritten";
		brain_say(th->b,
			  "A request could not be rewritten and was passed on "
			  "as it was before: %s",
			  strerrordesc_np(-rc));
	}
	if (again < 0)
		th->body = NULL;
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

/* False: what was decided before cannot be read now, only later. */
static bool load(struct thought *th, struct conversation *c)
{
	int rc = c->loaded ? 0 : archive_load(th->b->archive, c);

	if (rc < 0 && rc != -ENOENT) {
		conversation_clear(c);
		th->outcome = "the archive could not be read";
		return false;
	}
	c->returned |= !c->loaded && rc == 0;
	c->loaded = true;
	return true;
}

static void think_locked(struct thought *th, struct conversation *c)
{
	struct turn *turn = th->turn;
	struct archive_request *row = &turn->row;

	if (!load(th, c))
		return;
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
	if (th->b->planned)
		th->p.features = must_calloc((size_t)(th->records.count + 1) *
						     POLICY_FEATURES,
					     sizeof(*th->p.features));
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
	plan_rewriting_release(&th->told);
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

static bool is_alive(uint32_t pid, uint64_t start)
{
	struct proc_stat st;

	return proc_stat_read((pid_t)pid, &st) == 0 && st.start == start &&
	       st.state != 'Z';
}

/*
 * A client that names no conversation is known by its first words, which two
 * agents may have in common. The second one's process tells them apart, as long
 * as the first one's lives; afterwards a new process goes on with it.
 */
static void tell_apart(struct thought *th, uint32_t pid, uint64_t start)
{
	uint64_t since = 0;
	uint32_t other = last_process(th->b, th->who.key, &since);

	if (other && (other != pid || since != start) && is_alive(other, since))
		conversation_identify_other(&th->who, pid, start);
}

static void find_conversation(struct thought *th)
{
	const struct request *r = th->r;
	struct turn *turn = th->turn;
	uint32_t pid = 0;
	uint64_t start = 0;

	conversation_identify(r, &th->t, &th->who);
	if (th->who.guessed && r->caller &&
	    r->caller(r->caller_ctx, &pid, &start) == 0)
		tell_apart(th, pid, start);
	turn->c = brain_conversation(th->b, th->who.key, r->at_ns);
	(void)pthread_mutex_lock(&th->b->lock);
	turn->c->pid = pid;
	turn->c->start = start;
	(void)pthread_mutex_unlock(&th->b->lock);
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
	find_conversation(th);
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
	client_init(&th.client, b->ask, b->ask_ctx, INT64_MAX, QUESTION_MS);
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
