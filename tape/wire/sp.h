/*
 * One connection of nng's Unix-socket transport, either end of it, that never
 * blocks. nng's sockets can talk to ours, and ours to nng's; sp.c describes the
 * bytes, and why this exists beside nng. sp_server.h serves many clients.
 *
 * A connection has one owner thread. At most one message is under way in each
 * direction, and none is read while one is being sent, which bounds the memory
 * of a connection.
 */
#ifndef STATETAPE_TAPE_WIRE_SP_H
#define STATETAPE_TAPE_WIRE_SP_H

#include <stddef.h>
#include <stdint.h>

/* The protocols, by their numbers. Each talks to one other only. */
enum { SP_PUB = 0x20, SP_SUB = 0x21, SP_REQ = 0x30, SP_REP = 0x31 };

enum { SP_GREETING_LEN = 8, SP_HEADER_LEN = 9 };

enum sp_stage { SP_NONE, SP_GREETING, SP_HEADER, SP_MESSAGE };

struct sp_conn {
	int fd; /* -1: none */
	uint16_t peer;
	size_t keep;

	/* What is being read, and of a message its first `kept` bytes. */
	enum sp_stage stage;
	uint64_t len;
	uint64_t got;
	unsigned char head[SP_HEADER_LEN];
	char *in;
	size_t kept;

	/* What is being sent; NULL: nothing. */
	char *out;
	size_t out_len;
	size_t out_done;
};

#define SP_CONN_NONE ((struct sp_conn){ .fd = -1 })

/*
 * Begin on a connected socket: we are `self`, the other side must be `peer`.
 * The first `keep` bytes of each message are kept. Takes over the descriptor,
 * also on failure, and makes it non-blocking.
 */
int sp_conn_start(struct sp_conn *c, int fd, uint16_t self, uint16_t peer,
		  size_t keep);

/*
 * Connect to the server at `path` and begin. -ECONNREFUSED: there is no server.
 * -EAGAIN: its queue of connections was full for `timeout_ms` (negative: no
 * limit).
 */
int sp_connect(const char *path, int timeout_ms, uint16_t self, uint16_t peer,
	       size_t keep, struct sp_conn *ret);
void sp_conn_release(struct sp_conn *c);

/* Has the other side greeted us? */
int sp_conn_greeted(const struct sp_conn *c);

/*
 * Read the bytes that are available. 1: a message of c->len bytes has arrived;
 * the first c->kept are at c->in, with a NUL after them, until the next call.
 * 0: no whole message yet. Negative, here and below: the connection must be
 * released; -ECONNRESET: the other side closed it.
 */
int sp_conn_receive(struct sp_conn *c);

/*
 * Send one message, made of two parts, while none is being sent. Bytes that the
 * other side does not take at once are kept for sp_conn_flush().
 */
int sp_conn_send(struct sp_conn *c, const char *head, size_t head_len,
		 const char *body, size_t body_len);
int sp_conn_flush(struct sp_conn *c);

/* For poll(2): POLLOUT while a message is being sent, else POLLIN. */
short sp_conn_events(const struct sp_conn *c);

/* Wait for these. -ETIMEDOUT: not within `timeout_ms` (negative: no limit). */
int sp_conn_wait(const struct sp_conn *c, int timeout_ms);

#endif
