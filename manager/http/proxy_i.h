/*
 * What proxy.c and visit.c share: the server's own fields, and the visits that
 * it serves. A visit is one request of a client, from its first line to the
 * end of its reply, and lives on its connection's thread.
 */
#ifndef STATETAPE_MANAGER_HTTP_PROXY_I_H
#define STATETAPE_MANAGER_HTTP_PROXY_I_H

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "manager/http/proxy.h"

/* What became of a request's body; one each, all together are `requests`. */
enum fate {
	FATE_REWRITTEN,
	FATE_REFUSED,	/* rewritten, refused by upstream, sent as it came */
	FATE_UNCHANGED, /* the brain wanted nothing */
	FATE_OTHER,	/* carries no transcript */
	FATE_TOO_LONG,
	FATE_MEMORY,   /* too many bodies held at once */
	FATE_CODING,   /* coded in a way we do not know, or badly */
	FATE_LATE,     /* the brain took too long */
	FATE_REJECTED, /* not passed on at all */
	FATES,
};

struct counters {
	_Atomic uint64_t fates[FATES];
	_Atomic uint64_t requests;
	_Atomic uint64_t bytes_in;    /* of requests' bodies */
	_Atomic uint64_t bytes_out;   /* of replies' bodies */
	_Atomic uint64_t unreachable; /* no reply from upstream */
	_Atomic uint64_t broken;      /* a reply broke off */
	_Atomic uint64_t cancelled;   /* by the client */
	_Atomic uint64_t active;      /* now */
	_Atomic uint64_t held;	      /* bytes of bodies in memory now */
};

struct proxy {
	struct brain *brain;
	struct upstream *upstream;
	struct MHD_Daemon *daemon;
	char *bases[APIS];
	int deadline_ms, grace_ms;
	uint16_t port;
	atomic_bool draining; /* ends soon: connections are not kept */
	struct counters counters;
};

struct visit;

/* At a request's first line; NULL: no memory. */
struct visit *visit_new(struct proxy *s, const char *target,
			struct MHD_Connection *connection);
void visit_free(struct visit *v);

/* The three moments of a request. MHD_NO: the connection is closed. */
bool visit_has_begun(const struct visit *v);
enum MHD_Result visit_begin(struct visit *v, const char *method);
enum MHD_Result visit_take(struct visit *v, const char *bytes, size_t len);
enum MHD_Result visit_answer(struct visit *v);

#endif
