/*
 * How nng 1.5.2 becomes deaf. Its listener accepts a connection, sends the
 * greeting and waits for the client's. If the client has hung up, the send
 * fails with EPIPE, which nng maps to "closed", which the loop that adds pipes
 * to the socket takes for the end of the listener. Connections are still
 * accepted and greeted, but none becomes a pipe: the client waits for messages
 * for ever. 1.6 and later do not do this.
 *
 * How it is noticed. A probe connects like a client, but greets as REQ. A
 * listener that hears adds the pipe, sees the wrong protocol and hangs up; a
 * deaf one keeps the connection, greeted and silent. Deafness harms only when
 * something is published, so publishing makes the listener suspect, and a
 * suspect listener is probed once PROBE_EVERY_NS have passed since the last
 * probe. An idle tape probes nothing. A probe that began after the last
 * message clears the suspicion.
 *
 * What is done. The deaf listener is closed, which disconnects its clients, and
 * a new one is opened at the same path. Clients connect again, see by the
 * numbers that they missed entries, and ask SINCE. A new listener is suspect
 * until a probe succeeds, so a flood that deafens it again is noticed, too.
 *
 * The descriptors. nng 1.5.2 shuts down, but never closes, the connections
 * that waited on a deaf listener, and the listening socket with them: the
 * transport's endpoint waits for pipes that no code path frees. These orphans
 * are recognised by their inode: all sockets with our local address right
 * after the close, before the new listener exists. nng closes those it still
 * knows within milliseconds. What is there after ORPHAN_SCANS further scans, a
 * second apart, is closed here; nng has no pointer left through which it could
 * use the number again.
 */
#include "tape/wire/pub_listener.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tape/wire/pubsub.h"
#include "tape/wire/sp.h"
#include "tape/wire/sp_server.h"

#define PROBE_EVERY_NS NS_PER_S
/* A listener that hears answers in microseconds; after a client's error nng
   lets it rest for 100 ms. */
#define PROBE_DEADLINE_NS NS_PER_S
/* A new listener is probed after this, then after twice as long, and so on. */
#define REOPEN_NS (50 * NS_PER_MS)

#define ORPHAN_SCANS 3
#define ORPHAN_NS    NS_PER_S

/* A subscriber sends nothing but its greeting. */
#define RECEIVE_MAX 1024

enum pub_state {
	PUB_CALM,    /* nothing was published since the last probe */
	PUB_SUSPECT, /* a probe is due at due_ns */
	PUB_PROBING, /* the answer is due by due_ns */
	PUB_SHUT,    /* there is no listener; the next attempt is at due_ns */
};

struct pub_orphan {
	int fd;
	ino_t ino;
	unsigned scans; /* it is closed after so many more */
};

struct pub_listener {
	nng_socket socket;
	char *url;
	const char *path; /* in url */
	atomic_bool suspect;
	atomic_int id; /* nng's number of the listener, 0: there is none */
	atomic_uint reopened;

	/* The owner's. */
	nng_listener listener;
	enum pub_state state;
	int64_t due_ns;
	int64_t probed_ns; /* when the last probe ended */
	int64_t pause_ns;  /* until the next probe of a new listener */
	struct sp_conn probe;

	ARRAY(struct pub_orphan) orphans;
	int64_t scan_ns; /* when to look at them again */
};

/* -- Opening. */

/* The socket's file has its mode before listen(2) lets anybody connect. */
static int start(struct pub_listener *l)
{
	nng_listener fresh;
	int code = nng_listener_create(&fresh, l->socket, l->url);

	if (code != 0)
		return pubsub_errno(code);
	code = nng_listener_set_int(fresh, NNG_OPT_IPC_PERMISSIONS, 0600);
	if (code == 0)
		code = nng_listener_set_size(fresh, NNG_OPT_RECVMAXSZ,
					     RECEIVE_MAX);
	if (code == 0) {
		/* Pipes may be added before nng_listener_start() returns. */
		atomic_store(&l->id, nng_listener_id(fresh));
		code = nng_listener_start(fresh, 0);
	}
	if (code != 0) {
		atomic_store(&l->id, 0);
		(void)nng_listener_close(fresh);
		return pubsub_errno(code);
	}
	l->listener = fresh;
	return 0;
}

