/* A connection inside this process: both ends are this user's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "manager/http/peer.h"

struct pair {
	int client, server;
	struct peer_end theirs, ours;
};

static int connect_pair(void **state)
{
	static struct pair p;
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in from = { 0 };
	socklen_t len = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(listening, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&at, &len),
			 0);
	p.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(p.client, (struct sockaddr *)&at, len), 0);
	p.server = accept4(listening, (struct sockaddr *)&from, &len,
			   SOCK_CLOEXEC);
	assert_true(p.server >= 0);
	(void)close(listening);
	p.theirs = (struct peer_end){ from.sin_addr.s_addr, from.sin_port };
	p.ours = (struct peer_end){ at.sin_addr.s_addr, at.sin_port };
	*state = &p;
	return 0;
}

static int close_pair(void **state)
{
	const struct pair *p = *state;

	(void)close(p->client);
	(void)close(p->server);
	return 0;
}

static void the_user_of_a_connection_is_found(void **state)
{
	const struct pair *p = *state;
	struct peer_socket s = { 0 };

	assert_int_equal(peer_socket(p->server, &s), 0);
	assert_int_equal(s.uid, getuid());
	assert_true(s.inode > 0);
}

static void both_ways_agree(void **state)
{
	const struct pair *p = *state;
	struct peer_socket one = { 0 }, other = { 0 };

	if (access("/proc/net/tcp", R_OK) < 0 ||
	    peer_by_netlink(&p->theirs, &p->ours, &one) < 0)
		skip();
	assert_int_equal(
		peer_by_table("/proc/net/tcp", &p->theirs, &p->ours, &other),
		0);
	assert_int_equal(one.uid, other.uid);
	assert_int_equal(one.inode, other.inode);
}

static void what_its_process_has_closed_is_nobodys(void **state)
{
	struct pair *p = *state;
	struct peer_socket s = { .uid = (uid_t)-1 };

	(void)close(p->client);
	p->client = -1;
	assert_int_equal(peer_socket(p->server, &s), -ENOENT);
	assert_int_equal(s.uid, (uid_t)-1);
	assert_int_equal(
		peer_by_table("/proc/net/tcp", &p->theirs, &p->ours, &s),
		-ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_user_of_a_connection_is_found, connect_pair,
			close_pair),
		cmocka_unit_test_setup_teardown(both_ways_agree, connect_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(
			what_its_process_has_closed_is_nobodys, connect_pair,
			close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
