/*
 * One read set per actor, so that a process has another set after an exec. A
 * set is
 *
 *	keys	hashes of (kind, key), open addressing, at most half full:
 *		the hot path reads only these, eight bytes an entry
 *	paths	kind, path, NUL; kind, path, NUL; ... in the order of
 *		insertion; answers are built from these
 *
 * Keys are compared by their 64-bit hash alone. In a full set the chance that
 * any two entries collide is about 1 in 10^10; a collision would cost one path
 * in an answer.
 *
 * Sets live in shards, chosen by the actor's address, each with its own lock.
 * Within a shard they are in one of two queues, ordered by last use: processes
 * that live, or did when last checked, and processes that have exited. The
 * bound is global: beyond it, the oldest set of an exited process is evicted;
 * if there is none, all processes are checked, which moves the dead to their
 * queue in one sweep; and if none has exited, the oldest of the living is
 * evicted. An id used again makes a dead process look alive and its set stay
 * longer, no more.
 *
 * An answer copies a set's paths under the lock and builds JSON from the copy,
 * so that questions do not block the workers.
 */
#include "fs/author/reads.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <xxhash.h>

#include "fs/base/limits.h"
#include "fs/base/lock.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/escape.h"
#include "graph/base/table.h"
#include "tape/journal/text.h"

#define SHARDS	   32
#define KEYS_FIRST 16
#define KINDS	   (READS_MISSED + 1)

enum reads_queue {
	LIVING,
	EXITED,
	QUEUES,
};

struct read_set {
	struct actor *actor; /* a reference; the key in the shard's table */
	uint64_t *keys;	     /* 0: free */
	size_t slots;	     /* power of two */
	size_t count;
	struct buf paths;
	size_t fixed;		   /* bytes of a set without entries */
	size_t bytes;		   /* bytes accounted in struct reads */
	uint64_t seen;		   /* last use, by the clock of struct reads */
	int64_t first_ns, last_ns; /* first and last use, CLOCK_REALTIME */
	enum reads_queue queue;
	TAILQ_ENTRY(read_set) in_queue;
	struct table_node in_shard;
};

TAILQ_HEAD(read_queue, read_set);

struct reads_shard {
	pthread_mutex_t lock;		 /* a leaf; never two shards' at once */
	struct read_queue queue[QUEUES]; /* oldest first; protected by lock */
	struct table sets;		 /* by actor; protected by lock */
} __attribute__((aligned(64)));

struct reads {
	atomic_ullong clock; /* entries ever added */
	atomic_size_t bytes;
	atomic_ullong processes;
	atomic_ullong entries;
	atomic_ullong forgotten;
	pthread_mutex_t forgetting; /* before a shard's; one thread evicts */
	struct reads_shard shard[SHARDS];
};

/* One set. */

static void read_set_free(struct read_set *s)
{
	if (!s)
		return;
	actor_unref(s->actor);
	free(s->keys);
	buf_release(&s->paths);
	free(s);
}

static struct read_set *read_set_new(struct actor *a)
{
	const struct journal_author *author = actor_author(a);
	struct read_set *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->actor = actor_ref(a);
	/* The actor is counted with the set, though others may hold it. */
	s->fixed = sizeof(*s) + sizeof(*author) + strlen(author->cmdline) +
		   strlen(author->exe);
	s->paths = BUF(READS_PER_PROCESS_BYTES_MAX);
	s->slots = KEYS_FIRST;
	s->keys = calloc(s->slots, sizeof(*s->keys));
	if (!s->keys) {
		read_set_free(s);
		return NULL;
	}
	return s;
}

static uint64_t hash_of(enum reads_kind kind, uint64_t key)
{
	uint64_t hash = XXH3_64bits_withSeed(&key, sizeof(key), kind);

	return hash ? hash : 1;
}

/* The slot that holds `hash`, or the free one where it belongs. */
static uint64_t *slot_of(uint64_t *keys, size_t slots, uint64_t hash)
{
	size_t i = hash & (slots - 1);

	assert(hash); /* 0 marks a free slot */
	while (keys[i] && keys[i] != hash)
		i = (i + 1) & (slots - 1);
	return &keys[i];
}

