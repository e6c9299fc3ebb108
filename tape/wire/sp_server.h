/*
 * A Unix socket of mode 0600, the nng clients (or our own, sp.h) connected to
 * it, and the thread that serves them all: one of the server's own
 * (sp_server_open()), or the caller's, which polls the server's descriptors
 * beside others (sp_server_attach()).
 *
 * That thread calls `message` for each message that arrived, and one of the
 * server's own calls `turn` before each sleep. The functions below are for that
 * thread, but for sp_server_wake(). Only opening and freeing block.
 */
#ifndef STATETAPE_TAPE_WIRE_SP_SERVER_H
#define STATETAPE_TAPE_WIRE_SP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape/wire/sp.h"

/* Clients served at a time; more wait to be accepted. */
#define SP_CLIENTS_MAX 64

/* Descriptors to poll. */
#define SP_SERVER_FDS (SP_CLIENTS_MAX + 2)

/* `message` returns it: the answer follows by sp_server_answer(). */
#define SP_LATER 1

struct pollfd;
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
	 * connection. SP_LATER: until it is answered nothing else is read from
	 * it. May be NULL.
	 */
	int (*message)(void *ctx, struct sp_conn *c);
	/* A client that waits for its answer is gone, and `c` with it. May be
	   NULL if no message is answered later. */
	void (*left)(void *ctx, const struct sp_conn *c);
};

/*
 * Listen at `path` and start the thread. A dead process's socket there is
 * replaced; -EADDRINUSE: a living one's, or another kind of file, is not.
 * `ops` must outlive the server.
 */
int sp_server_open(const char *path, const struct sp_ops *ops, void *ctx,
		   struct sp_server **ret);
/*
 * The same without a thread: the caller polls, and serves what is ready.
 * sp_server_poll() fills in SP_SERVER_FDS elements, and returns for how many
 * nanoseconds the caller may sleep at most; -1: without a limit. `turn` is
 * called once, before the server closes.
 */
int sp_server_attach(const char *path, const struct sp_ops *ops, void *ctx,
		     struct sp_server **ret);
int64_t sp_server_poll(struct sp_server *s, struct pollfd *p);
void sp_server_serve(struct sp_server *s, const struct pollfd *p);

/* Answer a message that was to be answered later, once, in two parts. Negative:
   the client is gone; `left` is not called. */
int sp_server_answer(struct sp_server *s, struct sp_conn *conn,
		     const char *head, size_t head_len, const char *body,
		     size_t body_len);

/*
 * Make `path` free for a listener, as sp_server_open() does: a dead process's
 * socket is removed. Others that claim it wait until *ret_lock, a descriptor,
 * is closed: do so when the new socket listens, for until then it looks dead.
 */
int sp_server_claim(const char *path, int *ret_lock);
/* Clients have a moment to read what they were sent. NULL is accepted. */
void sp_server_free(struct sp_server *s);

/* End the sleep of the thread that serves. Any thread; never blocks. */
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
