/*
 * nng's Unix-socket transport written by hand, to send what nng itself never
 * would. Include cmocka.h first: a call that fails fails the test.
 */
#ifndef STATETAPE_TESTS_SUPPORT_SP_RAW_H
#define STATETAPE_TESTS_SUPPORT_SP_RAW_H

#include <endian.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Long enough to count as "never", even on a busy machine. */
#define RAW_PATIENCE_MS 20000

static inline struct sockaddr_un raw_address(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	assert_true(strlen(path) < sizeof(at.sun_path));
	memcpy(at.sun_path, path, strlen(path));
	return at;
}

/* A connection, or -1. */
static inline int raw_try_connect(const char *path)
{
	struct sockaddr_un at = raw_address(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

static inline int raw_connect(const char *path)
{
	int fd = raw_try_connect(path);

	assert_true(fd >= 0);
	return fd;
}

/* A listening socket at `path` that accepts no connection. */
static inline int raw_listen(const char *path)
{
	struct sockaddr_un at = raw_address(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

static inline void raw_write(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

/* Read exactly `len` bytes; 0: the other side closed before. */
static inline int raw_read(int fd, void *data, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t got = 0;
	ssize_t n;

	while (got < len) {
		assert_int_equal(poll(&p, 1, RAW_PATIENCE_MS), 1);
		n = recv(fd, (char *)data + got, len - got, 0);
		if (n <= 0)
			return 0;
		got += (size_t)n;
	}
	return 1;
}

static inline void raw_greet(int fd, unsigned char protocol)
{
	const char hello[8] = { 0, 'S', 'P', 0, 0, (char)protocol, 0, 0 };

	raw_write(fd, hello, sizeof(hello));
}

/* Read the other side's greeting: its protocol. */
static inline unsigned raw_greeted(int fd)
{
	unsigned char hello[8];

	assert_true(raw_read(fd, hello, sizeof(hello)));
	assert_memory_equal(hello, "\0SP\0", 4);
	return hello[4] * 256u + hello[5];
}

static inline void raw_send_head(int fd, uint64_t len)
{
	char head[9] = { 1 };

	len = htobe64(len);
	memcpy(head + 1, &len, sizeof(len));
	raw_write(fd, head, sizeof(head));
}

static inline void raw_send(int fd, const void *msg, size_t len)
{
	raw_send_head(fd, len);
	raw_write(fd, msg, len);
}

/* A whole message, NUL-terminated in `room`; its length, or -1: closed. */
static inline long raw_recv(int fd, char *room, size_t size)
{
	unsigned char head[9];
	uint64_t len;

	if (!raw_read(fd, head, sizeof(head)))
		return -1;
	memcpy(&len, head + 1, sizeof(len));
	len = be64toh(len);
	assert_int_equal(head[0], 1);
	assert_true(len < size);
	if (!raw_read(fd, room, len))
		return -1;
	room[len] = '\0';
	return (long)len;
}

#endif
