/*
 * A cache from thread ids to processes, set-associative like a processor's: an
 * id belongs to one of ACTOR_SETS sets, a set holds ACTOR_WAYS ids and has its
 * own lock, and a new id in a full set evicts the one checked least recently.
 * A hit allocates nothing, and two workers contend for a lock only when their
 * callers' ids share a set.
 *
 *	id	-> actor, time of the last check, probe
 *	412	   412 "sh", 3 us ago, (pagemap)	a process
 *	415	   412 "sh", 9 us ago			one of its threads
 *
 * Four ways to an answer, each dearer than the one before:
 *
 *	the same request asked before (actors_begin_request())
 *	trusted	 checked within ACTOR_TRUST_NS		~0.05 us
 *	verified the process's probe sees no change	~0.4 us
 *	looked	 /proc is read (proc.c)			~40 us
 *
 * A thread's own entry has no probe: when its trust has expired, the entry of
 * its process is checked. Every ACTOR_MEMBER_NS it is also checked that the id
 * is still a thread of that process.
 *
 * Why this is correct: the caller is blocked in its syscall until we answer,
 * so what we see is still true when the answer is used. It can exec only
 * after that, which takes longer than ACTOR_TRUST_NS: its next request finds
 * the trust expired, and the probe notices the exec. Trust counts from before
 * the look. And ids wrap around: the id of a thread that ended is used again
 * only after all the others, usually tens of thousands, which takes longer
 * than ACTOR_MEMBER_NS.
 *
 * An actor is immutable once published; its parent is set before that. A
 * process that execs gets a new actor under the same id, and references to the
 * old one keep describing the old program. The parent is the one seen when the
 * process was described: for an orphan, init or a subreaper.
 *
 * Two workers may look at the same process at once. Both build an actor; the
 * second to publish finds the first's, sees that it says the same or was seen
 * later, and uses it. By the same rule a known description survives: when a
 * look finds the process gone, or emptied by exit, the cached actor stays.
 */
#include "fs/author/actor.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/author/proc.h"
#include "fs/base/limits.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"

struct actor {
	atomic_uint refs;
	struct actors *owner; /* counts its actors */
	struct actor
		*parent; /* a reference, NULL: unknown, or beyond the root */
	pid_t ppid;
	unsigned chain; /* actors from here to the end of the chain */
	struct journal_author author;
	char text[]; /* comm, cmdline, exe */
};

struct actor_entry {
	struct actor *actor;	  /* a reference */
	struct proc_probe *probe; /* a reference, NULL: none kept */
	uint64_t checked;	  /* when, CLOCK_MONOTONIC */
	uint64_t joined;	  /* when its process was last checked */
};

struct actor_set {
	pthread_mutex_t lock;	  /* a leaf: no lock or syscall under it */
	pid_t number[ACTOR_WAYS]; /* protected by lock; 0: free */
	struct actor_entry entry[ACTOR_WAYS]; /* protected by lock */
} __attribute__((aligned(64)));

struct actors {
	struct proc proc;
	pid_t root;	     /* session root, 0: none */
	uint64_t root_start; /* 0: unknown */
	char own[PATH_MAX];  /* this program; "": unknown */
	atomic_ullong count; /* actors, plus one for actors_new()'s caller */
	struct actor_set set[ACTOR_SETS];
};

/* Actors. */

static bool is_root(const struct actors *as, pid_t pid,
		    const struct proc_view *v)
{
	if (as->root && pid == as->root)
		return !as->root_start || v->start == as->root_start;
	return strcmp(v->comm, ACTOR_ROOT_NAME) == 0 && *as->own &&
	       strcmp(v->exe, as->own) == 0;
}

