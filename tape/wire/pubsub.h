/*
 * What publish.c and subscribe.c share of nng. Only these two and
 * pub_listener.c call nng: never in the file system's process, and never in a
 * process that forks afterwards without exec (nng panics in the child).
 */
#ifndef STATETAPE_TAPE_WIRE_PUBSUB_H
#define STATETAPE_TAPE_WIRE_PUBSUB_H

#include <nng/nng.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Longest message a subscriber accepts: nng has no limit of its own. It closes
 * the connection of a peer that announces more.
 */
#define PUBSUB_MESSAGE_MAX ((size_t)64 << 20)

/* nng's code as a negative errno; 0 stays 0. */
int pubsub_errno(int code);

#define PUBSUB_SCHEME "ipc://"

/* PUBSUB_SCHEME and `path`. (Free it.) -ENAMETOOLONG: no socket can have it. */
int pubsub_url(const char *path, char **ret);

/*
 * Close a socket for good, before the process ends. False: nng_close() did
 * not return in time (1.12 may hang while a connection is being made); nng's
 * threads may then still use what the socket's callbacks point to.
 */
bool pubsub_close(nng_socket s);

#endif
