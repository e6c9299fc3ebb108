/*
 * The loop sleeps on descriptors: the journal's bell, inotify, signals. A
 * timer is set only while something is pending, so an idle tape uses no
 * processor time.
 *
 * While there is no bell (no mount), inotify on the directory of sockets tells
 * when one appears.
 */
#include "tape/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "graph/base/message.h"
#include "graph/base/path.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "tape/ahead.h"
#include "tape/care.h"
#include "tape/daemon_i.h"
#include "tape/outside.h"
#include "tape/settle.h"
#include "tape/store/store.h"
#include "tape/sweep.h"
#include "tape/wire/bell.h"
#include "tape/wire/publish.h"
#include "tape/wire/state.h"
#include "tape/wire/wire.h"

#define LOCK_NAME "tape.lock"

/* How long, and how often, the loop tries to connect to a bell that is about
   to appear. */
#define BELL_EXPECT_NS (3000 * NS_PER_MS)
#define BELL_RETRY_NS  (20 * NS_PER_MS)

#define RETIRE_EVERY_NS (600000 * NS_PER_MS)

#define MALLOC_KEEPS (4 << 20)
#define MALLOC_STEP  (256 << 10)

void tape_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_va(format, args);
	va_end(args);
}

/* -- One tape per repository. */

static pid_t lock_holder(int fd)
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	return n > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

static int lock_take(struct tape *t)
{
	int fd = openat(t->c->state->dir_fd, LOCK_NAME,
			O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char text[32];
	int len;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		tape_say("'%s' has a tape already: process %d",
			 t->c->state->repo, (int)lock_holder(fd));
		(void)close(fd);
		return -EBUSY;
	}
	len = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	(void)!ftruncate(fd, 0);
	(void)!pwrite(fd, text, (size_t)len, 0);
	t->lock_file = fd;
	return 0;
}

/* -- Questions. */

static void put(cJSON *o, const char *name, uint64_t n)
{
	(void)cJSON_DeleteItemFromObjectCaseSensitive(o, name);
	(void)cJSON_AddNumberToObject(o, name, (double)n);
}

