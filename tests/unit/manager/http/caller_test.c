#include "manager/http/caller.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "manager/http/peer.h"

/* A socket that listens on 127.0.0.1, and its address. */
static int listen_here(struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*ret);

	*ret = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_int_equal(bind(fd, (struct sockaddr *)ret, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &len), 0);
	return fd;
}

static int accept_one(int server)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);

	return accept4(server, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);
}

/* The inode of the socket at the other end. */
static uint64_t other_end(int fd)
{
	struct peer_socket s = { 0 };

	assert_int_equal(peer_socket(fd, &s), 0);
	return s.inode;
}

/* A child that connects and waits to be killed. */
static pid_t start_client(const struct sockaddr_in *to)
{
	pid_t pid = fork();
	int fd;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
		_exit(1);
	for (;;)
		(void)pause();
}

static void the_process_that_connected_is_found(void **state)
{
	struct callers known = CALLERS_INIT;
	struct caller one = { 0 }, again = { 0 }, other = { 0 };
	struct sockaddr_in at;
	int server = listen_here(&at), first, second;
	pid_t client = start_client(&at);
	uint64_t inode;

	(void)state;
	first = accept_one(server);
	inode = other_end(first);
	assert_int_equal(caller_find(&known, inode, &one), 0);
	assert_int_equal(one.pid, client);
	assert_true(one.start > 0);
	/* Not looked for again: it is known by the connection. */
	assert_int_equal(kill(client, SIGSTOP), 0);
	assert_int_equal(caller_find(&known, inode, &again), 0);
	assert_int_equal(again.start, one.start);

	other.pid = (uint32_t)start_client(&at);
	second = accept_one(server);
	assert_int_equal(caller_find(&known, other_end(second), &again), 0);
	assert_int_equal(again.pid, other.pid);
	(void)kill(client, SIGKILL);
	(void)kill((pid_t)other.pid, SIGKILL);
	(void)waitpid(client, NULL, 0);
	(void)waitpid((pid_t)other.pid, NULL, 0);
	assert_int_equal(close(first) | close(second) | close(server), 0);
}

static void a_connection_that_was_closed_has_none(void **state)
{
	struct callers known = CALLERS_INIT;
	struct caller c = { 0 };
	struct sockaddr_in at;
	int server = listen_here(&at), fd;
	pid_t client = start_client(&at);
	uint64_t inode;

	(void)state;
	fd = accept_one(server);
	inode = other_end(fd);
	(void)kill(client, SIGKILL);
	(void)waitpid(client, NULL, 0);
	assert_int_equal(caller_find(&known, inode, &c), -ENOENT);
	assert_int_equal(close(fd) | close(server), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_process_that_connected_is_found),
		cmocka_unit_test(a_connection_that_was_closed_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
