/*
 * A subscription to the tape's publication (publish.h) that lives as long as
 * its process: an nng SUB socket that connects by itself, also when the tape
 * starts later or anew, and keeps the number of the newest entry.
 *
 * It is a hint that entries came, early; SYNC and SINCE say what is true. A
 * tape that is absent costs nothing and delays nothing. Any thread may call.
 */
#ifndef STATETAPE_TAPE_WIRE_SUBSCRIBE_H
#define STATETAPE_TAPE_WIRE_SUBSCRIBE_H

#include <stdbool.h>
#include <stdint.h>

struct subscribe;

/* Entry `n` was published. On a thread of nng's: do not wait in it. */
typedef void subscribe_heard(void *ctx, uint64_t n);

/* `heard` may be NULL. Connects to nothing before it returns. */
int subscribe_open(const char *path, subscribe_heard *heard, void *ctx,
		   struct subscribe **ret);
/* Before the process ends. NULL is accepted. */
void subscribe_free(struct subscribe *s);

struct subscribe_stats {
	uint64_t n;	  /* the newest entry received, 0: none yet */
	uint64_t entries; /* received */
	uint64_t gaps;	  /* how often numbers were missing before one */
	bool connected;
};
void subscribe_stat(const struct subscribe *s, struct subscribe_stats *ret);

#endif
