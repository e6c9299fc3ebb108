/*
 * The HTTP edge: a server on loopback that an agent takes for its model's
 * API. A request that carries a transcript goes through the brain (brain.h);
 * everything else, and everything the brain has nothing to say to, goes on
 * byte for byte. Replies stream back as they come.
 *
 * It says on stderr, in one sentence each, when upstream cannot be reached.
 * Nothing it says or keeps holds a header's value or a body.
 */
#ifndef STATETAPE_MANAGER_HTTP_PROXY_H
#define STATETAPE_MANAGER_HTTP_PROXY_H

#include <stdint.h>

#include <cjson/cJSON.h>

#include "manager/http/route.h"

struct brain;
struct proxy;

struct proxy_config {
	struct brain *brain; /* outlives the proxy; NULL: all just passes */
	uint16_t port;	     /* on 127.0.0.1; 0: any that is free */
	int listen_fd;	     /* instead, a socket that listens there; 0: none */
	const char *bases[APIS]; /* URLs of the APIs; copied */
	int deadline_ms;	 /* for the brain; 0: PROXY_DEADLINE_MS */
	int grace_ms;		 /* at the end; 0: PROXY_GRACE_MS */
};

/*
 * Serve, from threads of its own. Signals are best blocked before. Call it
 * while there is one thread. -EADDRINUSE: the port is taken. -ENOTSOCK:
 * `listen_fd` does not listen on 127.0.0.1; it is the proxy's, also if this
 * fails. -EINVAL: a base is no http(s) URL. -ELOOP: a base is the proxy itself.
 * It tells malloc how to behave for all of the process.
 */
int proxy_open(const struct proxy_config *c, struct proxy **ret);
uint16_t proxy_port(const struct proxy *s);

/*
 * Take no more connections (whoever else has the socket that listens may), let
 * replies under way end within the grace, end the rest, free all.
 */
void proxy_free(struct proxy *s);

/* A wire_handler (tape/wire/wire.h) whose context is the proxy. */
int proxy_answer(void *proxy, const char *ask, const cJSON *question,
		 cJSON *answer);

#endif