/*
 * nng would replace a dead socket itself, but finds out by a connection that
 * it drops at once: which makes a living nng deaf.
 */
static int claim_and_start(struct pub_listener *l)
{
	CLEANUP(close_p) int lock_fd = -1;
	int rc = sp_server_claim(l->path, &lock_fd);

	return rc < 0 ? rc : start(l);
}

int pub_listener_start(struct pub_listener *l)
{
	assert(atomic_load(&l->id) == 0);
	return claim_and_start(l);
}

int pub_listener_new(nng_socket socket, const char *path,
		     struct pub_listener **ret)
{
	struct pub_listener *l = must_calloc(1, sizeof(*l));
	int rc = pubsub_url(path, &l->url);

	l->socket = socket;
	l->probe = SP_CONN_NONE;
	l->pause_ns = REOPEN_NS;
	if (rc < 0) {
		pub_listener_free(l);
		return rc;
	}
	l->path = l->url + strlen(PUBSUB_SCHEME);
	*ret = l;
	return 0;
}

void pub_listener_free(struct pub_listener *l)
{
	if (!l)
		return;
	atomic_store(&l->id, 0);
	sp_conn_release(&l->probe);
	array_release(&l->orphans);
	free(l->url);
	free(l);
}

/* -- Orphans. */

static bool has_our_address(const struct pub_listener *l, int fd)
{
	struct sockaddr_un at = { .sun_family = AF_UNSPEC };
	socklen_t len = sizeof(at);

	return getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
	       at.sun_family == AF_UNIX &&
	       len > offsetof(struct sockaddr_un, sun_path) &&
	       strncmp(at.sun_path, l->path, sizeof(at.sun_path)) == 0;
}

static bool is_noted(const struct pub_listener *l, ino_t ino)
{
	for (uint32_t i = 0; i < l->orphans.count; i++)
		if (l->orphans.at[i].ino == ino)
			return true;
	return false;
}

/* Call it between closing a listener and opening the next. */
static void orphans_note(struct pub_listener *l)
{
	CLEANUP(closedir_p) DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;

	assert(atomic_load(&l->id) == 0);
	if (!l->orphans.count)
		l->scan_ns = clock_mono_ns() + ORPHAN_NS;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone. */
	while (dir && (e = readdir(dir)) != NULL) {
		struct pub_orphan o = { .fd = (int)strtol(e->d_name, NULL, 10),
					.scans = ORPHAN_SCANS };
		struct stat st;

		/* Skip others first: they may be closed at any time. */
		if (e->d_name[0] == '.' || !has_our_address(l, o.fd) ||
		    fstat(o.fd, &st) < 0 || is_noted(l, st.st_ino))
			continue;
		o.ino = st.st_ino;
		array_push(&l->orphans, o);
	}
}

