#include "manager/decide/conversation.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <xxhash.h>

#include "graph/base/alloc.h"
#include "manager/decide/own.h"

#define LOOK_BACK 20 /* blocks up to a mark, at which a prefix may end */

const char *const notified_names[NOTIFIED] = { "", "changes", "links", "moved",
					       "again" };
const char *const replaced_names[REPLACED] = { "", "whole", "parts", "stub",
					       "evicted" };

/* Headers that identify a conversation, the most specific first. */
static const struct {
	const char *header;
	const char *client;
} session_headers[] = {
	{ "x-claude-code-session-id", "claude" },
	{ "thread-id", "codex" },
	{ "session-id", "codex" },
	{ "x-session-id", "opencode" },
	{ "x-session-affinity", "opencode" },
};

static const char *header_of(const struct request *r, const char *name)
{
	for (size_t i = 0; i < r->headers_count; i++)
		if (strcasecmp(r->headers[i].name, name) == 0)
			return r->headers[i].value;
	return NULL;
}

static bool has(const char *text, const char *part)
{
	return text && strstr(text, part);
}

/* Is it a subscription login (OAuth) rather than an API key? */
static bool is_subscription(const struct request *r)
{
	const char *authorization = header_of(r, "authorization");

	return header_of(r, "chatgpt-account-id") ||
	       has(authorization, "sk-ant-oat") ||
	       has(header_of(r, "anthropic-beta"), "oauth-");
}

static bool is_subagent(const struct request *r, const struct transcript *t)
{
	return t->subagent || header_of(r, "x-claude-code-agent-id") ||
	       header_of(r, "x-codex-parent-thread-id") ||
	       header_of(r, "x-parent-session-id") ||
	       has(header_of(r, "x-interaction-type"), "subagent");
}

static void mix(XXH3_state_t *x, const char *text, size_t len)
{
	(void)XXH3_128bits_update(x, &len, sizeof(len));
	if (len)
		(void)XXH3_128bits_update(x, text, len);
}

static void mix_text(XXH3_state_t *x, const char *text)
{
	mix(x, text ? text : "", text ? strlen(text) : 0);
}

void conversation_identify(const struct request *r, const struct transcript *t,
			   struct identity *ret)
{
	const size_t known =
		sizeof(session_headers) / sizeof(session_headers[0]);
	XXH3_state_t *x = XXH3_createState();
	const char *session = NULL;
	XXH128_hash_t hash;
	size_t i = 0;

	*ret = (struct identity){ .client = "" };
	ret->subagent = is_subagent(r, t);
	ret->subscription = is_subscription(r);
	while (i < known && !session)
		session = header_of(r, session_headers[i++].header);
	if (session)
		ret->client = session_headers[i - 1].client;
	ret->guessed = !session && !t->session.len;

	(void)XXH3_128bits_reset(x);
	if (session)
		mix_text(x, session);
	else if (t->session.len)
		mix(x, t->session.at, t->session.len);
	else
		mix(x, (const char *)&t->system_hash, sizeof(t->system_hash));
	/*
	 * Sub-agents share their session's id or have one in a header; their
	 * first message tells them apart, as it does where there is no id.
	 */
	mix_text(x, header_of(r, "x-claude-code-agent-id"));
	if (ret->subagent || ret->guessed)
		mix(x, (const char *)&t->first_hash, sizeof(t->first_hash));
	hash = XXH3_128bits_digest(x);
	(void)XXH3_freeState(x);
	(void)snprintf(ret->key, sizeof(ret->key), "%016llx%016llx",
		       (unsigned long long)hash.high64,
		       (unsigned long long)hash.low64);
}

void conversation_identify_other(struct identity *who, uint32_t pid,
				 uint64_t start)
{
	XXH3_state_t *x = XXH3_createState();
	XXH128_hash_t hash;

	assert(who->guessed && pid);
	(void)XXH3_128bits_reset(x);
	mix_text(x, who->key);
	mix(x, (const char *)&pid, sizeof(pid));
	mix(x, (const char *)&start, sizeof(start));
	hash = XXH3_128bits_digest(x);
	(void)XXH3_freeState(x);
	(void)snprintf(who->key, sizeof(who->key), "%016llx%016llx",
		       (unsigned long long)hash.high64,
		       (unsigned long long)hash.low64);
}

