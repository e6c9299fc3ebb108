/*
 * publish_entry() puts a message into the inbox; the publication's own thread
 * hands it to nng, which writes to each subscriber that is ready and queues
 * for the others, the oldest message giving way. So neither a system call per
 * subscriber nor a probe of the listener happens under the tape's lock.
 *
 * nng bounds a queue by messages alone. All queues together hold references to
 * the same messages, the newest PUBLISH_BEHIND_MAX at most, so their size is
 * the sum of these. When the sum exceeds HELD_MAX, subscribers that are behind
 * by more messages than fit into it are disconnected: nng's statistics tell
 * how many each has taken. (Making queues shorter is no way: nng 1.5 then
 * drops the newest, and writes beyond a queue that is full.)
 *
 * Subscribers are counted by nng's pipe events. A pipe is noted at ADD_PRE and
 * counts as subscriber from ADD_POST; a probe or another protocol's client
 * gets only as far as the first. REM_POST may come before ADD_POST, but never
 * before ADD_PRE, except while its listener is being closed: such pipes are no
 * longer the listener's, and are not noted.
 */
#include "tape/wire/publish.h"

#include <assert.h>
#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/thread.h"
#include "tape/wire/pub_listener.h"
#include "tape/wire/pubsub.h"

/* Bytes that slow subscribers may keep in memory. */
#define HELD_MAX (16u << 20)
/* While there is more, look for the slow after every so many messages. */
#define SHED_EVERY 64
/* Messages that wait for the thread; beyond, all but the newest are lost. */
#define INBOX_MAX 16384
/* How long subscribers have to take what was sent last. */
#define FAREWELL_NS INT64_C(100000000)

struct pub_pipe {
	uint32_t id;
	uint64_t from; /* messages sent before it was added */
	bool added;
};

struct pub_inbox {
	ARRAY(nng_msg *) messages;
};

struct publish {
	nng_socket socket;
	struct pub_listener *listener;
	pthread_t thread;
	int wake_fd;
	atomic_bool stop;
	atomic_uint noted;	 /* pipes */
	atomic_uint subscribers; /* of these, those that were added */
	_Atomic uint64_t sent;	 /* messages handed to nng */

	pthread_mutex_t lock;	/* no other is taken while it is held */
	struct pub_inbox inbox; /* protected by lock */
	struct pub_pipe pipes[PUBLISH_SUBSCRIBERS_MAX]; /* protected by lock */
	bool waiting; /* the caller's: messages were not flushed */

	/* The thread's: sizes of the newest messages, by number. */
	size_t sizes[PUBLISH_BEHIND_MAX];
	size_t held;
	int64_t sent_ns;
};

/* -- Pipes. */

static struct pub_pipe *pipe_find_locked(struct publish *p, uint32_t id)
{
	uint32_t noted = atomic_load(&p->noted);

	assert(noted <= PUBLISH_SUBSCRIBERS_MAX);
	for (uint32_t i = 0; i < noted; i++)
		if (p->pipes[i].id == id)
			return &p->pipes[i];
	return NULL;
}

static bool pipe_note_locked(struct publish *p, nng_pipe pipe)
{
	uint32_t noted = atomic_load(&p->noted);

	if (noted == PUBLISH_SUBSCRIBERS_MAX)
		return false;
	p->pipes[noted] = (struct pub_pipe){ .id = (uint32_t)nng_pipe_id(pipe),
					     .from = atomic_load(&p->sent) };
	atomic_store(&p->noted, noted + 1);
	return true;
}

static void pipe_forget_locked(struct publish *p, struct pub_pipe *at)
{
	uint32_t noted = atomic_load(&p->noted);

	assert(noted > 0 && at < p->pipes + noted);
	if (at->added)
		(void)atomic_fetch_sub(&p->subscribers, 1);
	*at = p->pipes[noted - 1];
	atomic_store(&p->noted, noted - 1);
	assert(atomic_load(&p->subscribers) <= noted - 1);
}

