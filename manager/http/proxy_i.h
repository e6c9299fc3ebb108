/*
 * Shared by proxy.c and visit.c. A visit is one request of a client, from its
 * first line to the end of its reply; only its connection's thread uses it.
 */
#ifndef STATETAPE_MANAGER_HTTP_PROXY_I_H
#define STATETAPE_MANAGER_HTTP_PROXY_I_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "manager/http/caller.h"
#include "manager/http/door.h"
#include "manager/http/proxy.h"

/* How a request ended. Each has one fate; the counts add up to `requests`. */
enum fate {
	FATE_REWRITTEN,
	FATE_REFUSED,	/* upstream refused the rewritten body; original sent */
	FATE_UNCHANGED, /* the brain left the body as it was */
	FATE_OTHER,	/* carries no transcript */
	FATE_TOO_LONG,
	FATE_MEMORY,   /* too many bodies held at once */
	FATE_CODING,   /* the Content-Encoding is unknown or invalid */
	FATE_REJECTED, /* not forwarded: we answered it ourselves */
	FATE_STRANGER, /* the same: not of the agent's */
	FATES,
};

struct counters {
	_Atomic uint64_t fates[FATES];
	_Atomic uint64_t requests;
	_Atomic uint64_t bytes_in;    /* of request bodies */
	_Atomic uint64_t bytes_out;   /* of reply bodies */
	_Atomic uint64_t unreachable; /* no reply from upstream */
	_Atomic uint64_t broken;      /* the reply broke off */
	_Atomic uint64_t cancelled;   /* the client left, or we shut down */
	_Atomic uint64_t active;      /* visits that exist now */
	_Atomic uint64_t held;	      /* bytes of bodies in memory now */
};

struct proxy {
	struct brain *brain;
	struct door *door;
	struct upstream *upstream;
	struct MHD_Daemon *daemon;
	char *bases[APIS];
	int deadline_ms, grace_ms;
	uint16_t port;
	atomic_bool draining;  /* shutting down: close each connection */
	pthread_mutex_t large; /* held while a large body is thought about;
				  before all locks of the brain */
	struct callers callers;
	struct counters counters;
};

struct visit;

/* At the request line; NULL: no memory. */
struct visit *visit_new(struct proxy *s, const char *target,
			struct MHD_Connection *connection);
void visit_free(struct visit *v);

/*
 * The steps of a request, in this order: headers complete (once), a block of
 * the body (any number), body complete (once). MHD_NO closes the connection.
 */
bool visit_has_begun(const struct visit *v);
enum MHD_Result visit_begin(struct visit *v, const char *method);
enum MHD_Result visit_take(struct visit *v, const char *bytes, size_t len);
enum MHD_Result visit_answer(struct visit *v);

#endif