static void put_since(const struct tape *t, cJSON *answer)
{
	time_t at = (time_t)(t->since_ns / NS_PER_S);
	char text[sizeof("2026-01-01T00:00:00Z")] = "";
	struct tm tm;

	if (gmtime_r(&at, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	(void)cJSON_AddStringToObject(answer, "since", text);
}

static void put_keep(const struct tape *t, cJSON *answer)
{
	cJSON *o = cJSON_AddObjectToObject(answer, "keep");

	put(o, "days", t->c->keep_days);
	put(o, "bytes", t->c->keep_bytes);
	put(o, "times", t->retired_times);
	put(o, "contents", t->retired_contents);
	put(o, "entries", t->retired_entries);
}

static int answer_status(void *ctx, cJSON *answer)
{
	struct tape *t = ctx;
	struct outside_stats st;
	cJSON *o;

	put(answer, "journal", t->line);
	(void)cJSON_AddBoolToObject(answer, "ready", true);
	put(answer, "pending", settle_pending(t->settle) + t->suspects.count);
	put(answer, "skipped", t->unreadable);
	put(answer, "subscribers", publish_subscribers(t->publish));
	put(answer, "reopened", publish_reopened(t->publish));
	put(answer, "markers", t->markers);
	put(answer, "pid", (uint64_t)getpid());
	put(answer, "bases", t->bases.count);
	json_put_bytes(answer, "repo", t->c->state->repo);
	json_put_bytes(answer, "sockets", t->c->state->run);
	json_put_bytes(answer, "state", t->c->state->dir);
	put_since(t, answer);
	outside_stat(t->outside, &st);
	o = cJSON_AddObjectToObject(answer, "watch");
	put(o, "dirs", st.watched);
	put(o, "refused", st.refused);
	put(o, "overflows", st.overflows);
	put_keep(t, answer);
	return 0;
}

/* Before the graph is built. */
static int answer_early(struct tape *t, const char *ask, cJSON *answer)
{
	if (strcmp(ask, "SYNC") != 0 && strcmp(ask, "STATUS") != 0) {
		(void)cJSON_AddStringToObject(answer, "error",
					      "The tape is starting.");
		return -EAGAIN;
	}
	put(answer, "n", atomic_load(&t->head));
	put(answer, "journal", 0);
	put(answer, "pid", (uint64_t)getpid());
	json_put_bytes(answer, "repo", t->c->state->repo);
	(void)cJSON_AddBoolToObject(answer, "ready", false);
	return 0;
}

static void wake(struct tape *t)
{
	(void)eventfd_write(t->wake_fd, 1);
}

static int answer_ask(void *ctx, const char *ask, const cJSON *question,
		      cJSON *answer)
{
	struct tape *t = ctx;
	uint64_t asked = clock_mono_ns();
	int r;

	if (!atomic_load(&t->ready))
		return answer_early(t, ask, answer);
	(void)atomic_fetch_add(&t->wanted, 1);
	(void)pthread_mutex_lock(&t->lock);
	(void)atomic_fetch_sub(&t->wanted, 1);
	t->asked_ns = asked;
	r = answers_ask(t->answers, ask, question, answer);
	/* The loop may have to end, or to continue a sweep. */
	if (t->error || sweep_busy(t->sweep) || t->suspects.count)
		wake(t);
	(void)pthread_mutex_unlock(&t->lock);
	return r;
}

/* -- The loop. */

enum { AT_WAKE, AT_SIGNAL, AT_OUTSIDE, AT_RUN, AT_BELL, AT_COUNT };

struct loop {
	struct tape *t;
	int signal_fd;
	int run_fd;	       /* inotify on the directory of sockets */
	uint64_t expect_until; /* until then a bell is tried again and again */
};

static uint64_t sooner(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a ? a : b;
	return a < b ? a : b;
}

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
	uint64_t due = sooner(settle_due(t->settle), external_due(t));

	due = sooner(due, t->rest_at_ns);
	if (expects_bell(l))
		due = sooner(due, clock_mono_ns() + BELL_RETRY_NS);
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

static void drain_run(struct loop *l)
{
	char bytes[4096];

	while (read(l->run_fd, bytes, sizeof(bytes)) > 0)
		continue;
	l->expect_until = clock_mono_ns() + BELL_EXPECT_NS;
}

static void loop_sleep(struct loop *l, uint64_t due)
{
	struct tape *t = l->t;
	int64_t left = due ? (int64_t)(due - clock_mono_ns()) : -1;
	struct pollfd p[AT_COUNT] = {
		[AT_WAKE] = { .fd = t->wake_fd, .events = POLLIN },
		[AT_SIGNAL] = { .fd = l->signal_fd, .events = POLLIN },
		[AT_OUTSIDE] = { .fd = t->outside_at_ns
					       ? -1
					       : outside_fd(t->outside),
				 .events = POLLIN },
		[AT_RUN] = { .fd = l->run_fd, .events = POLLIN },
		[AT_BELL] = { .fd = t->ear ? bell_ear_fd(t->ear) : -1,
			      .events = POLLIN },
	};
	struct timespec ts = { 0 };
	eventfd_t ignored;

	if (due && left > 0)
		ts = (struct timespec){ .tv_sec = left / NS_PER_S,
					.tv_nsec = left % NS_PER_S };
	if (ppoll(p, AT_COUNT, due ? &ts : NULL, NULL) < 0)
		return;
	if (p[AT_WAKE].revents)
		(void)eventfd_read(t->wake_fd, &ignored);
	if (p[AT_SIGNAL].revents)
		t->stop = true;
	if (p[AT_OUTSIDE].revents)
		t->outside_at_ns =
			clock_mono_ns() + (t->c->journal ? GRACE_NS : 0);
	if (p[AT_RUN].revents)
		drain_run(l);
	if (p[AT_BELL].revents || expects_bell(l))
		listen_bell(l);
}

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
	(void)store_checkpoint(t->store);
}

/* One slice of everything. True: there is more to do. */
static bool loop_work(struct tape *t)
{
	bool more = follow_read(t, 0);
	uint64_t now;

	follow_apply(t, settle_pending(t->settle) > DIRTY_MAX);
	now = clock_mono_ns();
	if (t->outside_at_ns && now >= t->outside_at_ns)
		external_hear(t);
	if (t->suspects.count && !more)
		external_check(t, false);
	more = external_step(t) || more;
	if (!more && t->bases.count)
		more = start_bases(t);
	if (!more && t->rest_at_ns && now >= t->rest_at_ns)
		rest(t, now);
	return more;
}

/* Give the lock to the questions that wait for it. */
static void let_pass(struct tape *t)
{
	const struct timespec moment = { .tv_nsec = 20000 };

	while (atomic_load(&t->wanted))
		(void)nanosleep(&moment, NULL);
}

static int loop_run(struct loop *l)
{
	struct tape *t = l->t;
	uint64_t due;
	bool more;

	while (!t->stop && !t->error) {
		(void)pthread_mutex_lock(&t->lock);
		more = loop_work(t);
		due = more ? 1 : loop_due(l);
		(void)pthread_mutex_unlock(&t->lock);
		let_pass(t);
		loop_sleep(l, due);
	}
	return t->error;
}

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

static int watch_run_dir(const struct tape *t)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd >= 0)
		(void)inotify_add_watch(fd, t->c->state->run,
					IN_CREATE | IN_MOVED_TO);
	return fd;
}