static bool read_set_has(const struct read_set *s, uint64_t hash)
{
	return *slot_of(s->keys, s->slots, hash) == hash;
}

static int read_set_grow(struct read_set *s)
{
	size_t slots = s->slots * 2;
	uint64_t *keys = calloc(slots, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < s->slots; i++)
		if (s->keys[i])
			*slot_of(keys, slots, s->keys[i]) = s->keys[i];
	free(s->keys);
	s->keys = keys;
	s->slots = slots;
	return 0;
}

/* 1: added. 0: it was there. Negative: it could not be kept. */
static int read_set_add(struct read_set *s, enum reads_kind kind, uint64_t hash,
			const char *path)
{
	size_t len = strlen(path) + 1;
	char kind_byte = (char)kind;
	int r;

	if (read_set_has(s, hash))
		return 0;
	if (s->count >= READS_PER_PROCESS_MAX)
		return -ENOSPC;
	if (s->count >= s->slots / 2 && read_set_grow(s) < 0)
		return -ENOMEM;
	r = buf_reserve(&s->paths, 1 + len);
	if (r < 0)
		return r;
	(void)buf_add(&s->paths, &kind_byte, 1);
	(void)buf_add(&s->paths, path, len);
	*slot_of(s->keys, s->slots, hash) = hash;
	s->count++;
	assert(s->count <= s->slots / 2);
	return 1;
}

/* Shards. */

/* Where an actor's set is, or would be. */
struct reads_place {
	struct reads_shard *shard;
	uint64_t hash; /* in its table */
};

static struct reads_place place_of(struct reads *r, const struct actor *a)
{
	uintptr_t address = (uintptr_t)a;
	uint64_t hash = XXH3_64bits(&address, sizeof(address));
	struct reads_shard *sh = &r->shard[hash % SHARDS];

	return (struct reads_place){ sh, hash / SHARDS };
}

static struct read_set *find_locked(struct reads_place at,
				    const struct actor *a)
{
	struct table_node *n = table_find(&at.shard->sets, at.hash);

	for (; n; n = table_find_next(n)) {
		struct read_set *s = TABLE_ENTRY(n, struct read_set, in_shard);

		if (s->actor == a)
			return s;
	}
	return NULL;
}

static struct read_set *add_locked(struct reads *r, struct reads_place at,
				   struct actor *a)
{
	struct read_set *s = read_set_new(a);

	if (!s)
		return NULL;
	table_insert(&at.shard->sets, &s->in_shard, at.hash);
	s->queue = LIVING;
	TAILQ_INSERT_TAIL(&at.shard->queue[LIVING], s, in_queue);
	atomic_fetch_add(&r->processes, 1);
	return s;
}

static void remove_locked(struct reads *r, struct reads_shard *sh,
			  struct read_set *s)
{
	assert(atomic_load(&r->processes) > 0);
	assert(atomic_load(&r->entries) >= s->count);
	assert(atomic_load(&r->bytes) >= s->bytes);
	table_remove(&sh->sets, &s->in_shard);
	TAILQ_REMOVE(&sh->queue[s->queue], s, in_queue);
	atomic_fetch_sub(&r->processes, 1);
	atomic_fetch_sub(&r->entries, s->count);
	atomic_fetch_sub(&r->bytes, s->bytes);
}

static void requeue_locked(struct reads_shard *sh, struct read_set *s,
			   enum reads_queue queue)
{
	assert(s->queue < QUEUES && queue < QUEUES);
	TAILQ_REMOVE(&sh->queue[s->queue], s, in_queue);
	s->queue = queue;
	TAILQ_INSERT_TAIL(&sh->queue[queue], s, in_queue);
}

/* A process that sends a request is alive. */
static void touch_locked(struct reads *r, struct reads_shard *sh,
			 struct read_set *s)
{
	s->last_ns = clock_wall_ns();
	if (!s->first_ns)
		s->first_ns = s->last_ns;
	s->seen = atomic_load_explicit(&r->clock, memory_order_relaxed);
	if (s->queue != LIVING || TAILQ_NEXT(s, in_queue))
		requeue_locked(sh, s, LIVING);
	assert(s->queue == LIVING && !TAILQ_NEXT(s, in_queue));
}

