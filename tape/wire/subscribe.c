/*
 * nng calls receive_done() for each message, one at a time: the same aio is
 * used again only at its end. So the counters have one writer, and readers
 * take each by itself.
 */
#include "tape/wire/subscribe.h"

#include <assert.h>
#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/pubsub0/sub.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/wire/publish.h"
#include "tape/wire/pubsub.h"

/* How soon, and how late, nng looks again for a tape that is not there. */
#define RETRY_MS     50
#define RETRY_MAX_MS 2000

/* An entry's JSON begins with its number. */
#define ENTRY_BEGIN PUBLISH_TOPIC "{\"n\":"

struct subscribe {
	nng_socket socket;
	nng_aio *aio;
	subscribe_heard *heard;
	void *ctx;
	_Atomic uint64_t n, entries, gaps;
	atomic_int pipes;
};

/* 0: the message is no entry. */
static uint64_t number_of(const char *text, size_t len)
{
	size_t at = strlen(ENTRY_BEGIN);
	uint64_t n = 0;

	if (len < at || memcmp(text, ENTRY_BEGIN, at) != 0)
		return 0;
	for (; at < len && text[at] >= '0' && text[at] <= '9'; at++)
		n = n * 10 + (uint64_t)(text[at] - '0');
	return n;
}

/* A tape that was begun anew counts from 1 again: its number stands. */
static void take(struct subscribe *s, uint64_t n)
{
	uint64_t before = atomic_load(&s->n);

	assert(n > 0);
	if (before && n != before + 1)
		(void)atomic_fetch_add(&s->gaps, 1);
	(void)atomic_fetch_add(&s->entries, 1);
	atomic_store(&s->n, n);
	if (s->heard)
		s->heard(s->ctx, n);
}

static void receive_done(void *arg)
{
	struct subscribe *s = arg;
	int code = nng_aio_result(s->aio);

	if (code == NNG_ECLOSED || code == NNG_ECANCELED)
		return;
	if (code == 0) {
		nng_msg *m = nng_aio_get_msg(s->aio);
		uint64_t n = number_of(nng_msg_body(m), nng_msg_len(m));

		nng_msg_free(m);
		if (n)
			take(s, n);
	}
	nng_recv_aio(s->socket, s->aio);
}

static void pipe_event(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
	struct subscribe *s = arg;

	(void)pipe;
	(void)atomic_fetch_add(&s->pipes,
			       event == NNG_PIPE_EV_ADD_PRE ? 1 : -1);
}

static int set_options(nng_socket socket)
{
	int code = nng_socket_set(socket, NNG_OPT_SUB_SUBSCRIBE, PUBLISH_TOPIC,
				  strlen(PUBLISH_TOPIC));

	if (code == 0)
		code = nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ,
					   PUBSUB_MESSAGE_MAX);
	if (code == 0)
		code = nng_socket_set_ms(socket, NNG_OPT_RECONNMINT, RETRY_MS);
	if (code == 0)
		code = nng_socket_set_ms(socket, NNG_OPT_RECONNMAXT,
					 RETRY_MAX_MS);
	return code;
}

static int subscribe_start(struct subscribe *s, const char *url)
{
	int code = nng_sub0_open(&s->socket);

	if (code == 0)
		code = set_options(s->socket);
	if (code == 0)
		code = nng_pipe_notify(s->socket, NNG_PIPE_EV_ADD_PRE,
				       pipe_event, s);
	if (code == 0)
		code = nng_pipe_notify(s->socket, NNG_PIPE_EV_REM_POST,
				       pipe_event, s);
	if (code == 0)
		code = nng_aio_alloc(&s->aio, receive_done, s);
	if (code == 0)
		code = nng_dial(s->socket, url, NULL, NNG_FLAG_NONBLOCK);
	if (code == 0)
		nng_recv_aio(s->socket, s->aio);
	return pubsub_errno(code);
}

int subscribe_open(const char *path, subscribe_heard *heard, void *ctx,
		   struct subscribe **ret)
{
	CLEANUP(free_p) char *url = NULL;
	int rc = pubsub_url(path, &url);
	struct subscribe *s;

	if (rc < 0)
		return rc;
	s = must_calloc(1, sizeof(*s));
	s->heard = heard;
	s->ctx = ctx;
	rc = subscribe_start(s, url);
	if (rc < 0) {
		subscribe_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void subscribe_free(struct subscribe *s)
{
	if (!s)
		return;
	if (s->aio)
		nng_aio_stop(s->aio);
	/* What nng's threads may still use is left to the process's end. */
	if (nng_socket_id(s->socket) > 0 && !pubsub_close(s->socket))
		return;
	if (s->aio)
		nng_aio_free(s->aio);
	free(s);
}

void subscribe_stat(const struct subscribe *s, struct subscribe_stats *ret)
{
	*ret = (struct subscribe_stats){
		.n = atomic_load(&s->n),
		.entries = atomic_load(&s->entries),
		.gaps = atomic_load(&s->gaps),
		.connected = atomic_load(&s->pipes) > 0,
	};
}
