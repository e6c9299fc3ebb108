/*
 * The way to the model's API: one exchange is one request sent and its reply
 * taken, by the thread that opened it, which drives all of it by asking for
 * the next bytes. So the client sets the pace: what it does not take is not
 * read from upstream. An exchange watches the client's connection while it
 * waits, and ends as soon as that does.
 *
 * Any thread may open an exchange; it belongs to that thread. Connections are
 * kept and used again by whoever comes next.
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
 * Certificates are checked against the system's, or those in $SSL_CERT_FILE
 * and $SSL_CERT_DIR; the usual variables name proxies. Call it while there is
 * one thread.
 */
int upstream_new(struct upstream **ret);
/* No exchange may be left. */
void upstream_free(struct upstream *u);
/* Every exchange, now and later, ends with -ECANCELED. From any thread. */
void upstream_stop(struct upstream *u);

struct outgoing {
	const char *method;
	const char *url;
	const struct header *headers; /* as they are to be sent */
	size_t headers_count;
	int client_fd; /* the socket whose end ends the exchange; -1: none */
};

/*
 * Begin; nothing is sent yet. All of `o` is copied. -EINVAL: curl does not
 * take it for a request.
 */
int transfer_open(struct upstream *u, const struct outgoing *o,
		  struct transfer **ret);
/* Ends it if it is under way. */
void transfer_free(struct transfer *x);

/*
 * A body that is at hand as a whole; it stays where it is until
 * transfer_is_sent() or the end. Without any, the request has none.
 */
void transfer_body(struct transfer *x, const char *bytes, size_t len);
bool transfer_is_sent(const struct transfer *x);

/*
 * Or a body in pieces: its length (-1: unknown), then each piece, which is
 * sent before transfer_push() returns, then its end. When the reply comes
 * before the end, what is pushed from then on is thrown away. -EPIPE: a long
 * reply came meanwhile, which nobody can take yet.
 */
void transfer_stream(struct transfer *x, int64_t len);
int transfer_push(struct transfer *x, const char *bytes, size_t len);
void transfer_push_end(struct transfer *x);

/*
 * Wait until the body is out of our hands, or nobody wants it any more. Not
 * needed before transfer_await(); -ECANCELED as there.
 */
int transfer_send(struct transfer *x);
/*
 * Wait for the reply's status and headers. -ECANCELED: the client has gone, or
 * upstream_stop(). -EHOSTUNREACH: there is none, and transfer_why() says why
 * not. The headers are the exchange's.
 */
int transfer_await(struct transfer *x);
int transfer_status(const struct transfer *x);
const struct header *transfer_headers(const struct transfer *x,
				      size_t *ret_count);

/*
 * The reply's next bytes, as they came, at most `max`; waits for the first of
 * them only. 0: the end. -EPIPE: it broke off. -ECANCELED as above.
 */
ssize_t transfer_pull(struct transfer *x, char *bytes, size_t max);

/* What went wrong, in curl's words; nothing of the request is in it. */
const char *transfer_why(const struct transfer *x);

#endif
