/*
 * The connection to the model's API. A transfer is one request and its reply.
 * The thread that opened it drives it by pulling the next bytes, so the client
 * sets the pace: bytes it does not take are not read from upstream. While a
 * transfer waits it watches the client's socket, and is cancelled as soon as
 * the client disconnects.
 *
 * Any thread may open a transfer, and only that thread may use it. Connections
 * are kept for the next transfer, of any thread.
 */
#ifndef STATETAPE_MANAGER_HTTP_UPSTREAM_H
#define STATETAPE_MANAGER_HTTP_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "manager/decide/brain.h"

struct upstream;
struct transfer;

/*
 * Certificates are verified against the system's, or those in $SSL_CERT_FILE
 * and $SSL_CERT_DIR; $HTTP_PROXY and the like name outgoing proxies, as for
 * curl. Call it while the process has one thread.
 */
int upstream_new(struct upstream **ret);
/* Every transfer must have been freed. */
void upstream_free(struct upstream *u);
/* Every transfer, now and later, fails with -ECANCELED. Any thread. */
void upstream_stop(struct upstream *u);

struct outgoing {
	const char *method;
	const char *url;
	const struct header *headers; /* sent as they are */
	size_t headers_count;
	int client_fd; /* cancel when this socket's peer closes; -1: none */
};

/* Prepare a transfer; nothing is sent yet. All of `o` is copied. -ENOMEM. */
int transfer_open(struct upstream *u, const struct outgoing *o,
		  struct transfer **ret);
/* Cancels it if it is under way. */
void transfer_free(struct transfer *x);

/*
 * Set the whole body; the bytes must live until transfer_is_sent() or
 * transfer_free(). Without this or transfer_stream() the request has no body.
 */
void transfer_body(struct transfer *x, const char *bytes, size_t len);
bool transfer_is_sent(const struct transfer *x);

/*
 * Or send a body in pieces: its length (-1: unknown), then each piece, which
 * is sent before transfer_push() returns, then the end. Pieces pushed after an
 * early reply are discarded. -EPIPE: an early reply filled our buffer; the
 * client cannot take it while it still sends.
 */
void transfer_stream(struct transfer *x, int64_t len);
int transfer_push(struct transfer *x, const char *bytes, size_t len);
void transfer_push_end(struct transfer *x);

/*
 * Wait until the body is sent, or the reply or an error came first. Optional
 * before transfer_await(); -ECANCELED as there.
 */
int transfer_send(struct transfer *x);
/*
 * Wait for the reply's status and headers. -ECANCELED: the client has gone, or
 * upstream_stop(). -EHOSTUNREACH: no reply; transfer_why() has the reason. The
 * transfer owns the headers.
 */
int transfer_await(struct transfer *x);
int transfer_status(const struct transfer *x);
const struct header *transfer_headers(const struct transfer *x,
				      size_t *ret_count);

/*
 * The reply's next bytes, as received, at most `max`; returns as soon as there
 * are any. 0: the end. -EPIPE: the reply broke off. -ECANCELED as above.
 */
ssize_t transfer_pull(struct transfer *x, char *bytes, size_t max);

/* curl's error message; it contains nothing of the request. */
const char *transfer_why(const struct transfer *x);

#endif
