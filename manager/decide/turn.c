/*
 * A turn after brain_think(): its request is sent or refused, the reply passes,
 * and the conversation learns what the provider's cache did.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/debug.h"
#include "graph/base/json.h"
#include "manager/decide/brain_i.h"
#include "manager/decide/evidence.h"
#include "manager/decide/inquiry.h"
#include "manager/decide/step.h"
#include "tape/wire/client.h"

/* A cache that read this share of what was predicted did its work. */
#define KEPT_PERCENT 70
#define KEPT_LEAST   2048
/* The archive is looked at after so many requests. */
#define KEEP_EVERY 256
#define HOLD_MS	   (24u * 3600 * 1000)
/* A reply's end waits no longer than this for the tape to take what it is told,
   and less for one that hangs. */
#define TELL_WITHIN_MS 200

void turn_sent(struct turn *t)
{
	int rc;

	if (!t->unkept)
		return;
	t->unkept = false;
	assert(t->c);
	(void)pthread_mutex_lock(&t->c->lock);
	rc = archive_save(t->b->archive, t->c, &t->row);
	(void)pthread_mutex_unlock(&t->c->lock);
	if (rc < 0)
		brain_say(t->b,
			  "The decisions of a request could not be saved; "
			  "after a restart they may differ");
	else if (t->row.id % KEEP_EVERY == 0)
		brain_keep(t->b);
}

bool turn_wants_agent(const struct turn *t)
{
	return t->step && t->b->ask && !json_member(t->step, "pid");
}

void turn_agent(struct turn *t, uint32_t pid, uint64_t start)
{
	assert(turn_wants_agent(t) && pid);
	if (t->guessed)
		step_of_process(t->step, pid, start);
	json_put_number(t->step, "pid", pid);
	json_put_number(t->step, "start", start);
	if (!t->c)
		return;
	(void)pthread_mutex_lock(&t->c->lock);
	t->c->agent = pid;
	(void)pthread_mutex_unlock(&t->c->lock);
}

void turn_drop_body(struct turn *t)
{
	if (t)
		free(TAKE(t->body));
}

void turn_unsent(struct turn *t, const char *why)
{
	/* The decisions stand, and are sent with the next request. But the
	 * cache now holds another prefix than predicted. */
	t->predicted = -1;
	archive_count(t->b->archive, why, 1);
	if (t->c && !t->unkept)
		archive_withheld(t->b->archive, &t->row, why);
	t->row.withheld = why;
	DEBUG(DEBUG_MANAGER, "request %u: %s: the request received is sent",
	      t->row.request, t->row.withheld);
	if (!t->c)
		return;
	(void)pthread_mutex_lock(&t->c->lock);
	if (t->head && t->request == t->c->requests)
		t->head->kept = -1;
	(void)pthread_mutex_unlock(&t->c->lock);
}

/* Withdraw the newest section of a note that names the record. */
static bool withdraw_note(struct conversation *c, const char *key)
{
	struct pin *pin, *next, *newest = NULL;
	uint32_t first = 0, last;

	HASH_ITER (hh, c->pins, pin, next)
		for (uint32_t i = pin->item == ITEM_NONE ? 0
							 : pin->mentions.count;
		     i-- > 0;)
			if (strcmp(pin->mentions.at[i].key, key) == 0 &&
			    (!newest ||
			     pin->mentions.at[i].entry >
				     newest->mentions.at[first].entry)) {
				newest = pin;
				first = i;
			}
	if (!newest)
		return false;
	last = first + 1;
	while (first > 0 && newest->mentions.at[first - 1].end ==
				    newest->mentions.at[first].end)
		first--;
	while (last < newest->mentions.count &&
	       newest->mentions.at[last].end == newest->mentions.at[first].end)
		last++;
	pin_cut(newest, first, last);
	newest->gone = !newest->mentions.count;
	newest->changed = true;
	return true;
}

/* False: it put nothing into the request. */
static bool withdraw_one(struct conversation *c, const struct decided *d)
{
	struct held *h = conversation_find(c, d->key);

	bool any = d->place == DECIDED_NOTE && withdraw_note(c, d->key);

	if (!h || (d->place != DECIDED_NOTE && d->place != DECIDED_IN_PLACE))
		return any;
	if (d->place == DECIDED_IN_PLACE) {
		free(h->text);
		h->text = NULL;
		h->len = 0;
		h->replaced = REPLACED_NOT;
	}
	h->left = h->changed = true;
	return true;
}

bool turn_withdraw(struct conversation *c, const struct decided_list *l)
{
	bool any = false;

	for (uint32_t i = 0; i < l->at.count; i++)
		any |= withdraw_one(c, &l->at.at[i]);
	return any;
}

void turn_refused(struct turn *t, int status)
{
	bool again;

	archive_count(t->b->archive, "refused upstream", 1);
	t->predicted = -1;
	if (!t->c)
		return;
	turn_sent(t);
	DEBUG(DEBUG_MANAGER,
	      "request %u: upstream answered %d: the request "
	      "received is sent",
	      t->row.request, status);
	archive_withheld(t->b->archive, &t->row, "refused upstream");
	(void)pthread_mutex_lock(&t->c->lock);
	again = t->c->refusals++ > 0;
	t->c->refused = !turn_withdraw(t->c, &t->decided) || again;
	if (t->head && t->request == t->c->requests)
		t->head->kept = -1;
	(void)archive_usage(t->b->archive, t->c, 0, 0, 0);
	(void)pthread_mutex_unlock(&t->c->lock);
	brain_say(t->b,
		  "Upstream answered %d to a rewritten request; %s from now on",
		  status,
		  t->c->refused ? "its conversation is left alone"
				: "what was changed in it is left alone");
}