struct conversation *conversation_new(const char *key)
{
	struct conversation *c = must_calloc(1, sizeof(*c));

	c->key = must_strdup(key);
	c->client = must_strdup("");
	c->model = must_strdup("");
	(void)pthread_mutex_init(&c->lock, NULL);
	c->names = intern_new();
	c->since_epoch = DECIDE_EPOCH_GAP;
	return c;
}

static void held_release(struct held *h)
{
	array_release(&h->referents);
	array_release(&h->still);
	array_release(&h->opened);
	array_release(&h->missed);
	array_release(&h->listed);
	array_release(&h->drifted);
	array_release(&h->edited);
	free(h->key);
	free(h->why);
	free(h->words);
	free(h->text);
	free(h);
}

/* NOLINTBEGIN(readability-function-*): uthash's macros are not ours. */
void held_free(struct conversation *c, struct held *h)
{
	HASH_DEL(c->held, h);
	held_release(h);
}

void pin_clear(struct pin *p)
{
	for (uint32_t i = 0; i < p->mentions.count; i++)
		free(p->mentions.at[i].key);
	p->mentions.count = 0;
	p->len = 0;
}

void pin_mention(struct pin *p, const struct mention *a)
{
	struct mention own = *a;

	own.key = must_strdup(a->key);
	array_push(&p->mentions, own);
	p->changed = true;
}

void pin_cut(struct pin *p, uint32_t first, uint32_t last)
{
	size_t from = first ? p->mentions.at[first - 1].end : 0;
	size_t to = p->mentions.at[last - 1].end;

	assert(first < last && last <= p->mentions.count);
	assert(from <= to && to <= p->len);
	for (uint32_t i = first; i < last; i++)
		free(p->mentions.at[i].key);
	for (uint32_t i = last; i < p->mentions.count; i++) {
		p->mentions.at[i].end -= to - from;
		p->mentions.at[first + i - last] = p->mentions.at[i];
	}
	p->mentions.count -= last - first;
	if (p->len)
		memmove(p->text + from, p->text + to, p->len + 1 - to);
	p->len -= to - from;
	p->changed = true;
}

static void pin_release(struct pin *p)
{
	pin_clear(p);
	array_release(&p->mentions);
	free(p->key);
	free(p->text);
	free(p);
}

void pin_free(struct conversation *c, struct pin *p)
{
	HASH_DEL(c->pins, p);
	pin_release(p);
}

void conversation_clear(struct conversation *c)
{
	struct held *h, *next_held;
	struct pin *p, *next_pin;

	HASH_ITER (hh, c->held, h, next_held)
		held_free(c, h);
	HASH_ITER (hh, c->pins, p, next_pin)
		pin_free(c, p);
	for (size_t i = 0; i < CONVERSATION_HEADS; i++) {
		array_release(&c->heads[i].hashes);
		c->heads[i] = (struct head){ .at_ns = 0 };
	}
}

void conversation_free(struct conversation *c)
{
	if (!c)
		return;
	conversation_clear(c);
	array_release(&c->edited);
	intern_free(c->names);
	(void)pthread_mutex_destroy(&c->lock);
	free(c->key);
	free(c->client);
	free(c->model);
	free(c);
}

struct held *conversation_find(const struct conversation *c, const char *key)
{
	struct held *h;

	HASH_FIND_STR(c->held, key, h);
	return h;
}

struct held *conversation_hold(struct conversation *c, const char *key)
{
	struct held *h = conversation_find(c, key);

	if (h)
		return h;
	h = must_calloc(1, sizeof(*h));
	h->key = must_strdup(key);
	h->item = ITEM_NONE;
	HASH_ADD_KEYPTR(hh, c->held, h->key, strlen(h->key), h);
	return h;
}

