/*
 * Messages go into a ring that the server's thread owns, by way of an inbox
 * under a lock. A subscriber's mark is the number of the message he is to have
 * next: one who cannot take it now gets it later, as long as it is in the
 * ring. Beyond that he is moved on to the oldest there is. A newcomer starts
 * with what comes next.
 *
 * nng's own SUB has a queue of 128 messages and drops what comes beyond that,
 * silently; hence the numbers, here as there.
 */
#include "tape/wire/publish.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "tape/wire/sp_server.h"

#define RING_SIZE  4096 /* messages, a power of two */
#define RING_BYTES (16u << 20)

struct message {
	uint64_t n;
	char *text;
	size_t len;
};

struct inbox {
	ARRAY(struct message) messages;
};

struct publish {
	struct sp_server *server;
	atomic_uint subscribers;
	atomic_bool heard; /* somebody is there, or about to be */

	pthread_mutex_t lock; /* no other is taken while it is held */
	struct inbox inbox;   /* protected by lock */
	bool waiting;	      /* the owner's: told, and not flushed */

	/* The thread's own. The ring holds places first .. end-1. */
	struct message ring[RING_SIZE];
	uint64_t first, end;
	size_t bytes;
};

static struct message *place(struct publish *p, uint64_t at)
{
	return &p->ring[at & (RING_SIZE - 1)];
}

static void forget_first(struct publish *p)
{
	struct message *m = place(p, p->first++);

	p->bytes -= m->len;
	free(TAKE(m->text));
}

static void remember(struct publish *p, const struct message *m)
{
	while (p->first < p->end && (p->end - p->first == RING_SIZE ||
				     p->bytes + m->len > RING_BYTES))
		forget_first(p);
	*place(p, p->end++) = *m;
	p->bytes += m->len;
}

static void empty_inbox(struct publish *p)
{
	struct inbox got;

	(void)pthread_mutex_lock(&p->lock);
	got = p->inbox;
	p->inbox = (struct inbox){ 0 };
	(void)pthread_mutex_unlock(&p->lock);
	for (uint32_t i = 0; i < got.messages.count; i++)
		remember(p, &got.messages.at[i]);
	array_release(&got.messages);
}

static const char *publish_next(void *ctx, uint64_t *mark, size_t *ret_len)
{
	struct publish *p = ctx;
	const struct message *m;

	if (*mark < p->first)
		*mark = p->first;
	if (*mark >= p->end)
		return NULL;
	m = place(p, (*mark)++);
	*ret_len = m->len;
	return m->text;
}

static int64_t publish_turn(void *ctx, struct sp_server *s, bool last)
{
	struct publish *p = ctx;

	(void)last;
	empty_inbox(p);
	sp_server_feed(s, publish_next, p);
	atomic_store(&p->subscribers, sp_server_clients(s));
	atomic_store(&p->heard, sp_server_is_visited(s));
	return -1;
}

/* Before he is greeted, and so before he may count on anything. */
static uint64_t publish_mark(void *ctx)
{
	struct publish *p = ctx;

	atomic_store(&p->heard, true);
	return p->end;
}

static const struct sp_ops publish_ops = {
	.self = SP_PUB,
	.peer = SP_SUB,
	.turn = publish_turn,
	.mark = publish_mark,
};

int publish_open(const char *path, struct publish **ret)
{
	struct publish *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	(void)pthread_mutex_init(&p->lock, NULL);
	r = sp_server_open(path, &publish_ops, p, &p->server);
	if (r < 0) {
		publish_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void publish_free(struct publish *p)
{
	if (!p)
		return;
	sp_server_free(p->server);
	empty_inbox(p);
	while (p->first < p->end)
		forget_first(p);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

void publish_entry(struct publish *p, uint64_t n, const char *json)
{
	size_t topic = strlen(PUBLISH_TOPIC), len = strlen(json);
	struct message m = { .n = n, .len = topic + len };

	m.text = must_alloc(m.len + 1);
	memcpy(m.text, PUBLISH_TOPIC, topic);
	memcpy(m.text + topic, json, len + 1);
	(void)pthread_mutex_lock(&p->lock);
	array_push(&p->inbox.messages, m);
	(void)pthread_mutex_unlock(&p->lock);
	p->waiting = true;
}

bool publish_is_heard(const struct publish *p)
{
	return atomic_load(&p->heard);
}

void publish_flush(struct publish *p)
{
	if (p->waiting)
		sp_server_wake(p->server);
	p->waiting = false;
}

unsigned publish_subscribers(const struct publish *p)
{
	return atomic_load(&p->subscribers);
}
