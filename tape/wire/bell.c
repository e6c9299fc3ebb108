/*
 * bell_ring() is called by a write(2) that waits for its answer, so it must
 * cost next to nothing. It stores its number in `head` and reads one flag,
 * `wanted`, which is set only while the bell's thread sleeps, a client listens,
 * and every client has been sent the head. A ringer that finds it set clears it
 * and wakes the thread. So a ring costs a compare-and-swap and a load while no
 * client listens or a burst is under way, and an eventfd write only when it
 * ends a silence.
 *
 * Why no ring is lost. The ringer writes head, then reads wanted; the thread
 * writes wanted, then reads head again before it sleeps. Both are sequentially
 * consistent, so one of them sees the other's write: either the ringer wakes
 * the thread, or the thread does not sleep. A ringer that finds a larger number
 * in head returns at once: the ringer that put it there is about to read
 * wanted.
 *
 * The thread sends the first ring at once and then looks again only after
 * BELL_MERGE_NS, until nothing has moved. A new client is sent the head when it
 * has greeted, because its mark is 0. A client that is slow to read is skipped,
 * and sent the current head when it has caught up. The number is read from head
 * just before it is sent, so it is never older than a ring that had returned.
 */
#include "tape/wire/bell.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/clock.h"
#include "tape/wire/sp_server.h"

#define BELL_MERGE_NS INT64_C(200000)

/* A number in decimal, and its NUL. */
#define BELL_TEXT sizeof("18446744073709551615")

/* Bounds of the pause before an ear tries again to connect to its bell. */
#define EAR_RETRY_MS	 10
#define EAR_RETRY_MAX_MS 500

struct bell {
	_Atomic uint64_t head;
	atomic_bool wanted;
	struct sp_server *server;
	int64_t sent_ns; /* when the thread last sent anything; its own */
};

static unsigned bell_send(struct sp_server *s, uint64_t head)
{
	char text[BELL_TEXT];
	int len = snprintf(text, sizeof(text), "%" PRIu64, head);

	return sp_server_tell(s, head, text, (size_t)len);
}

static int64_t bell_turn(void *ctx, struct sp_server *s, bool last)
{
	struct bell *b = ctx;
	int64_t wait = b->sent_ns + BELL_MERGE_NS - clock_mono_ns();
	uint64_t head;

	atomic_store(&b->wanted, false);
	if (wait > 0 && !last)
		return wait;

	head = atomic_load(&b->head);
	if (bell_send(s, head) > 0) {
		b->sent_ns = clock_mono_ns();
		return BELL_MERGE_NS;
	}
	/* A new client wakes the thread by connecting. */
	if (sp_server_clients(s) == 0)
		return -1;
	atomic_store(&b->wanted, true);
	return atomic_load(&b->head) == head ? -1 : 0;
}

static const struct sp_ops bell_ops = {
	.self = SP_PUB,
	.peer = SP_SUB,
	.turn = bell_turn,
};

int bell_open(const char *path, struct bell **ret)
{
	struct bell *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return -ENOMEM;
	b->sent_ns = clock_mono_ns() - BELL_MERGE_NS;
	rc = sp_server_open(path, &bell_ops, b, &b->server);
	if (rc < 0) {
		free(b);
		return rc;
	}
	*ret = b;
	return 0;
}

void bell_free(struct bell *b)
{
	if (b)
		sp_server_free(b->server);
	free(b);
}

void bell_ring(struct bell *b, uint64_t n)
{
	uint64_t head = atomic_load_explicit(&b->head, memory_order_relaxed);

	do {
		if (head >= n)
			return;
	} while (!atomic_compare_exchange_weak(&b->head, &head, n));

	if (atomic_load(&b->wanted) && atomic_exchange(&b->wanted, false))
		sp_server_wake(b->server);
}

/* Has no thread: it connects and reads inside bell_ear_wait(). */
struct bell_ear {
	char *path;
	struct sp_conn conn;
	int retry_ms; /* pause before the next attempt to connect */
};

static int ear_connect(struct bell_ear *e)
{
	return sp_connect(e->path, 0, SP_SUB, SP_PUB, BELL_TEXT, &e->conn);
}

int bell_ear_open(const char *path, struct bell_ear **ret)
{
	struct bell_ear *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->conn = SP_CONN_NONE;
	e->retry_ms = EAR_RETRY_MS;
	e->path = strdup(path);
	if (!e->path) {
		bell_ear_free(e);
		return -ENOMEM;
	}
	/* A missing bell may appear later, but not at such a path. */
	if (ear_connect(e) == -ENAMETOOLONG) {
		bell_ear_free(e);
		return -ENAMETOOLONG;
	}
	*ret = e;
	return 0;
}

void bell_ear_free(struct bell_ear *e)
{
	if (!e)
		return;
	sp_conn_release(&e->conn);
	free(e->path);
	free(e);
}

/* False: the message is no number. */
static bool ear_parse(const struct sp_conn *c, uint64_t *ret)
{
	uint64_t n;

	if (c->kept == 0 || c->kept != c->len ||
	    strspn(c->in, "0123456789") != c->kept)
		return false;
	errno = 0;
	n = strtoull(c->in, NULL, 10);
	if (errno != 0)
		return false;
	*ret = n;
	return true;
}

/*
 * Read all messages; only the last counts. True: *ret is the head.
 */
static bool ear_listen(struct bell_ear *e, uint64_t *ret)
{
	bool heard = false;
	int rc;

	if (e->conn.fd < 0 && ear_connect(e) < 0)
		return false;
	while ((rc = sp_conn_receive(&e->conn)) > 0)
		if (ear_parse(&e->conn, ret))
			heard = true;
	/* The pauses grow while the bell does not greet. */
	if (sp_conn_greeted(&e->conn))
		e->retry_ms = EAR_RETRY_MS;
	if (rc < 0)
		sp_conn_release(&e->conn);
	return heard;
}

static int ear_sleep(struct bell_ear *e, int left_ms)
{
	if (e->conn.fd >= 0)
		return sp_conn_wait(&e->conn, left_ms);
	if (left_ms == 0)
		return -ETIMEDOUT;
	if (left_ms < 0 || left_ms > e->retry_ms)
		left_ms = e->retry_ms;
	(void)poll(NULL, 0, left_ms);
	e->retry_ms *= 2;
	if (e->retry_ms > EAR_RETRY_MAX_MS)
		e->retry_ms = EAR_RETRY_MAX_MS;
	return 0;
}

static int ms_left(int timeout_ms, int64_t end)
{
	int64_t left = end - clock_mono_ns();

	if (timeout_ms < 0)
		return -1;
	/* Rounded up: the last millisecond would be spent spinning. */
	return left > 0 ? (int)((left + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

int bell_ear_wait(struct bell_ear *e, int timeout_ms, uint64_t *ret_head)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	uint64_t head = 0;
	int rc = 0;

	while (rc == 0) {
		if (ear_listen(e, &head)) {
			*ret_head = head;
			return 0;
		}
		rc = ear_sleep(e, ms_left(timeout_ms, end));
	}
	return rc;
}

int bell_ear_fd(const struct bell_ear *e)
{
	return e->conn.fd;
}