struct pin *conversation_pin(struct conversation *c, const char *key)
{
	struct pin *p;

	HASH_FIND_STR(c->pins, key, p);
	if (p)
		return p;
	p = must_calloc(1, sizeof(*p));
	p->key = must_strdup(key);
	p->item = ITEM_NONE;
	HASH_ADD_KEYPTR(hh, c->pins, p->key, strlen(p->key), p);
	return p;
}

/* NOLINTEND(readability-function-*) */

const char *conversation_name(const struct conversation *c, uint32_t name)
{
	size_t len;

	return intern_text(c->names, name, &len);
}

uint32_t conversation_marked(const struct transcript *t)
{
	/* Only Messages has cache marks; the others cache on their own. */
	if (t->dialect != DIALECT_MESSAGES || t->automatic)
		return t->items_count;
	for (uint32_t i = t->items_count; i-- > 0;)
		if (t->items[i].marked)
			return i + 1;
	return 0;
}

static bool is_asking(const struct transcript *t, uint32_t i)
{
	return i < t->items_count && (t->items[i].kind == ITEM_USER ||
				      t->items[i].kind == ITEM_RESULT);
}

/* Requests end where an answer begins: only there a prefix was cached. */
static uint32_t request_end(const struct transcript *t, uint32_t upto)
{
	while (upto > 0 && (!is_asking(t, upto - 1) || is_asking(t, upto)))
		upto--;
	return upto;
}

uint32_t conversation_reread(const struct transcript *t, uint32_t same)
{
	uint32_t last = conversation_marked(t), most = 0;

	assert(same <= t->items_count);
	/* The others find the longest prefix by themselves. */
	if (t->dialect != DIALECT_MESSAGES)
		return same;
	for (uint32_t i = 0; i < last; i++) {
		uint32_t reach;

		if (!t->items[i].marked && i + 1 < last)
			continue;
		reach = request_end(t, i < same ? i + 1 : same);
		if (i + 1 - reach < LOOK_BACK && reach > most)
			most = reach;
	}
	return most;
}

static uint64_t model_hash(const struct transcript *t)
{
	return XXH3_64bits(t->model.at, t->model.len);
}

static uint32_t same_items(const struct head *h, const struct transcript *t)
{
	uint32_t same = 0;

	while (same < h->hashes.count && same < t->items_count &&
	       h->hashes.at[same] == t->items[same].hash)
		same++;
	return same;
}

/* The head with the longest common prefix; else an unused or the oldest. */
static struct head *best_head(struct conversation *c,
			      const struct transcript *t, uint32_t *ret_same)
{
	struct head *best = NULL, *oldest = &c->heads[0];

	*ret_same = 0;
	for (size_t i = 0; i < CONVERSATION_HEADS; i++) {
		struct head *h = &c->heads[i];
		uint32_t same = same_items(h, t);

		if (h->at_ns < oldest->at_ns)
			oldest = h;
		/* Less than half: a different talk with the same beginning. */
		if (h->at_ns && same > *ret_same &&
		    same >= h->hashes.count / 2) {
			best = h;
			*ret_same = same;
		}
	}
	return best ? best : oldest;
}

struct lineage conversation_lineage(struct conversation *c,
				    const struct transcript *t,
				    const struct price *p, int64_t at_ns)
{
	struct lineage l = { 0 };
	const struct head *h;

	h = l.head = best_head(c, t, &l.same);
	if (c->requests == 0 || !h->at_ns ||
	    at_ns - h->at_ns > (int64_t)p->life_s * 1000000000) {
		l.free = EPOCH_COLD;
		return l;
	}
	if (l.same == 0 || h->tools_hash != t->tools_hash ||
	    h->system_hash != t->system_hash ||
	    h->model_hash != model_hash(t)) {
		l.free = EPOCH_BROKEN;
		return l;
	}
	l.cached = h->cached;
	if (l.same < l.cached) {
		l.free = EPOCH_BROKEN;
		l.cached = l.same;
	}
	assert(l.cached <= l.same && l.same <= t->items_count);
	return l;
}

