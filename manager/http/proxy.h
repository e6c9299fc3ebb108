/*
 * The proxy: an HTTP server on loopback that an agent uses as its model's API.
 * Requests without the secret, or of other users, get 403 (door.h).
 * A request that carries a transcript goes through the brain (brain.h); all
 * others, and those the brain leaves alone, are forwarded byte for byte.
 * Replies stream back as they arrive.
 *
 * Each time upstream cannot be reached, it prints one sentence to stderr.
 * Nothing it prints or keeps contains a header's value or a body.
 */
#ifndef STATETAPE_MANAGER_HTTP_PROXY_H
#define STATETAPE_MANAGER_HTTP_PROXY_H

#include <stdint.h>

#include <cjson/cJSON.h>

#include "manager/http/route.h"

struct brain;
struct proxy;

struct proxy_config {
	struct brain *brain; /* outlives the proxy; NULL: forward everything */
	uint16_t port;	     /* on 127.0.0.1; 0: any free one */
	int listen_fd;	     /* a listening socket instead of `port`; 0: none */
	const char *secret;  /* the first part of paths; NULL: draw one */
	const char *bases[APIS]; /* URLs of the APIs; copied */
	int deadline_ms;	 /* of new decisions; 0: the brain's own */
	int grace_ms;		 /* at shutdown; 0: PROXY_GRACE_MS */
};

/*
 * Start serving, on threads of its own, which inherit the signal mask. Call it
 * while the process has one thread; it sets malloc's options for the whole
 * process. Takes ownership of `listen_fd`, also on failure. -EADDRINUSE: the
 * port is taken. -ENOTSOCK: `listen_fd` does not listen on 127.0.0.1. -EINVAL:
 * a base is not an http(s) URL, or the secret not an allowed one. -ELOOP: a
 * base is the proxy itself.
 */
int proxy_open(const struct proxy_config *c, struct proxy **ret);
uint16_t proxy_port(const struct proxy *s);
const char *proxy_secret(const struct proxy *s);

/*
 * Accept no more connections (another process that shares the listening socket
 * still may), let replies under way complete within the grace, cancel the
 * rest, free everything.
 */
void proxy_free(struct proxy *s);

/* A wire_handler (tape/wire/wire.h) whose context is the proxy. */
int proxy_answer(void *proxy, const char *ask, const cJSON *question,
		 cJSON *answer);

#endif