static void account_locked(struct reads *r, struct read_set *s)
{
	size_t bytes = s->fixed + s->slots * sizeof(*s->keys) + s->paths.size;

	assert(bytes >= s->bytes); /* a set never shrinks */
	atomic_fetch_add(&r->bytes, bytes - s->bytes);
	s->bytes = bytes;
}

/* Forgetting. */

static bool lives(const struct read_set *s)
{
	return kill(actor_pid(s->actor), 0) == 0 || errno != ESRCH;
}

/* The shard whose head of that queue is the oldest, NULL: all are empty. */
static struct reads_shard *oldest_of(struct reads *r, enum reads_queue queue)
{
	struct reads_shard *oldest = NULL;
	uint64_t when = UINT64_MAX;

	for (int i = 0; i < SHARDS; i++) {
		struct reads_shard *sh = &r->shard[i];
		const struct read_set *head;

		pthread_mutex_lock(&sh->lock);
		head = TAILQ_FIRST(&sh->queue[queue]);
		if (head && head->seen < when) {
			when = head->seen;
			oldest = sh;
		}
		pthread_mutex_unlock(&sh->lock);
	}
	return oldest;
}

static void sweep_locked(struct reads_shard *sh)
{
	struct read_set *s = TAILQ_FIRST(&sh->queue[LIVING]);

	while (s) {
		struct read_set *next = TAILQ_NEXT(s, in_queue);

		if (!lives(s))
			requeue_locked(sh, s, EXITED);
		s = next;
	}
}

/* Move the sets of processes that have exited to their queue. */
static void sweep(struct reads *r)
{
	for (int i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&r->shard[i].lock);
		sweep_locked(&r->shard[i]);
		pthread_mutex_unlock(&r->shard[i].lock);
	}
}

static void forget_head(struct reads *r, struct reads_shard *sh,
			enum reads_queue queue)
{
	struct read_set *s;

	pthread_mutex_lock(&sh->lock);
	s = TAILQ_FIRST(&sh->queue[queue]);
	if (s) {
		remove_locked(r, sh, s);
		atomic_fetch_add(&r->forgotten, s->count);
	}
	pthread_mutex_unlock(&sh->lock);
	read_set_free(s);
}

static bool forget_one(struct reads *r)
{
	struct reads_shard *sh = oldest_of(r, EXITED);

	if (!sh) {
		sweep(r);
		sh = oldest_of(r, EXITED);
	}
	if (sh) {
		forget_head(r, sh, EXITED);
		return true;
	}
	sh = oldest_of(r, LIVING);
	if (sh)
		forget_head(r, sh, LIVING);
	return sh != NULL;
}

static void stay_in_bounds(struct reads *r)
{
	if (atomic_load(&r->bytes) <= READS_BYTES_MAX)
		return;
	/* Another worker is evicting already. */
	if (pthread_mutex_trylock(&r->forgetting) != 0)
		return;
	while (atomic_load(&r->bytes) > READS_BYTES_MAX && forget_one(r))
		;
	pthread_mutex_unlock(&r->forgetting);
}

/* Noting. */

bool reads_known(struct reads *r, struct actor *a, enum reads_kind kind,
		 uint64_t key)
{
	struct reads_place at = place_of(r, a);
	uint64_t hash = hash_of(kind, key);
	struct read_set *s;
	bool known = false;

	pthread_mutex_lock(&at.shard->lock);
	s = find_locked(at, a);
	if (s) {
		touch_locked(r, at.shard, s);
		known = read_set_has(s, hash);
	}
	pthread_mutex_unlock(&at.shard->lock);
	return known;
}

void reads_note(struct reads *r, struct actor *a, enum reads_kind kind,
		uint64_t key, const char *path)
{
	struct reads_place at = place_of(r, a);
	uint64_t hash = hash_of(kind, key);
	struct read_set *s;
	int added = -ENOMEM;

	assert(kind < KINDS);
	pthread_mutex_lock(&at.shard->lock);
	s = find_locked(at, a);
	if (!s)
		s = add_locked(r, at, a);
	if (s) {
		touch_locked(r, at.shard, s);
		added = read_set_add(s, kind, hash, path);
		account_locked(r, s);
	}
	if (added > 0) {
		atomic_fetch_add(&r->clock, 1);
		atomic_fetch_add(&r->entries, 1);
	}
	pthread_mutex_unlock(&at.shard->lock);

	/* A lost entry counts again at each open: we keep no trace of it. */
	if (added < 0)
		atomic_fetch_add(&r->forgotten, 1);
	stay_in_bounds(r);
}