void conversation_advance(struct conversation *c, const struct lineage *l,
			  const struct transcript *t, int64_t at_ns)
{
	struct head *h = l->head;

	assert(h >= c->heads && h < c->heads + CONVERSATION_HEADS);
	c->requests++;
	/* Nothing cached (compaction, other tools, long pause): count anew. */
	c->since_begin = l->cached ? c->since_begin + 1 : 0;
	if (c->since_epoch < UINT32_MAX)
		c->since_epoch++;
	if (strlen(c->model) != t->model.len ||
	    memcmp(c->model, t->model.at, t->model.len) != 0) {
		free(c->model);
		c->model = must_memdup(t->model.at, t->model.len);
	}
	h->at_ns = at_ns;
	h->tools_hash = t->tools_hash;
	h->system_hash = t->system_hash;
	h->model_hash = model_hash(t);
	h->hashes.count = 0;
	for (uint32_t i = 0; i < t->items_count; i++)
		array_push(&h->hashes, t->items[i].hash);
	h->cached = conversation_marked(t);
	h->kept = -1;
}

/*
 * The call's id; a second result with the same id gets "#2". The first one
 * counts them: to try all numbers for each would take quadratic time.
 */
static char *key_of(const struct conversation *c, const struct item *i)
{
	char *key = must_memdup(i->id.at, i->id.len);
	struct held *first = conversation_find(c, key), *h = first;

	while (h && h->item != ITEM_NONE) {
		free(key);
		first->copies++;
		if (asprintf(&key, "%.*s#%u", (int)i->id.len, i->id.at,
			     first->copies + 1) < 0)
			abort();
		h = conversation_find(c, key);
	}
	return key;
}

/*
 * The result's text is a different one now: forget what was known, except what
 * the call wrote.
 */
static void begin_anew(struct conversation *c, struct held **h)
{
	struct held *old = *h, wrote = *old;
	char *key = must_strdup(old->key);

	old->edited.at = NULL;
	held_free(c, old);
	*h = conversation_hold(c, key);
	(*h)->learned = wrote.learned;
	(*h)->edited.at = wrote.edited.at;
	(*h)->edited.count = wrote.edited.count;
	(*h)->edited.size = wrote.edited.size;
	free(key);
}

static void forget_places(struct conversation *c)
{
	struct held *h, *next_held;
	struct pin *p, *next_pin;

	HASH_ITER (hh, c->held, h, next_held) {
		h->absent = h->gone;
		h->item = ITEM_NONE;
		h->copies = 0;
		h->fresh = false;
		h->notified = NOTIFIED_NOT;
		h->notified_entry = h->moved_entry = 0;
	}
	HASH_ITER (hh, c->pins, p, next_pin)
		p->item = ITEM_NONE;
}

uint64_t held_shown(const struct held *h)
{
	uint64_t shown = h->birth;

	if (h->replaced != REPLACED_NOT && h->replaced_entry > shown)
		shown = h->replaced_entry;
	if ((h->notified == NOTIFIED_CHANGES ||
	     h->notified == NOTIFIED_LINKS) &&
	    h->notified_entry > shown)
		shown = h->notified_entry;
	return shown;
}

/* Is the text that the mention goes on from the one the model knows? */
static bool goes_on(const struct conversation *c, const struct held *h,
		    const struct mention *a)
{
	return (a->how != NOTIFIED_CHANGES && a->how != NOTIFIED_LINKS) ||
	       (a->since <= held_shown(h) &&
		own_stand(c, h, a->since, a->base));
}

/* A mention counts if it is newer than the record's replacement. */
static void apply_mention(const struct conversation *c, const struct mention *a)
{
	struct held *h = conversation_find(c, a->key);

	if (!h || h->item == ITEM_NONE || h->notified == NOTIFIED_AGAIN ||
	    (h->replaced != REPLACED_NOT && a->entry <= h->replaced_entry) ||
	    !goes_on(c, h, a))
		return;
	if (a->entry > h->moved_entry)
		h->moved_entry = a->entry;
	if (a->how == NOTIFIED_MOVED)
		return;
	h->notified = a->how;
	h->notified_entry = a->entry;
}

