/*
 * The publication: every entry to every subscriber, through an nng PUB socket
 * that listens on a Unix socket of mode 0600. A message is PUBLISH_TOPIC and
 * the entry as JSON.
 *
 * The tape never waits for a subscriber. One that falls behind by more than
 * PUBLISH_BEHIND_MAX entries loses the oldest of these, one that holds up too
 * many bytes is disconnected; both see by the numbers that entries are missing
 * and ask SINCE. A subscriber receives what is published after nng has
 * accepted it, which is shortly after it was greeted.
 *
 * The entry functions are for one thread at a time, the others for any.
 */
#ifndef STATETAPE_TAPE_WIRE_PUBLISH_H
#define STATETAPE_TAPE_WIRE_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#define PUBLISH_TOPIC "tape."

enum {
	PUBLISH_BEHIND_MAX = 1024,     /* messages kept for a subscriber */
	PUBLISH_SUBSCRIBERS_MAX = 256, /* more are refused */
};

struct publish;

/*
 * Listen at `path`, replacing a dead process's socket. Starts a thread, and
 * nng's. -EADDRINUSE: a living process listens there.
 */
int publish_open(const char *path, struct publish **ret);
/*
 * Before the process ends. Subscribers have a moment to take what was sent
 * last. NULL is accepted.
 */
void publish_free(struct publish *p);

/*
 * Publish entry `n`, whose JSON (copied) this is; numbers rise. Never blocks.
 * publish_flush() ends a group of entries, and is called also when none of
 * them was published: a listener that has become deaf is found by it.
 */
void publish_entry(struct publish *p, uint64_t n, const char *json);
void publish_flush(struct publish *p);

/* False: there is no subscriber, and no entry need be made into JSON. */
bool publish_is_heard(const struct publish *p);
unsigned publish_subscribers(const struct publish *p);
/* How often the listener was found deaf and opened anew (pub_listener.h). */
unsigned publish_reopened(const struct publish *p);

#endif