static struct actor *actor_new(struct actors *as, pid_t pid,
			       const struct proc_view *v)
{
	size_t comm = strlen(v->comm) + 1;
	size_t cmdline = strlen(v->cmdline) + 1;
	size_t exe = strlen(v->exe) + 1;
	struct actor *a = malloc(sizeof(*a) + comm + cmdline + exe);

	if (!a)
		return NULL;
	atomic_init(&a->refs, 1);
	a->owner = as;
	a->parent = NULL;
	a->ppid = v->ppid;
	a->chain = 1;
	a->author = (struct journal_author){
		.pid = (uint32_t)pid,
		.uid = v->uid,
		.start = v->start,
		.comm = memcpy(a->text, v->comm, comm),
		.cmdline = memcpy(a->text + comm, v->cmdline, cmdline),
		.exe = memcpy(a->text + comm + cmdline, v->exe, exe),
		.session_root = is_root(as, pid, v),
	};
	atomic_fetch_add_explicit(&as->count, 1, memory_order_relaxed);
	return a;
}

struct actor *actor_ref(struct actor *a)
{
	unsigned refs =
		atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);

	assert(refs > 0);
	return a;
}

static void actors_drop(struct actors *as)
{
	unsigned long long count =
		atomic_fetch_sub_explicit(&as->count, 1, memory_order_acq_rel);

	assert(count > 0);
	if (count == 1)
		free(as);
}

/* May free a whole chain of parents: a loop, to keep the stack flat. */
void actor_unref(struct actor *a)
{
	while (a && atomic_fetch_sub_explicit(&a->refs, 1,
					      memory_order_acq_rel) == 1) {
		struct actor *parent = a->parent;

		actors_drop(a->owner);
		free(a);
		a = parent;
	}
}

pid_t actor_pid(const struct actor *a)
{
	return (pid_t)a->author.pid;
}

struct journal_author *actor_author(struct actor *a)
{
	return &a->author;
}

/*
 * True if `seen` adds nothing to `known`. An exiting process has lost its
 * command line and executable, one that is gone its start time too.
 */
static bool actor_covers(const struct actor *known, const struct actor *seen)
{
	const struct journal_author *k = &known->author;
	const struct journal_author *s = &seen->author;

	if (k->pid != s->pid || (s->start && s->start != k->start))
		return false;
	if (!*s->cmdline && !*s->exe)
		return true;
	return strcmp(k->comm, s->comm) == 0 &&
	       strcmp(k->cmdline, s->cmdline) == 0 &&
	       strcmp(k->exe, s->exe) == 0;
}

/* The cache. */

static struct actor_set *set_of(struct actors *as, pid_t number)
{
	/* Processes that run together often have neighbouring ids. */
	return &as->set[(unsigned)number % ACTOR_SETS];
}

static struct actor_entry *set_find_locked(struct actor_set *s, pid_t number)
{
	for (int i = 0; i < ACTOR_WAYS; i++)
		if (s->number[i] == number)
			return &s->entry[i];
	return NULL;
}

/* A free entry for `number`, or the one checked least recently. */
static struct actor_entry *set_place_locked(struct actor_set *s, pid_t number)
{
	int oldest = 0;

	assert(number > 0 && !set_find_locked(s, number));
	for (int i = 0; i < ACTOR_WAYS; i++)
		if (s->entry[i].checked < s->entry[oldest].checked)
			oldest = i;
	s->number[oldest] = number;
	return &s->entry[oldest];
}

/* The probe to evict so that the set keeps at most ACTOR_SET_PROBES. */
static struct proc_probe *set_spare_probe_locked(struct actor_set *s)
{
	struct actor_entry *oldest = NULL;
	struct proc_probe *spare;
	int probes = 0;

	for (int i = 0; i < ACTOR_WAYS; i++) {
		struct actor_entry *e = &s->entry[i];

		if (!e->probe)
			continue;
		probes++;
		if (!oldest || e->checked < oldest->checked)
			oldest = e;
	}
	if (probes <= ACTOR_SET_PROBES)
		return NULL;
	assert(probes == ACTOR_SET_PROBES + 1);
	spare = oldest->probe;
	oldest->probe = NULL;
	return spare;
}