/* Answering. */

/* References to the actors an answer is about. */
struct reads_chosen {
	struct buf list; /* of struct actor * */
};

static struct actor **chosen_at(const struct reads_chosen *c)
{
	return (struct actor **)(void *)c->list.data;
}

static size_t chosen_count(const struct reads_chosen *c)
{
	return c->list.len / sizeof(struct actor *);
}

static void chosen_release(struct reads_chosen *c)
{
	for (size_t i = 0; i < chosen_count(c); i++)
		actor_unref(chosen_at(c)[i]);
	buf_release(&c->list);
}

static bool is_wanted(const struct read_set *s, const struct reads_question *q)
{
	const struct journal_author *p = actor_author(s->actor);

	if ((q->to_ns && s->first_ns > q->to_ns) ||
	    (q->from_ns && s->last_ns < q->from_ns))
		return false;
	if (!q->pid || p->pid == (uint32_t)q->pid)
		return true;
	while (q->tree && p && p->pid != (uint32_t)q->pid)
		p = p->parent;
	return q->tree && p;
}

static int choose_from_locked(const struct read_queue *from,
			      const struct reads_question *q,
			      struct reads_chosen *c)
{
	struct read_set *s;

	for (s = TAILQ_FIRST(from); s; s = TAILQ_NEXT(s, in_queue)) {
		int err;

		if (!is_wanted(s, q))
			continue;
		err = buf_add(&c->list, &s->actor, sizeof(struct actor *));
		if (err < 0)
			return err;
		actor_ref(s->actor);
	}
	return 0;
}

static int choose(struct reads *r, const struct reads_question *question,
		  struct reads_chosen *c)
{
	int err = 0;

	for (int i = 0; i < SHARDS && err == 0; i++) {
		struct reads_shard *sh = &r->shard[i];

		pthread_mutex_lock(&sh->lock);
		for (int q = 0; q < QUEUES && err == 0; q++)
			err = choose_from_locked(&sh->queue[q], question, c);
		pthread_mutex_unlock(&sh->lock);
	}
	return err;
}