/* -- Coming and going. */

static int open_store(struct tape *t)
{
	CLEANUP(free_p) char *path = NULL;
	CLEANUP(free_p) char *why = NULL;
	int r = path_join(t->c->state->dir, STORE_NAME, &path);

	if (r == 0)
		r = store_open(path, STORE_WRITE, &t->store, &why);
	if (r < 0)
		tape_say("the store cannot be opened: %s",
			 why ? why : strerrordesc_np(-r));
	return r;
}

static int open_doors(struct tape *t)
{
	const struct state *s = t->c->state;
	int r = publish_open(s->pub_socket, &t->publish);

	if (r == 0)
		r = wire_server_open(s->tape_socket, answer_ask, t, &t->wire);
	if (r < 0)
		tape_say("the sockets in '%s' cannot be opened: %s", s->run,
			 strerrordesc_np(-r));
	return r;
}

static int tape_open(struct tape *t)
{
	const struct answers_config answers = {
		.root_fd = t->c->root_fd,
		.fs_socket = t->c->state->fs_socket,
		.sync = follow_sync,
		.status = answer_status,
		.ctx = t,
	};
	struct answers_config a = answers;
	int r = lock_take(t);

	if (r == 0)
		r = care_open(t->c->state->dir_fd, &t->care);
	if (r == 0)
		r = open_store(t);
	if (r < 0)
		return r;
	t->ahead = ahead_new(t->c->root_fd, t->care);
	atomic_store(&t->head, store_head(t->store));
	a.store = t->store;
	t->answers = answers_new(&a);
	r = answers_load_holds(t->answers);
	if (r == 0)
		r = open_doors(t);
	if (r == 0)
		r = start_all(t);
	t->rest_at_ns = clock_mono_ns() + REST_NS;
	return r;
}

static void free_node(struct paths_node *n, void *arg)
{
	(void)arg;
	free(n->path);
	free(n);
}

static void tape_release(struct tape *t)
{
	wire_server_free(t->wire);
	publish_free(t->publish);
	answers_free(t->answers);
	external_stop(t);
	follow_stop(t);
	store_free(t->store);
	if (t->facts)
		lang_readers_free(t->facts);
	graph_free(t->graph);
	ahead_free(t->ahead);
	care_free(t->care);
	paths_each(&t->known, free_node, NULL);
	table_release(&t->known);
	while (t->bases.count)
		free(t->bases.at[--t->bases.count]);
	array_release(&t->bases);
	array_release(&t->batch);
	arena_release(&t->arena);
	buf_release(&t->text);
	buf_release(&t->more_text);
	close_p(&t->wake_fd);
	close_p(&t->lock_file);
	(void)pthread_mutex_destroy(&t->lock);
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

/* Everything written so far is on the tape when the process ends. */
static void finish(struct tape *t)
{
	struct answers_head head;

	(void)pthread_mutex_lock(&t->lock);
	t->asked_ns = clock_mono_ns();
	(void)follow_sync(t, &head);
	apply_begin(t);
	apply_commit(t);
	(void)pthread_mutex_unlock(&t->lock);
}

int tape_run(const struct tape_config *c)
{
	CLEANUP(close_p) int signal_fd = take_signals();
	CLEANUP(close_p) int run_fd = -1;
	CLEANUP(tape_release)
	struct tape t = { .c = c,
			  .lock_file = -1,
			  .since_ns = clock_wall_ns(),
			  .text = TREE_TEXT,
			  .more_text = TREE_TEXT };
	struct loop l = { .t = &t, .signal_fd = signal_fd };
	int r;

	/* Memory that one question used stays for the next. There is one
	   thread yet. NOLINTBEGIN(concurrency-mt-unsafe) */
	(void)mallopt(M_TRIM_THRESHOLD, MALLOC_KEEPS);
	(void)mallopt(M_TOP_PAD, MALLOC_STEP);
	/* NOLINTEND(concurrency-mt-unsafe) */
	(void)pthread_mutex_init(&t.lock, NULL);
	t.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)signal(SIGPIPE, SIG_IGN);
	run_fd = watch_run_dir(&t);
	l.run_fd = run_fd;
	(void)pthread_mutex_lock(&t.lock);
	r = tape_open(&t);
	(void)pthread_mutex_unlock(&t.lock);
	if (r < 0)
		return r;
	atomic_store(&t.ready, true);
	/* From now on the wire's thread answers, also while we speak. */
	(void)pthread_mutex_lock(&t.lock);
	tell_ready(&t);
	(void)pthread_mutex_unlock(&t.lock);
	r = loop_run(&l);
	if (r == 0)
		finish(&t);
	return r;
}