/*
 * Put `mine` into the set and return the references to drop: those of the old
 * entry, or of `mine` where the old entry or its actor stays. Only the entry
 * of a process may stay; a thread's entry always follows its process.
 */
static struct actor_entry set_put_locked(struct actor_set *s, pid_t number,
					 struct actor_entry mine,
					 struct actor_entry **ret)
{
	struct actor_entry *e = set_find_locked(s, number);
	bool process = e && actor_pid(e->actor) == number &&
		       actor_pid(mine.actor) == number;
	struct actor_entry out;

	assert(mine.actor);
	*ret = e ? e : set_place_locked(s, number);
	/* Another worker looked later than we did, and was faster. */
	if (process && e->checked > mine.checked)
		return mine;
	out = **ret;
	**ret = mine;
	if (process && actor_covers(out.actor, mine.actor)) {
		(*ret)->actor = out.actor;
		out.actor = mine.actor;
	}
	assert((*ret)->actor);
	return out;
}

/*
 * Publish `a`, seen at `now`, under `number`, unless the cache knows better.
 * Takes over both references and returns one to the published actor.
 */
static struct actor *cache_put(struct actors *as, pid_t number, struct actor *a,
			       struct proc_probe *probe, uint64_t now)
{
	struct actor_set *s = set_of(as, number);
	struct actor_entry mine = { a, probe, .checked = now, .joined = now };
	struct proc_probe *spare;
	struct actor_entry *e;
	struct actor_entry out;

	pthread_mutex_lock(&s->lock);
	out = set_put_locked(s, number, mine, &e);
	a = actor_ref(e->actor);
	spare = set_spare_probe_locked(s);
	pthread_mutex_unlock(&s->lock);

	actor_unref(out.actor);
	proc_probe_unref(out.probe);
	proc_probe_unref(spare);
	return a;
}

/* A copy of the entry with its references; an empty one if there is none. */
static struct actor_entry cache_take(struct actors *as, pid_t number)
{
	struct actor_set *s = set_of(as, number);
	struct actor_entry taken = { 0 };
	struct actor_entry *e;

	pthread_mutex_lock(&s->lock);
	e = set_find_locked(s, number);
	if (e) {
		taken = *e;
		actor_ref(taken.actor);
		if (taken.probe)
			proc_probe_ref(taken.probe);
	}
	pthread_mutex_unlock(&s->lock);
	return taken;
}

/* `number` was found to be `known`'s actor still. */
static void cache_confirm(struct actors *as, pid_t number,
			  const struct actor_entry *known, uint64_t now)
{
	struct actor_set *s = set_of(as, number);
	struct actor_entry *e;

	pthread_mutex_lock(&s->lock);
	e = set_find_locked(s, number);
	if (e && e->actor == known->actor && e->checked < now) {
		e->checked = now;
		e->joined = known->joined;
	}
	pthread_mutex_unlock(&s->lock);
}

/* The three ways. */

static struct actor *trusted(struct actors *as, pid_t number, uint64_t now)
{
	struct actor_set *s = set_of(as, number);
	struct actor *a = NULL;
	struct actor_entry *e;

	pthread_mutex_lock(&s->lock);
	e = set_find_locked(s, number);
	/* Another worker may have checked after our `now`. */
	if (e && (e->checked >= now || now - e->checked < ACTOR_TRUST_NS))
		a = actor_ref(e->actor);
	pthread_mutex_unlock(&s->lock);
	return a;
}

static bool process_same(const struct actor_entry *e)
{
	return e->probe && proc_probe_same(e->probe, e->actor->author.cmdline);
}

/* Ends what cache_take() began: returns the actor if `same`, else NULL. */
static struct actor *finish_check(struct actors *as, pid_t number,
				  struct actor_entry *e, bool same,
				  uint64_t now)
{
	assert(e->actor || !same);
	if (same)
		cache_confirm(as, number, e, now);
	else
		actor_unref(e->actor);
	proc_probe_unref(e->probe);
	return same ? e->actor : NULL;
}

