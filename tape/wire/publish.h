/*
 * Every entry to whoever wants to hear of it: nng's PUB/SUB protocol on a Unix
 * socket, mode 0600. A message is PUBLISH_TOPIC and the entry as JSON.
 *
 * Nobody is waited for. A subscriber who falls far behind loses messages, sees
 * by the numbers that he did, and asks for what is missing (SINCE).
 */
#ifndef STATETAPE_TAPE_WIRE_PUBLISH_H
#define STATETAPE_TAPE_WIRE_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#define PUBLISH_TOPIC "tape."

struct publish;

/*
 * Listen at `path`, replacing a dead process's socket. Starts a thread.
 * -EADDRINUSE: a living process listens there.
 */
int publish_open(const char *path, struct publish **ret);
/* What was sent has a moment to be taken. NULL is accepted. */
void publish_free(struct publish *p);

/*
 * Tell of entry `n`, whose JSON (copied) this is; numbers rise. Never blocks.
 * Several may be told before publish_flush() sends them on their way.
 */
void publish_entry(struct publish *p, uint64_t n, const char *json);
void publish_flush(struct publish *p);

/* False: whoever comes is not yet greeted, and need not be told. */
bool publish_is_heard(const struct publish *p);
unsigned publish_subscribers(const struct publish *p);

#endif