static bool is_there(const struct pub_orphan *o)
{
	struct stat st;

	return fstat(o->fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       st.st_ino == o->ino;
}

static void orphans_step(struct pub_listener *l)
{
	uint32_t kept = 0;

	if (!l->orphans.count || clock_mono_ns() < l->scan_ns)
		return;
	for (uint32_t i = 0; i < l->orphans.count; i++) {
		struct pub_orphan o = l->orphans.at[i];

		if (!is_there(&o))
			continue; /* nng has closed it. */
		if (--o.scans == 0)
			(void)close(o.fd);
		else
			l->orphans.at[kept++] = o;
	}
	l->orphans.count = kept;
	l->scan_ns = clock_mono_ns() + ORPHAN_NS;
}

/* -- The probe. */

static void wait_until(struct pub_listener *l, enum pub_state state, int64_t ns)
{
	l->state = state;
	l->due_ns = ns;
}

static void reopen(struct pub_listener *l)
{
	int64_t pause = l->pause_ns;

	sp_conn_release(&l->probe);
	if (atomic_exchange(&l->id, 0) != 0) {
		(void)nng_listener_close(l->listener);
		orphans_note(l);
	}
	if (l->pause_ns < PROBE_EVERY_NS)
		l->pause_ns *= 2;
	if (claim_and_start(l) < 0) {
		wait_until(l, PUB_SHUT, clock_mono_ns() + pause);
		return;
	}
	(void)atomic_fetch_add(&l->reopened, 1);
	wait_until(l, PUB_SUSPECT, clock_mono_ns() + pause);
}

/* -EAGAIN: too many clients wait to be accepted; try again soon. */
static void probe_begin(struct pub_listener *l)
{
	int rc;

	assert(l->state == PUB_SUSPECT && l->probe.fd < 0);
	/* What is published from now on is another probe's business. */
	atomic_store(&l->suspect, false);
	rc = sp_connect(l->path, 0, SP_REQ, SP_PUB, 0, &l->probe);
	if (rc == 0)
		wait_until(l, PUB_PROBING, clock_mono_ns() + PROBE_DEADLINE_NS);
	else if (rc == -EAGAIN || rc == -ECONNRESET || rc == -EMFILE ||
		 rc == -ENFILE)
		wait_until(l, PUB_SUSPECT, clock_mono_ns() + REOPEN_NS);
	else
		reopen(l); /* The socket's file is gone. */
}

static void probe_end(struct pub_listener *l)
{
	sp_conn_release(&l->probe);
	l->probed_ns = clock_mono_ns();
	l->pause_ns = REOPEN_NS;
	l->state = PUB_CALM;
}

/* The listener hears when it greets us and then hangs up. */
static void probe_check(struct pub_listener *l)
{
	int rc = sp_conn_receive(&l->probe);

	assert(l->state == PUB_PROBING);
	if (rc < 0 && sp_conn_greeted(&l->probe))
		probe_end(l);
	else if (rc < 0) {
		sp_conn_release(&l->probe);
		wait_until(l, PUB_SUSPECT, clock_mono_ns() + REOPEN_NS);
	} else if (clock_mono_ns() >= l->due_ns)
		reopen(l);
}

bool pub_listener_suspect(struct pub_listener *l)
{
	return !atomic_exchange(&l->suspect, true);
}

static void state_step(struct pub_listener *l)
{
	int64_t now = clock_mono_ns(), next = l->probed_ns + PROBE_EVERY_NS;

	if (l->state == PUB_CALM && atomic_load(&l->suspect))
		wait_until(l, PUB_SUSPECT, next > now ? next : now);
	if (l->state == PUB_PROBING)
		probe_check(l);
	else if (l->state == PUB_SUSPECT && now >= l->due_ns)
		probe_begin(l);
	else if (l->state == PUB_SHUT && now >= l->due_ns)
		reopen(l);
}

int64_t pub_listener_step(struct pub_listener *l)
{
	int64_t due = INT64_MAX, left;

	state_step(l);
	orphans_step(l);
	if (l->state != PUB_CALM)
		due = l->due_ns;
	if (l->orphans.count && l->scan_ns < due)
		due = l->scan_ns;
	if (due == INT64_MAX)
		return -1;
	left = due - clock_mono_ns();
	return left > 0 ? left : 0;
}

int pub_listener_fd(const struct pub_listener *l)
{
	assert((l->probe.fd >= 0) == (l->state == PUB_PROBING));
	return l->probe.fd;
}

bool pub_listener_owns(struct pub_listener *l, nng_pipe pipe)
{
	int id = nng_listener_id(nng_pipe_listener(pipe));

	return id > 0 && id == atomic_load(&l->id);
}

unsigned pub_listener_reopened(const struct pub_listener *l)
{
	return atomic_load(&l->reopened);
}
