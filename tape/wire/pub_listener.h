/*
 * The publication's listener: nng's, at a path, with a check that it still
 * accepts subscribers.
 *
 * nng 1.5.2 (Debian 12) stops accepting for good when a client hangs up before
 * it is greeted (nng #1518). pub_listener.c tells how that is noticed and what
 * is done. Nothing here blocks but pub_listener_start().
 *
 * One thread owns a listener; the pipe functions are for nng's callbacks.
 */
#ifndef STATETAPE_TAPE_WIRE_PUB_LISTENER_H
#define STATETAPE_TAPE_WIRE_PUB_LISTENER_H

#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>

struct pub_listener;

/* A listener of `socket` at `path` (copied), to be started. */
int pub_listener_new(nng_socket socket, const char *path,
		     struct pub_listener **ret);
/*
 * Listen, mode 0600, replacing a dead process's socket. nng may call back from
 * now on. -EADDRINUSE: a living process listens there, or it is another kind
 * of file.
 */
int pub_listener_start(struct pub_listener *l);
/* The nng socket is closed afterwards, by the caller. NULL is accepted. */
void pub_listener_free(struct pub_listener *l);

/*
 * Entries were published: check, within about a second, that the listener
 * still accepts. Any thread. True: the owner must call pub_listener_step().
 */
bool pub_listener_suspect(struct pub_listener *l);

/*
 * Do what is due. Returns how long the owner may sleep, in nanoseconds; -1:
 * until something happens. pub_listener_fd() is polled meanwhile; -1: none.
 */
int64_t pub_listener_step(struct pub_listener *l);
int pub_listener_fd(const struct pub_listener *l);

/* False: the pipe is of a listener that was given up. Any thread. */
bool pub_listener_owns(struct pub_listener *l, nng_pipe pipe);

/* How often the listener was opened anew. Any thread. */
unsigned pub_listener_reopened(const struct pub_listener *l);

#endif
