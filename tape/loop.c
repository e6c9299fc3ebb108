/*
 * The loop of the process. One turn of it:
 *
 *	answer the questions that have arrived
 *	work for a slice: read the journal, apply what has settled, check what
 *		may have changed outside
 *	look again at the questions that were put off
 *	sleep, if nothing is left to do
 *
 * It sleeps on descriptors: the questions' sockets, the journal's bell,
 * inotify, signals. A timer is set only while something is pending, so an idle
 * tape uses no processor time. While there is no bell (no mount), inotify on
 * the directory of sockets tells when one appears.
 *
 * A thread starts the tape, and owns it until it ends; meanwhile the loop
 * answers what can be answered without.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/graph.h"
#include "tape/apart.h"
#include "tape/daemon_i.h"
#include "tape/journal/progress.h"
#include "tape/outside.h"
#include "tape/settle.h"
#include "tape/store/store.h"
#include "tape/sweep.h"
#include "tape/wire/bell.h"
#include "tape/wire/call.h"
#include "tape/wire/sp_server.h"
#include "tape/wire/state.h"
#include "tape/wire/wire.h"

/* How long, and how often, the loop tries to connect to a bell that is about
   to appear. */
#define BELL_EXPECT_NS (3000 * NS_PER_MS)
#define BELL_RETRY_NS  (20 * NS_PER_MS)
/* Between two looks at questions that were put off. */
#define AGAIN_NS (NS_PER_MS / 4)

/* Between two looks at versions of which some are being read apart. */
#define APART_NS (5 * NS_PER_MS)

#define RETIRE_EVERY_NS (600000 * NS_PER_MS)

enum { AT_WAKE, AT_SIGNAL, AT_OUTSIDE, AT_RUN, AT_BELL, AT_WIRE };

/* Of the questions that were put off, each may have one. */
#define AT_CALLS (AT_WIRE + SP_SERVER_FDS)
#define AT_COUNT (AT_CALLS + SP_CLIENTS_MAX)

struct loop {
	struct tape *t; /* of the starter until that has ended */
	int signal_fd;
	int run_fd; /* inotify on the directories of sockets and of state */
	uint64_t expect_until; /* until then a bell is tried again and again */
	size_t waiting;	       /* questions that were put off */
	struct sync *last;     /* the barrier before the end; NULL: not yet */
	pthread_t starter;
	int start_error;
};

void slice_begin(struct tape *t)
{
	t->slice_ns = clock_mono_ns() + SLICE_NS;
}

bool slice_over(const struct tape *t)
{
	/* Until it is ready, nothing else can be done; and nothing may follow
	   what could not be stored. */
	return t->error ||
	       (t->ready && (uint64_t)clock_mono_ns() >= t->slice_ns);
}

/* -- Sleeping. */

static bool expects_bell(const struct loop *l)
{
	const struct tape *t = l->t;

	return t->ear && bell_ear_fd(t->ear) < 0 &&
	       (uint64_t)clock_mono_ns() < l->expect_until;
}

/* When to work again at the latest; 0: when a descriptor is ready. */
static uint64_t loop_due(const struct loop *l)
{
	const struct tape *t = l->t;
	uint64_t due, now = clock_mono_ns();

	if (!t->ready)
		return 0;
	due = settle_due(t->settle);
	/* It writes to wake_fd. */
	if (due && apart_is_busy(t->apart) && due < now + APART_NS)
		due = now + APART_NS;
	due = sooner(due, external_due(t));
	due = sooner(due, t->rest_at_ns);
	if (t->leftovers)
		due = sooner(due, leftovers_due(t->leftovers));
	if (l->waiting || l->last)
		due = sooner(due, now + AGAIN_NS);
	if (expects_bell(l))
		due = sooner(due, now + BELL_RETRY_NS);
	return due;
}

static void listen_bell(struct loop *l)
{
	struct tape *t = l->t;
	bool had = t->ear && bell_ear_fd(t->ear) >= 0;
	uint64_t head;

	if (!t->ear)
		return;
	(void)bell_ear_wait(t->ear, 0, &head);
	/* The file system may be restarting. */
	if (had && bell_ear_fd(t->ear) < 0)
		l->expect_until = clock_mono_ns() + BELL_EXPECT_NS;
}

/* Is a file that we have open still in its directory? */
static bool is_in_place(int dir_fd, const char *name, int fd)
{
	struct stat there, ours;

	return fstatat(dir_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &ours) == 0 && there.st_dev == ours.st_dev &&
	       there.st_ino == ours.st_ino;
}