static void pipe_event(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
	struct publish *p = arg;
	struct pub_pipe *at;
	bool first = event == NNG_PIPE_EV_ADD_PRE;
	bool refused = first && !pub_listener_owns(p->listener, pipe);

	(void)pthread_mutex_lock(&p->lock);
	at = pipe_find_locked(p, (uint32_t)nng_pipe_id(pipe));
	if (first && !refused) {
		refused = !pipe_note_locked(p, pipe);
	} else if (event == NNG_PIPE_EV_ADD_POST && at) {
		at->added = true;
		(void)atomic_fetch_add(&p->subscribers, 1);
	} else if (event == NNG_PIPE_EV_REM_POST && at) {
		pipe_forget_locked(p, at);
	}
	(void)pthread_mutex_unlock(&p->lock);
	if (refused)
		(void)nng_pipe_close(pipe);
}

/* -- Slow subscribers. */

/* How many of the newest messages fit into HELD_MAX. */
static uint64_t held_depth(const struct publish *p)
{
	uint64_t sent = atomic_load(&p->sent), depth = 0;
	size_t bytes = 0;

	while (depth < sent && depth < PUBLISH_BEHIND_MAX) {
		bytes += p->sizes[(sent - depth - 1) % PUBLISH_BEHIND_MAX];
		if (bytes > HELD_MAX)
			break;
		depth++;
	}
	return depth;
}

static uint64_t stat_value(nng_stat *scope, const char *name)
{
	for (nng_stat *s = nng_stat_child(scope); s; s = nng_stat_next(s))
		if (strcmp(nng_stat_name(s), name) == 0)
			return nng_stat_value(s);
	return 0;
}

static void shed_pipe(struct publish *p, nng_stat *scope, uint64_t depth)
{
	uint32_t id = (uint32_t)stat_value(scope, "id");
	uint64_t taken = stat_value(scope, "tx_msgs");
	struct pub_pipe *at;
	bool slow;

	(void)pthread_mutex_lock(&p->lock);
	at = pipe_find_locked(p, id);
	slow = at && atomic_load(&p->sent) > at->from + taken + depth;
	(void)pthread_mutex_unlock(&p->lock);
	if (slow)
		(void)nng_pipe_close((nng_pipe){ .id = id });
}

/*
 * A subscriber whose queue has overflowed has taken fewer than were sent since
 * it came, and counts as slow ever after: it must come anew in any case.
 */
static void shed(struct publish *p)
{
	nng_stat *root, *s;
	uint64_t depth = held_depth(p);

	if (nng_stats_get(&root) != 0)
		return;
	for (s = nng_stat_child(root); s; s = nng_stat_next(s))
		if (strcmp(nng_stat_name(s), "pipe") == 0)
			shed_pipe(p, s, depth);
	nng_stats_free(root);
}

static void account(struct publish *p, size_t len)
{
	uint64_t sent = atomic_load(&p->sent);
	size_t *size = &p->sizes[sent % PUBLISH_BEHIND_MAX];

	assert(p->held >= *size);
	p->held += len - *size;
	*size = len;
	atomic_store(&p->sent, sent + 1);
	if (p->held > HELD_MAX && sent % SHED_EVERY == 0)
		shed(p);
}

/* -- The thread. */

static struct pub_inbox inbox_take(struct publish *p)
{
	struct pub_inbox got;

	(void)pthread_mutex_lock(&p->lock);
	got = p->inbox;
	p->inbox = (struct pub_inbox){ 0 };
	(void)pthread_mutex_unlock(&p->lock);
	return got;
}

static void send_all(struct publish *p)
{
	struct pub_inbox got = inbox_take(p);

	for (uint32_t i = 0; i < got.messages.count; i++) {
		nng_msg *m = got.messages.at[i];

		account(p, nng_msg_len(m));
		if (nng_sendmsg(p->socket, m, NNG_FLAG_NONBLOCK) != 0)
			nng_msg_free(m);
		p->sent_ns = clock_mono_ns();
	}
	array_release(&got.messages);
}

static void publish_sleep(struct publish *p, int64_t ns)
{
	struct pollfd at[2] = {
		{ .fd = p->wake_fd, .events = POLLIN },
		{ .fd = pub_listener_fd(p->listener), .events = POLLIN },
	};
	struct timespec t = { .tv_sec = ns / NS_PER_S,
			      .tv_nsec = ns % NS_PER_S };
	eventfd_t ignored;

	if (ppoll(at, 2, ns < 0 ? NULL : &t, NULL) > 0 && at[0].revents)
		(void)eventfd_read(p->wake_fd, &ignored);
}