static struct actor *process_verified(struct actors *as, pid_t pid,
				      uint64_t now)
{
	struct actor_entry e = cache_take(as, pid);
	bool same = e.actor && actor_pid(e.actor) == pid && process_same(&e);

	return finish_check(as, pid, &e, same, now);
}

/* The process if the cache knows it: no look at /proc. */
static struct actor *process_known(struct actors *as, pid_t pid, uint64_t now)
{
	struct actor *a = trusted(as, pid, now);

	return a ? a : process_verified(as, pid, now);
}

/* Is `tid` still a thread of its process, and that one unchanged? */
static bool thread_same(struct actors *as, pid_t tid, struct actor_entry *e,
			uint64_t now)
{
	pid_t pid = actor_pid(e->actor);
	struct actor *a;
	bool same;

	assert(pid != tid);
	if (now > e->joined + ACTOR_MEMBER_NS) {
		if (!proc_has_thread(pid, tid))
			return false;
		e->joined = now;
	}
	a = process_known(as, pid, now);
	same = a == e->actor;
	actor_unref(a);
	return same;
}

static struct actor *verified(struct actors *as, pid_t tid, uint64_t now)
{
	struct actor_entry e = cache_take(as, tid);
	bool same = false;

	if (e.actor && actor_pid(e.actor) == tid)
		same = process_same(&e);
	else if (e.actor)
		same = thread_same(as, tid, &e, now);
	return finish_check(as, tid, &e, same, now);
}

/*
 * Describe the process from /proc, without its parent. Not inlined, to keep
 * the large view off the stack of the recursion through the ancestors.
 */
static __attribute__((noinline)) struct actor *
actor_see(struct actors *as, pid_t pid, pid_t tid, struct proc_traces *ret)
{
	struct proc_view v;

	if (proc_look(&as->proc, pid, tid, &v, ret) < 0) {
		v.ppid = 0;
		v.uid = (uid_t)-1;
		v.start = 0;
		v.comm[0] = v.cmdline[0] = v.exe[0] = '\0';
	}
	return actor_new(as, pid, &v);
}

static struct actor *looked(struct actors *as, pid_t pid, pid_t tid,
			    uint64_t now, unsigned depth);

static struct actor *parent_of(struct actors *as, const struct actor *a,
			       uint64_t now, unsigned depth)
{
	struct actor *parent;

	if (a->ppid <= 0 || a->author.session_root ||
	    depth >= ACTOR_CHAIN_MAX - 1)
		return NULL;
	/* Ancestors are not blocked: what we see of them earns no trust. */
	if (depth == 0)
		now -= ACTOR_TRUST_NS;
	parent = process_known(as, a->ppid, now);
	if (!parent)
		parent = looked(as, a->ppid, a->ppid, now, depth + 1);
	/*
	 * Started after its child, it is another process that was given the
	 * parent's id. And a chain that is long enough ends here.
	 */
	if (parent && (parent->author.start > a->author.start ||
		       parent->chain >= ACTOR_CHAIN_MAX)) {
		actor_unref(parent);
		return NULL;
	}
	return parent;
}

/* A process in its parent's memory has its parent's executable. */
static bool may_share(const struct actors *as, const struct actor *a, pid_t tid)
{
	if (a->ppid <= 0)
		return false;
	if (a->parent && strcmp(a->author.exe, a->parent->author.exe) != 0)
		return false;
	return proc_may_share(&as->proc, tid, a->ppid);
}

static struct actor *looked(struct actors *as, pid_t pid, pid_t tid,
			    uint64_t now, unsigned depth)
{
	struct proc_traces traces = { .memory = -1, .cmdline = -1 };
	struct actor *a = actor_see(as, pid, tid, &traces);

	assert(depth < ACTOR_CHAIN_MAX);
	if (!a) {
		proc_traces_close(&traces);
		return NULL;
	}
	a->parent = parent_of(as, a, now, depth);
	if (a->parent) {
		a->author.parent = &a->parent->author;
		a->chain = a->parent->chain + 1;
	}
	assert(a->chain <= ACTOR_CHAIN_MAX);
	return cache_put(as, pid, a,
			 proc_probe_new(&traces, may_share(as, a, tid)), now);
}