/*
 * What is written to a removed store is kept nowhere. Whoever started this
 * process starts it again, and then the tape begins anew.
 */
static void check_state(struct tape *t)
{
	int dir_fd = t->c->state->dir_fd;
	struct stat st;

	if (!t->ready || t->error ||
	    (is_in_place(dir_fd, TAPE_LOCK_NAME, t->lock_file) &&
	     fstatat(dir_fd, STORE_NAME, &st, 0) == 0))
		return;
	tape_say("the state folder '%s' was removed: what was on the tape is "
		 "gone, and a new tape begins when it is started again",
		 t->c->state->dir);
	t->error = -ESTALE;
}

static void drain_run(struct loop *l)
{
	char bytes[4096];

	while (read(l->run_fd, bytes, sizeof(bytes)) > 0)
		continue;
	l->expect_until = clock_mono_ns() + BELL_EXPECT_NS;
	check_state(l->t);
}

/* Returns how many there are. */
static size_t fill(struct loop *l, struct pollfd *p, int64_t *wire_ns)
{
	struct tape *t = l->t;
	bool hears = t->ready && !t->outside_at_ns;

	p[AT_WAKE] = (struct pollfd){ .fd = t->wake_fd, .events = POLLIN };
	p[AT_SIGNAL] = (struct pollfd){ .fd = l->signal_fd, .events = POLLIN };
	p[AT_OUTSIDE] =
		(struct pollfd){ .fd = hears ? outside_fd(t->outside) : -1,
				 .events = POLLIN };
	p[AT_RUN] = (struct pollfd){ .fd = l->run_fd, .events = POLLIN };
	p[AT_BELL] =
		(struct pollfd){ .fd = t->ready && t->ear ? bell_ear_fd(t->ear)
							  : -1,
				 .events = POLLIN };
	*wire_ns = wire_server_poll(t->wire, p + AT_WIRE);
	assert(t->calls.count <= SP_CLIENTS_MAX);
	for (uint32_t i = 0; i < t->calls.count; i++)
		p[AT_CALLS + i] = wire_call_poll(t->calls.at[i]);
	return AT_CALLS + t->calls.count;
}

static void take_events(struct loop *l, const struct pollfd *p)
{
	struct tape *t = l->t;
	eventfd_t ignored;

	if (p[AT_WAKE].revents)
		(void)eventfd_read(t->wake_fd, &ignored);
	if (p[AT_SIGNAL].revents)
		t->stop = true;
	if (p[AT_OUTSIDE].revents)
		t->outside_at_ns =
			clock_mono_ns() + (t->c->journal ? GRACE_NS : 0);
	if (p[AT_RUN].revents)
		drain_run(l);
	if (t->ready && (p[AT_BELL].revents || expects_bell(l)))
		listen_bell(l);
	wire_server_serve(t->wire, p + AT_WIRE);
}

/* Sleep until `due` (0: without a limit), and answer what has arrived. */
static void loop_sleep(struct loop *l, uint64_t due)
{
	struct pollfd p[AT_COUNT];
	int64_t now = clock_mono_ns(), wire_ns = -1;
	size_t count = fill(l, p, &wire_ns);
	struct timespec ts = { 0 };

	if (wire_ns >= 0)
		due = sooner(due, (uint64_t)(now + wire_ns));
	if (due > (uint64_t)now)
		ts = (struct timespec){
			.tv_sec = (int64_t)(due - now) / NS_PER_S,
			.tv_nsec = (int64_t)(due - now) % NS_PER_S
		};
	if (ppoll(p, count, due ? &ts : NULL, NULL) >= 0)
		take_events(l, p);
}

/* -- Working. */

/* Give up what --keep does not want, while the tape is idle. */
static void retire(struct tape *t, uint64_t now)
{
	struct store_retired gone;

	if ((!t->c->keep_days && !t->c->keep_bytes) || now < t->retire_at_ns)
		return;
	t->retire_at_ns = now + RETIRE_EVERY_NS;
	if (answers_retire(t->answers, t->c->keep_days, t->c->keep_bytes,
			   &gone) < 0)
		return;
	t->retired_times++;
	t->retired_contents += gone.contents;
	t->retired_entries += gone.entries;
}

static void rest(struct tape *t, uint64_t now)
{
	t->rest_at_ns = 0;
	retire(t, now);
	if (t->leftovers)
		leftovers_begin(t, t->leftovers);
	(void)store_checkpoint(t->store);
}

/*
 * Every change outside the mount that returned a while ago was looked at, if
 * inotify's queue is empty and says of every directory.
 */