static void *publish_main(void *arg)
{
	struct publish *p = arg;

	while (!atomic_load(&p->stop)) {
		int64_t ns;

		send_all(p);
		ns = pub_listener_step(p->listener);
		publish_sleep(p, ns);
	}
	send_all(p);
	return NULL;
}

static void publish_wake(struct publish *p)
{
	/* Fails only when the counter is full: then the thread is awake. */
	(void)eventfd_write(p->wake_fd, 1);
}

/* -- Coming and going. */

static int socket_open(struct publish *p)
{
	static const nng_pipe_ev events[] = { NNG_PIPE_EV_ADD_PRE,
					      NNG_PIPE_EV_ADD_POST,
					      NNG_PIPE_EV_REM_POST };
	int code = nng_pub0_open(&p->socket);

	if (code == 0)
		code = nng_socket_set_int(p->socket, NNG_OPT_SENDBUF,
					  PUBLISH_BEHIND_MAX);
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (code == 0)
			code = nng_pipe_notify(p->socket, events[i], pipe_event,
					       p);
	return pubsub_errno(code);
}

/* The thread has ended or never began. */
static void publish_release(struct publish *p)
{
	struct pub_inbox rest = inbox_take(p);

	for (uint32_t i = 0; i < rest.messages.count; i++)
		nng_msg_free(rest.messages.at[i]);
	array_release(&rest.messages);
	/* What nng's threads may still use is left to the process's end. */
	if (nng_socket_id(p->socket) > 0 && !pubsub_close(p->socket))
		return;
	pub_listener_free(p->listener);
	close_p(&p->wake_fd);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

int publish_open(const char *path, struct publish **ret)
{
	struct publish *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	(void)pthread_mutex_init(&p->lock, NULL);
	p->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = p->wake_fd < 0 ? -errno : socket_open(p);
	if (rc == 0)
		rc = pub_listener_new(p->socket, path, &p->listener);
	if (rc == 0)
		rc = pub_listener_start(p->listener);
	if (rc == 0)
		rc = thread_start(&p->thread, publish_main, p);
	if (rc < 0) {
		publish_release(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void publish_free(struct publish *p)
{
	int64_t left;

	if (!p)
		return;
	atomic_store(&p->stop, true);
	publish_wake(p);
	(void)pthread_join(p->thread, NULL);
	left = p->sent_ns ? p->sent_ns + FAREWELL_NS - clock_mono_ns() : 0;
	if (left > 0 && publish_subscribers(p) > 0)
		(void)nanosleep(&(struct timespec){ .tv_nsec = left }, NULL);
	publish_release(p);
}

/* -- What the tape calls. */

/* A tape that outruns its own thread: who subscribes sees a gap and asks. */
static void inbox_shorten_locked(struct publish *p)
{
	if (p->inbox.messages.count < INBOX_MAX)
		return;
	for (uint32_t i = 0; i < p->inbox.messages.count; i++)
		nng_msg_free(p->inbox.messages.at[i]);
	p->inbox.messages.count = 0;
}

void publish_entry(struct publish *p, uint64_t n, const char *json)
{
	size_t topic = strlen(PUBLISH_TOPIC), len = strlen(json);
	nng_msg *m;

	assert(n > 0);
	if (nng_msg_alloc(&m, topic + len) != 0)
		abort();
	memcpy(nng_msg_body(m), PUBLISH_TOPIC, topic);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): no string. */
	memcpy((char *)nng_msg_body(m) + topic, json, len);
	(void)pthread_mutex_lock(&p->lock);
	inbox_shorten_locked(p);
	array_push(&p->inbox.messages, m);
	(void)pthread_mutex_unlock(&p->lock);
	p->waiting = true;
}

void publish_flush(struct publish *p)
{
	bool suspect = pub_listener_suspect(p->listener);

	if (p->waiting || suspect)
		publish_wake(p);
	p->waiting = false;
}

bool publish_is_heard(const struct publish *p)
{
	return atomic_load(&p->noted) > 0;
}

unsigned publish_subscribers(const struct publish *p)
{
	return atomic_load(&p->subscribers);
}

unsigned publish_reopened(const struct publish *p)
{
	return pub_listener_reopened(p->listener);
}