static int pin_order(const void *a, const void *b)
{
	const struct pin *x = *(struct pin *const *)a;
	const struct pin *y = *(struct pin *const *)b;

	return x->item < y->item ? -1 : x->item > y->item;
}

/*
 * The model is notified of what the notes in this very request say: a rewind
 * loses the notes behind the place it went back to.
 */
static void apply_mentions(struct conversation *c)
{
	ARRAY(struct pin *) pins = { 0 };
	struct pin *p, *next;

	HASH_ITER (hh, c->pins, p, next)
		if (p->item != ITEM_NONE && !p->gone)
			array_push(&pins, p);
	if (pins.count)
		qsort(pins.at, pins.count, sizeof(*pins.at), pin_order);
	for (uint32_t i = 0; i < pins.count; i++)
		for (uint32_t k = 0; k < pins.at[i]->mentions.count; k++)
			apply_mention(c, &pins.at[i]->mentions.at[k]);
	array_release(&pins);
}

void conversation_begin_anew(struct conversation *c)
{
	struct held *h, *next_held;
	struct pin *p, *next_pin;

	c->nominated = false;
	c->last_n = 0;
	HASH_ITER (hh, c->held, h, next_held) {
		h->seen = h->decided = h->born = h->verified = false;
		h->fresh = h->item != ITEM_NONE;
		h->birth = h->entry = h->replaced_entry = h->notified_entry = 0;
		h->foreign = h->edited.count = 0;
		h->action = ACTION_KEEP;
		h->changed = true;
	}
	HASH_ITER (hh, c->pins, p, next_pin) {
		for (uint32_t i = 0; i < p->mentions.count; i++)
			p->mentions.at[i].since = p->mentions.at[i].entry =
				p->mentions.at[i].base = 0;
		p->changed = true;
	}
}

/* Note which records are not in this request. */
static void find_gone(struct conversation *c)
{
	struct held *h, *next;

	HASH_ITER (hh, c->held, h, next) {
		bool gone = h->item == ITEM_NONE;

		h->changed |= gone != h->gone;
		h->gone = gone;
	}
}

/* NOLINTBEGIN(readability-function-*): uthash's macros are not ours. */
/* A note may stand behind the user's words, too. */
static void bind_words(struct conversation *c, const struct transcript *t,
		       uint32_t i)
{
	const struct item *item = &t->items[i];
	struct pin *p;

	if (item->kind != ITEM_USER || item->attached.at ||
	    item->place == ITEM_NONE)
		return;
	HASH_FIND(hh, c->pins, item->id.at, item->id.len, p);
	if (p)
		p->item = i;
}

struct held **conversation_match(struct conversation *c,
				 const struct transcript *t,
				 const struct records *r)
{
	struct held **all = must_calloc(
		r->count + 1, sizeof(struct held *)); /* NOLINT(bugprone-*) */

	forget_places(c);
	for (uint32_t i = 0; i < r->count; i++) {
		const struct item *item = &t->items[r->at[i].item];
		char *key = key_of(c, item);
		struct held *h = conversation_hold(c, key);
		struct pin *p;

		free(key);
		if (h->hash && h->hash != item->hash)
			begin_anew(c, &h);
		/* key_of() never gives the same key twice. */
		assert(h->item == ITEM_NONE);
		h->fresh = !h->decided;
		h->hash = item->hash ? item->hash : 1;
		h->item = r->at[i].item;
		h->record = i;
		all[i] = h;
		HASH_FIND_STR(c->pins, h->key, p);
		if (p && t->items[h->item].place != ITEM_NONE)
			p->item = h->item;
	}
	for (uint32_t i = 0; i < t->items_count; i++)
		bind_words(c, t, i);
	find_gone(c);
	own_list(c);
	apply_mentions(c);
	return all;
}
/* NOLINTEND(readability-function-*) */