/* A thread that is gone: its cached process, or an actor with an id only. */
static struct actor *departed(struct actors *as, pid_t tid, uint64_t now)
{
	struct actor_entry e = cache_take(as, tid);

	proc_probe_unref(e.probe);
	return e.actor ? e.actor : looked(as, tid, tid, now, 0);
}

static struct actor *found(struct actors *as, pid_t tid, uint64_t now)
{
	pid_t pid = proc_of_thread(&as->proc, tid);
	struct actor *a;

	if (pid == 0)
		return departed(as, tid, now);
	if (pid == tid)
		return looked(as, pid, tid, now, 0);
	a = process_known(as, pid, now);
	if (!a)
		a = looked(as, pid, tid, now, 0);
	return a ? cache_put(as, tid, a, NULL, now) : NULL;
}

static struct actor *look_up(struct actors *as, pid_t tid)
{
	uint64_t now = (uint64_t)clock_mono_ns();
	struct actor *a = trusted(as, tid, now);

	if (!a)
		a = verified(as, tid, now);
	return a ? a : found(as, tid, now);
}

/* The caller of the request that this thread serves. */
static _Thread_local struct {
	bool serves;
	struct actors *as;
	pid_t tid;
	struct actor *actor; /* NULL: it was not asked for yet */
} caller;

void actors_begin_request(void)
{
	assert(!caller.serves && !caller.actor);
	caller.serves = true;
}

void actors_end_request(void)
{
	assert(caller.serves);
	caller.serves = false;
	actor_unref(TAKE(caller.actor));
}

struct actor *actors_get(struct actors *as, pid_t tid)
{
	struct actor *a;

	if (tid <= 0)
		return NULL;
	if (caller.actor && caller.tid == tid && caller.as == as)
		return actor_ref(caller.actor);
	a = look_up(as, tid);
	if (a && caller.serves && !caller.actor) {
		caller.as = as;
		caller.tid = tid;
		caller.actor = actor_ref(a);
	}
	return a;
}

int actors_new(pid_t session_root, struct actors **ret)
{
	struct actors *as = aligned_alloc(64, sizeof(*as));
	struct proc_traces traces = { .memory = -1, .cmdline = -1 };
	struct actor *root;

	if (!as)
		return -ENOMEM;
	memset(as, 0, sizeof(*as));
	atomic_init(&as->count, 1);
	proc_init(&as->proc);
	for (int i = 0; i < ACTOR_SETS; i++)
		(void)pthread_mutex_init(&as->set[i].lock, NULL);
	/* A path too long to fit is cut and matches no executable. */
	if (readlink("/proc/self/exe", as->own, sizeof(as->own) - 1) < 0)
		as->own[0] = '\0';
	as->root = session_root;
	root = session_root ? actor_see(as, session_root, session_root, &traces)
			    : NULL;
	as->root_start = root ? root->author.start : 0;
	actor_unref(root);
	proc_traces_close(&traces);
	*ret = as;
	return 0;
}

static void set_release(struct actor_set *s)
{
	for (int i = 0; i < ACTOR_WAYS; i++) {
		actor_unref(s->entry[i].actor);
		proc_probe_unref(s->entry[i].probe);
	}
	(void)pthread_mutex_destroy(&s->lock);
}

void actors_free(struct actors *as)
{
	if (!as)
		return;
	for (int i = 0; i < ACTOR_SETS; i++)
		set_release(&as->set[i]);
	proc_release(&as->proc);
	actors_drop(as);
}

uint64_t actors_count(struct actors *as)
{
	return atomic_load(&as->count) - 1;
}