static void tell_outside(struct tape *t, int64_t wall_ns)
{
	struct outside_stats st;

	outside_stat(t->outside, &st);
	if (!t->suspects.count && !sweep_busy(t->sweep) && !t->sweep_at_ns &&
	    !st.refused &&
	    outside_has_read(t->outside, outside_end(t->outside)))
		progress_set_outside_ns(t->progress,
					(uint64_t)(wall_ns - GRACE_NS));
}

/* One slice of everything. True: there is more to do. */
static bool work(struct tape *t)
{
	int64_t wall_ns = clock_wall_ns();
	bool more;
	uint64_t now;

	slice_begin(t);
	more = follow_read(t);
	more = follow_apply(t) || more;
	now = clock_mono_ns();
	if (t->outside_at_ns && now >= t->outside_at_ns)
		more = external_hear(t) || more;
	more = external_step(t) || more;
	if ((t->suspects.count && !more) || check_busy(t->check) ||
	    t->suspects_wanted)
		external_check(t);
	if (t->error)
		return false;
	if (!more && t->bases.count)
		more = start_bases(t);
	if (!more && t->leftovers)
		leftovers_step(t, t->leftovers);
	if (!more && t->rest_at_ns && now >= t->rest_at_ns)
		rest(t, now);
	if (!more)
		tell_outside(t, wall_ns);
	return more || slice_over(t);
}

/* What is wanted is said anew by the questions that want it. */
static void ask_again(struct loop *l)
{
	struct tape *t = l->t;

	t->wanted = 0;
	t->suspects_wanted = 0;
	l->waiting = wire_server_again(t->wire);
}

/* Before the end, everything written so far gets on the tape. True: it is. */
static bool is_last_done(struct loop *l)
{
	static const struct answers_wish everything = { .everything = true,
							.within_ms = -1 };
	struct tape *t = l->t;

	if (!l->last)
		l->last = sync_new(t, clock_mono_ns(), &everything);
	return sync_step(t, l->last);
}

static int loop_turns(struct loop *l)
{
	struct tape *t = l->t;
	bool more = true;

	while (!t->error && !(t->stop && is_last_done(l))) {
		loop_sleep(l, more ? 1 : loop_due(l));
		more = work(t);
		ask_again(l);
	}
	if (t->error)
		return t->error;
	/* The position in the journal, even without an entry. */
	apply_begin(t);
	apply_commit(t);
	anchoring_put(t);
	return t->error;
}

/* -- Starting. */

static void *start_main(void *arg)
{
	struct loop *l = arg;

	l->start_error = start_all(l->t);
	atomic_store(&l->t->started, true);
	(void)eventfd_write(l->t->wake_fd, 1);
	return NULL;
}

static void tell_ready(const struct tape *t)
{
	struct graph_stats st;
	size_t symbols = 0;

	graph_stat(t->graph, &st);
	for (size_t i = 0; i < SYMBOL_KINDS; i++)
		symbols += st.symbols[i];
	if (t->c->ready)
		t->c->ready(t->known.count, symbols);
}

static int start(struct loop *l)
{
	struct tape *t = l->t;
	int r = -pthread_create(&l->starter, NULL, start_main, l);

	if (r < 0) {
		tape_say("no thread can be started: %s", strerrordesc_np(-r));
		return r;
	}
	while (!atomic_load(&t->started))
		loop_sleep(l, 0);
	(void)pthread_join(l->starter, NULL);
	if (l->start_error < 0)
		return l->start_error;
	t->rest_at_ns = clock_mono_ns() + REST_NS;
	t->ready = true;
	anchoring_put(t);
	tell_ready(t);
	return 0;
}

/* -- Coming and going. */

static int take_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Report new sockets, and the removal of our own files. */
static int watch_dirs(const struct tape *t)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd < 0)
		return fd;
	(void)inotify_add_watch(fd, t->c->state->run, IN_CREATE | IN_MOVED_TO);
	(void)inotify_add_watch(fd, t->c->state->dir,
				IN_DELETE | IN_MOVED_FROM);
	return fd;
}

struct loop *loop_new(struct tape *t)
{
	struct loop *l = must_calloc(1, sizeof(*l));

	l->t = t;
	l->signal_fd = take_signals();
	l->run_fd = watch_dirs(t);
	return l;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	sync_free(l->last);
	close_p(&l->signal_fd);
	close_p(&l->run_fd);
	free(l);
}

int loop_run(struct loop *l)
{
	int r = start(l);

	return r < 0 ? r : loop_turns(l);
}
