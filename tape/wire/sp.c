/*
 * The transport, with numbers in network order:
 *
 *   greeting, both ways:  00 'S' 'P' 00  protocol (2 bytes)  00 00
 *   then messages:        01  length (8 bytes)  that many bytes
 *
 * Why the questions and the bell do not use nng's own sockets, as the
 * publication does (publish.h). A round trip over our own takes 14-16 us, over
 * nng's REQ/REP 119-188 us. As Debian 12 has it (1.5.2), a client that hangs up
 * before it is greeted makes the listener deaf for good (pub_listener.c), and
 * nng_close() on a socket whose connection is just being made leaks a
 * descriptor or never returns, which is the end of every deadline. Both happen
 * to clients with short deadlines on a busy machine, within some hundred
 * questions. nng also brings a dozen threads, and panics after fork(); the file
 * system's process cannot have either.
 */
#include "tape/wire/sp.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "graph/base/cleanup.h"

/* A header's first byte: what follows is a message. */
#define SP_IS_MESSAGE 1

static void greeting_make(uint16_t protocol, unsigned char *ret)
{
	memcpy(ret, "\0SP\0\0\0\0", SP_GREETING_LEN);
	ret[4] = (unsigned char)(protocol >> 8);
	ret[5] = (unsigned char)protocol;
}

static void conn_expect(struct sp_conn *c, enum sp_stage stage, uint64_t len)
{
	assert(stage != SP_NONE && (stage == SP_MESSAGE || !c->in));
	c->stage = stage;
	c->len = len;
	c->got = 0;
}

int sp_conn_start(struct sp_conn *c, int fd, uint16_t self, uint16_t peer,
		  size_t keep)
{
	unsigned char greeting[SP_GREETING_LEN];
	ssize_t n;

	*c = (struct sp_conn){ .fd = fd, .peer = peer, .keep = keep };
	conn_expect(c, SP_GREETING, SP_GREETING_LEN);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	/* The buffer is empty: all of it is sent, or the peer is gone. */
	greeting_make(self, greeting);
	n = send(fd, greeting, SP_GREETING_LEN, MSG_NOSIGNAL);
	return n == SP_GREETING_LEN ? 0 : -ECONNRESET;
}

/* connect(2) waits while the listener's queue is full. */
static int connect_within(int fd, const struct sockaddr_un *at, int timeout_ms)
{
	struct timeval t = { .tv_sec = timeout_ms / 1000,
			     .tv_usec = timeout_ms % 1000 * 1000L };

	/* Zero would mean no limit. */
	if (timeout_ms == 0)
		t.tv_usec = 1;
	if (timeout_ms >= 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0)
		return 0;
	return errno == ENOENT ? -ECONNREFUSED : -errno;
}

int sp_connect(const char *path, int timeout_ms, uint16_t self, uint16_t peer,
	       size_t keep, struct sp_conn *ret)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	CLEANUP(close_p) int fd = -1;
	struct sp_conn c;
	int rc;

	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	memcpy(at.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	rc = connect_within(fd, &at, timeout_ms);
	if (rc < 0)
		return rc;
	rc = sp_conn_start(&c, take_fd(&fd), self, peer, keep);
	if (rc < 0) {
		sp_conn_release(&c);
		return rc;
	}
	*ret = c;
	return 0;
}

void sp_conn_release(struct sp_conn *c)
{
	close_p(&c->fd);
	free(c->in);
	free(c->out);
	*c = SP_CONN_NONE;
}

int sp_conn_greeted(const struct sp_conn *c)
{
	return c->fd >= 0 && c->stage > SP_GREETING;
}

static int conn_take_greeting(struct sp_conn *c)
{
	unsigned char want[SP_GREETING_LEN];

	greeting_make(c->peer, want);
	if (memcmp(c->head, want, SP_GREETING_LEN) != 0)
		return -EPROTO;
	conn_expect(c, SP_HEADER, SP_HEADER_LEN);
	return 0;
}

static int conn_take_header(struct sp_conn *c)
{
	uint64_t len;

	if (c->head[0] != SP_IS_MESSAGE)
		return -EPROTO;
	memcpy(&len, c->head + 1, sizeof(len));
	conn_expect(c, SP_MESSAGE, be64toh(len));
	c->kept = c->len < c->keep ? (size_t)c->len : c->keep;
	c->in = malloc(c->kept + 1);
	return c->in ? 0 : -ENOMEM;
}

/* One read, of no more than the stage still needs. */
static ssize_t conn_read(struct sp_conn *c)
{
	uint64_t lack = c->len - c->got;
	char scrap[4096];

	if (c->stage != SP_MESSAGE)
		return recv(c->fd, c->head + c->got, lack, 0);
	if (c->got < c->kept)
		return recv(c->fd, c->in + c->got, c->kept - c->got, 0);
	return recv(c->fd, scrap, lack < sizeof(scrap) ? lack : sizeof(scrap),
		    0);
}

/*
 * 1: the stage is complete. One read only, so that a client that keeps sending
 * cannot keep a server from its other clients.
 */
static int conn_fill(struct sp_conn *c)
{
	ssize_t n;

	assert(c->got <= c->len);
	if (c->got == c->len)
		return 1;
	n = conn_read(c);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	c->got += (uint64_t)n;
	return c->got == c->len;
}

int sp_conn_receive(struct sp_conn *c)
{
	int rc;

	/* The caller is done with the last message. */
	if (c->stage == SP_MESSAGE && c->got == c->len) {
		free(TAKE(c->in));
		conn_expect(c, SP_HEADER, SP_HEADER_LEN);
	}
	while ((rc = conn_fill(c)) == 1) {
		if (c->stage == SP_MESSAGE) {
			c->in[c->kept] = '\0';
			return 1;
		}
		rc = c->stage == SP_GREETING ? conn_take_greeting(c)
					     : conn_take_header(c);
		if (rc < 0)
			break;
	}
	return rc;
}

int sp_conn_send(struct sp_conn *c, const char *head, size_t head_len,
		 const char *body, size_t body_len)
{
	uint64_t len = htobe64((uint64_t)head_len + body_len);
	char *p;

	assert(!c->out);
	c->out_len = SP_HEADER_LEN + head_len + body_len;
	c->out_done = 0;
	c->out = malloc(c->out_len);
	if (!c->out)
		return -ENOMEM;
	c->out[0] = SP_IS_MESSAGE;
	p = mempcpy(c->out + 1, &len, sizeof(len));
	p = mempcpy(p, head, head_len);
	memcpy(p, body, body_len);
	return sp_conn_flush(c);
}

int sp_conn_flush(struct sp_conn *c)
{
	ssize_t n;

	assert(c->out && c->out_done < c->out_len);
	n = send(c->fd, c->out + c->out_done, c->out_len - c->out_done,
		 MSG_NOSIGNAL);
	if (n < 0 && errno == EPIPE)
		return -ECONNRESET;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	c->out_done += (size_t)n;
	if (c->out_done == c->out_len)
		free(TAKE(c->out));
	return 0;
}

short sp_conn_events(const struct sp_conn *c)
{
	return c->out ? POLLOUT : POLLIN;
}

int sp_conn_wait(const struct sp_conn *c, int timeout_ms)
{
	struct pollfd p = { .fd = c->fd, .events = sp_conn_events(c) };
	int n = poll(&p, 1, timeout_ms);

	/* Callers check the clock before they wait again. */
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n > 0 ? 0 : -ETIMEDOUT;
}