/* By start time. */
static int by_birth(const void *a, const void *b)
{
	const struct journal_author *x =
		actor_author(*(struct actor *const *)a);
	const struct journal_author *y =
		actor_author(*(struct actor *const *)b);

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static cJSON *text_item(const char *text)
{
	char escaped[JOURNAL_TEXT_ROOM];

	(void)escape_text(text, escaped, sizeof(escaped));
	return cJSON_CreateString(escaped);
}

static bool put_text(cJSON *object, const char *name, const char *text)
{
	cJSON *item = text_item(text);

	return item && cJSON_AddItemToObject(object, name, item);
}

static bool put_author(cJSON *object, const struct journal_author *a)
{
	return cJSON_AddNumberToObject(object, "pid", a->pid) &&
	       cJSON_AddNumberToObject(object, "start", (double)a->start) &&
	       put_text(object, "comm", a->comm) &&
	       put_text(object, "cmdline", a->cmdline) &&
	       cJSON_AddNumberToObject(object, "ppid",
				       a->parent ? a->parent->pid : 0);
}

static bool put_paths(cJSON *object, const struct buf *paths)
{
	static const char *const names[KINDS] = {
		[READS_OPENED] = "opened",
		[READS_LISTED] = "listed",
		[READS_MISSED] = "missed",
	};
	cJSON *list[KINDS];

	for (int i = 0; i < KINDS; i++) {
		list[i] = cJSON_AddArrayToObject(object, names[i]);
		if (!list[i])
			return false;
	}
	for (size_t at = 0; at < paths->len;) {
		const char *record = paths->data + at;
		cJSON *item = text_item(record + 1);

		assert(record[0] >= 0 && record[0] < KINDS);
		if (!item || !cJSON_AddItemToArray(list[(int)record[0]], item))
			return false;
		at += 1 + strlen(record + 1) + 1;
	}
	return true;
}

/* The part of a set that goes into an answer. */
struct reads_copy {
	struct buf paths;
	int64_t first_ns, last_ns;
};

/* 0 also if the set was evicted meanwhile; its paths are then empty. */
static int copy_set(struct reads *r, const struct actor *a,
		    struct reads_copy *ret)
{
	struct reads_place at = place_of(r, a);
	const struct read_set *s;
	int err = 0;

	pthread_mutex_lock(&at.shard->lock);
	s = find_locked(at, a);
	if (s) {
		err = buf_add(&ret->paths, s->paths.data, s->paths.len);
		ret->first_ns = s->first_ns;
		ret->last_ns = s->last_ns;
	}
	pthread_mutex_unlock(&at.shard->lock);
	return err;
}

static void copy_release(struct reads_copy *c)
{
	buf_release(&c->paths);
}

/* As raw digits: a double would lose precision. */
static bool put_time(cJSON *object, const char *name, int64_t ns)
{
	char digits[24];

	(void)snprintf(digits, sizeof(digits), "%" PRId64, ns);
	return cJSON_AddRawToObject(object, name, digits);
}

static int answer_one(struct reads *r, struct actor *a, cJSON *list)
{
	CLEANUP(copy_release)
	struct reads_copy c = { .paths = BUF(READS_PER_PROCESS_BYTES_MAX) };
	cJSON *object;
	int err = copy_set(r, a, &c);

	if (err < 0 || c.paths.len == 0)
		return err;
	object = cJSON_CreateObject();
	if (!object)
		return -ENOMEM;
	(void)cJSON_AddItemToArray(list, object);
	if (!put_author(object, actor_author(a)) ||
	    !put_time(object, "first_ns", c.first_ns) ||
	    !put_time(object, "last_ns", c.last_ns) ||
	    !put_paths(object, &c.paths))
		return -ENOMEM;
	return 0;
}

int reads_answer(struct reads *r, const struct reads_question *q, cJSON *answer)
{
	CLEANUP(chosen_release)
	struct reads_chosen c = { .list = BUF(READS_BYTES_MAX) };
	cJSON *list = cJSON_AddArrayToObject(answer, "processes");
	int err = choose(r, q, &c);

	if (err < 0)
		return err;
	if (!list)
		return -ENOMEM;
	if (chosen_count(&c) > 0)
		qsort(c.list.data, chosen_count(&c), sizeof(struct actor *),
		      by_birth);
	for (size_t i = 0; i < chosen_count(&c) && err == 0; i++)
		err = answer_one(r, chosen_at(&c)[i], list);
	if (err < 0)
		return err;
	if (!cJSON_AddNumberToObject(answer, "forgotten",
				     (double)atomic_load(&r->forgotten)))
		return -ENOMEM;
	return 0;
}

void reads_stat(struct reads *r, struct reads_stats *ret)
{
	*ret = (struct reads_stats){
		.processes = atomic_load(&r->processes),
		.entries = atomic_load(&r->entries),
		.forgotten = atomic_load(&r->forgotten),
	};
}

static void shard_init(struct reads_shard *sh)
{
	lock_init_adaptive(&sh->lock);
	for (int q = 0; q < QUEUES; q++)
		TAILQ_INIT(&sh->queue[q]);
}

int reads_new(struct reads **ret)
{
	struct reads *r = aligned_alloc(64, sizeof(*r));

	if (!r)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	(void)pthread_mutex_init(&r->forgetting, NULL);
	for (int i = 0; i < SHARDS; i++)
		shard_init(&r->shard[i]);
	*ret = r;
	return 0;
}

static void queue_release(struct read_queue *q)
{
	struct read_set *s;

	while ((s = TAILQ_FIRST(q)) != NULL) {
		TAILQ_REMOVE(q, s, in_queue);
		read_set_free(s);
	}
}

void reads_free(struct reads *r)
{
	if (!r)
		return;
	for (int i = 0; i < SHARDS; i++) {
		for (int q = 0; q < QUEUES; q++)
			queue_release(&r->shard[i].queue[q]);
		table_release(&r->shard[i].sets);
		(void)pthread_mutex_destroy(&r->shard[i].lock);
	}
	(void)pthread_mutex_destroy(&r->forgetting);
	free(r);
}
