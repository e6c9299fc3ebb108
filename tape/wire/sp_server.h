/*
 * A Unix socket of mode 0600, the nng clients (or our own, sp.h) connected to
 * it, and one thread that serves them all.
 *
 * The thread calls `turn` before each sleep and `message` for each message that
 * arrived. sp_server_clients() and sp_server_tell() are for these callbacks, on
 * that thread. Only opening and freeing block.
 */
#ifndef STATETAPE_TAPE_WIRE_SP_SERVER_H
#define STATETAPE_TAPE_WIRE_SP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape/wire/sp.h"

/* Clients served at a time; more wait to be accepted. */
#define SP_CLIENTS_MAX 64

struct sp_server;

struct sp_ops {
	uint16_t self; /* our protocol ... */
	uint16_t peer; /* ... and theirs */
	size_t keep;   /* bytes kept of a message */

	/*
	 * Returns how long to sleep at most, in nanoseconds; -1: until a
	 * descriptor is ready. `last`: the server is about to close. May be
	 * NULL.
	 */
	int64_t (*turn)(void *ctx, struct sp_server *s, bool last);
	/*
	 * `c` has received a message and may be sent one. Negative: close the
	 * connection. May be NULL.
	 */
	int (*message)(void *ctx, struct sp_conn *c);
};

/*
 * Listen at `path` and start the thread. A dead process's socket there is
 * replaced; -EADDRINUSE: a living one's, or another kind of file, is not.
 * `ops` must outlive the server.
 */
int sp_server_open(const char *path, const struct sp_ops *ops, void *ctx,
		   struct sp_server **ret);
/*
 * Make `path` free for a listener, as sp_server_open() does: a dead process's
 * socket is removed. Others that claim it wait until *ret_lock, a descriptor,
 * is closed: do so when the new socket listens, for until then it looks dead.
 */
int sp_server_claim(const char *path, int *ret_lock);
/* Clients have a moment to read what they were sent. NULL is accepted. */
void sp_server_free(struct sp_server *s);

/* End the thread's sleep. Any thread; never blocks. */
void sp_server_wake(struct sp_server *s);

/* How many clients have greeted us and are connected. */
unsigned sp_server_clients(const struct sp_server *s);

/*
 * Send `msg` to each client whose mark is below `mark` and that has read all it
 * was sent before, and set its mark. Returns the number of these clients.
 */
unsigned sp_server_tell(struct sp_server *s, uint64_t mark, const char *msg,
			size_t len);

#endif
