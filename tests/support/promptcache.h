/*
 * A model's prompt cache: a request reads the longest cached prefix that ends
 * at one of the 20 blocks before its last cache mark, and what it writes is
 * cached for five minutes after its last use, from 1024 tokens on. Tools and
 * system text have marks of their own. Tokens are bytes / 4, prices those of an
 * input token: read 0.1, write 1.25.
 */
#ifndef STATETAPE_TESTS_SUPPORT_PROMPTCACHE_H
#define STATETAPE_TESTS_SUPPORT_PROMPTCACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "manager/transcript/transcript.h"

struct promptcache;

struct promptcache_charge {
	uint64_t read, written, plain;
	double cost;
	bool rewritten; /* the part marked in the last request changed */
};

struct promptcache *promptcache_new(void);
/* Accepts NULL. */
void promptcache_free(struct promptcache *c);

/* Charge a request made at `now_ns`, and cache it. */
struct promptcache_charge promptcache_request(struct promptcache *c,
					      const struct transcript *t,
					      int64_t now_ns);

#endif