void turn_status(struct turn *t, int status, const char *content_type)
{
	t->status = status;
	if (t->c && status == 200 && !t->sse)
		t->sse = sse_new(t->dialect, content_type);
}

void turn_reply(struct turn *t, const char *bytes, size_t len)
{
	/* Before the client has these bytes: what it does in response to
	   them must count as done after the reply. */
	t->shown_ns = clock_mono_ns();
	if (!t->first_ns)
		t->first_ns = t->shown_ns;
	if (t->sse)
		sse_feed(t->sse, bytes, len);
}

/* Stop making decisions if the cache read too little twice in a row. */
static void check_cache(struct turn *t, const struct sse_usage *u)
{
	struct conversation *c = t->c;

	if (t->predicted < KEPT_LEAST || u->cache_read < 0)
		return;
	if (u->cache_read * 100 >= t->predicted * KEPT_PERCENT) {
		c->surprises = 0;
		return;
	}
	c->surprises++;
	archive_count(t->b->archive, "cache read less than predicted", 1);
	if (!c->warned)
		brain_say(t->b,
			  "The provider's cache read %lld of the %lld tokens "
			  "it should hold; if that happens again, nothing "
			  "more is changed in this conversation",
			  (long long)u->cache_read, (long long)t->predicted);
	c->warned = true;
	if (c->surprises >= 2)
		c->stopped = true;
}

static int64_t kept_of(enum dialect d, const struct sse_usage *u)
{
	int64_t read = u->cache_read > 0 ? u->cache_read : 0;
	int64_t written = u->cache_write > 0 ? u->cache_write : 0;

	if (u->cache_read < 0)
		return -1;
	/* Other providers cache the whole prompt, in steps of 128 tokens. */
	if (d != DIALECT_MESSAGES && written == 0 && u->input > 0)
		written = u->input;
	return read + written;
}

static void learn(struct turn *t)
{
	const struct sse_usage *u;
	struct conversation *c = t->c;

	sse_end(t->sse);
	u = &sse_seen(t->sse)->usage;
	(void)pthread_mutex_lock(&c->lock);
	check_cache(t, u);
	if (t->head && t->request == c->requests)
		t->head->kept = kept_of(t->dialect, u);
	(void)archive_usage(t->b->archive, c, u->input, u->cache_read,
			    u->cache_write);
	(void)pthread_mutex_unlock(&c->lock);
}

static int patience_ms(const struct turn *t)
{
	int ms = inquiry_patience_ms(t->b);

	return ms < TELL_WITHIN_MS ? ms : TELL_WITHIN_MS;
}

/* Let the tape keep the versions from our oldest record's birth on. */
static void hold(struct turn *t)
{
	int within_ms = patience_ms(t);
	struct client c;
	int64_t over_ns = t->shown_ns ? t->shown_ns : clock_mono_ns();
	uint64_t oldest = UINT64_MAX;
	struct held *h, *next;

	(void)pthread_mutex_lock(&t->c->lock);
	HASH_ITER (hh, t->c->held, h, next)
		if (h->tracked && h->item != ITEM_NONE && h->birth < oldest)
			oldest = h->birth;
	/* Else new records still wait for a birth: their window stays open. */
	if (t->settled)
		t->c->reply_ns = t->at_ns + (over_ns - t->began_ns);
	(void)archive_usage(t->b->archive, t->c, 0, 0, 0);
	(void)pthread_mutex_unlock(&t->c->lock);
	if (oldest == UINT64_MAX || !t->b->ask)
		return;
	client_init(&c, t->b->ask, t->b->ask_ctx,
		    clock_mono_ns() + within_ms * NS_PER_MS, within_ms);
	(void)client_hold(&c, t->c->key, oldest, HOLD_MS);
	client_release(&c);
}

/* Only of a whole reply: a client does not act on half of one. */
static void tell(struct turn *t, bool whole)
{
	int within_ms = patience_ms(t);
	const struct roots roots = { .repo = t->b->repo,
				     .other = t->b->other,
				     .cwd = t->b->cwd };
	CLEANUP(json_p) cJSON *answer = NULL;
	struct client c;

	if (!t->step || !t->b->ask)
		return;
	if (t->sse && whole)
		step_add_calls(t->step, sse_seen(t->sse), &roots,
			       t->at_ns + (t->first_ns - t->began_ns));
	client_init(&c, t->b->ask, t->b->ask_ctx,
		    clock_mono_ns() + within_ms * NS_PER_MS, within_ms);
	if (client_ask(&c, "TURN", t->step, &answer) < 0)
		archive_count(t->b->archive, "turns the tape did not take", 1);
	client_release(&c);
}

void turn_end(struct turn *t, bool whole)
{
	if (t->c) {
		turn_sent(t);
		if (t->sse && whole)
			learn(t);
		tell(t, whole);
		hold(t);
		brain_leave(t->b, t->c);
	}
	decided_release(&t->decided);
	sse_free(t->sse);
	cJSON_Delete(t->step);
	free(t->body);
	free(t);
}
