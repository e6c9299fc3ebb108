/*
 * The server against clients made by hand, among them rude ones. nng's own
 * are in nng_test.c.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tape/wire/sp_server.h"
#include "tests/support/scratch.h"
#include "tests/support/sp_raw.h"

#define KEEP 16

struct world {
	char *dir;
	char *path;
	struct sp_server *server;
};

/* Says what it kept, how much that was, and how much there had been. */
static int echo(void *ctx, struct sp_conn *c)
{
	char head[64];

	(void)ctx;
	(void)snprintf(head, sizeof(head), "%zu of %llu: ", c->kept,
		       (unsigned long long)c->len);
	if (c->in[c->kept] != '\0')
		abort(); /* cmocka's asserts are for the test's own thread */
	return sp_conn_send(c, head, strlen(head), c->in, c->kept);
}

static const struct sp_ops echo_ops = {
	.self = SP_REP,
	.peer = SP_REQ,
	.keep = KEEP,
	.message = echo,
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->dir = scratch_new();
	assert_non_null(w->dir);
	assert_true(asprintf(&w->path, "%s/s", w->dir) > 0);
	assert_int_equal(sp_server_open(w->path, &echo_ops, NULL, &w->server),
			 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	sp_server_free(w->server);
	scratch_free(w->dir);
	free(w->path);
	free(w);
	return 0;
}

/* A client that has greeted and been greeted. */
static int client(const struct world *w)
{
	int fd = raw_connect(w->path);

	raw_greet(fd, SP_REQ);
	assert_int_equal(raw_greeted(fd), SP_REP);
	return fd;
}

static void expect_echo(int fd, const char *want)
{
	char room[256];

	assert_true(raw_recv(fd, room, sizeof(room)) >= 0);
	assert_string_equal(room, want);
}

static void a_message_is_handed_over_and_answered(void **state)
{
	int fd = client(*state);

	raw_send(fd, "hello", 5);
	expect_echo(fd, "5 of 5: hello");
	raw_send(fd, "again", 5);
	expect_echo(fd, "5 of 5: again");
	(void)close(fd);
}

static void a_message_may_be_empty(void **state)
{
	int fd = client(*state);

	raw_send(fd, "", 0);
	expect_echo(fd, "0 of 0: ");
	(void)close(fd);
}

static void bytes_may_come_one_by_one(void **state)
{
	const char all[] = "\0SP\0\0\x30\0\0"
			   "\1\0\0\0\0\0\0\0\3abc";
	int fd = raw_connect(((struct world *)*state)->path);

	for (size_t i = 0; i < sizeof(all) - 1; i++)
		raw_write(fd, all + i, 1);
	assert_int_equal(raw_greeted(fd), SP_REP);
	expect_echo(fd, "3 of 3: abc");
	(void)close(fd);
}

static void of_a_long_message_only_the_beginning_is_kept(void **state)
{
	static char big[100000];
	int fd = client(*state);

	memset(big, 'x', sizeof(big));
	raw_send(fd, big, sizeof(big));
	expect_echo(fd, "16 of 100000: xxxxxxxxxxxxxxxx");
	raw_send(fd, "next", 4);
	expect_echo(fd, "4 of 4: next");
	(void)close(fd);
}

/* Nothing comes but the end; both sides' greetings may have gone before. */
static void expect_shown_out(int fd)
{
	char c[64];

	while (raw_read(fd, c, 1))
		continue;
	(void)close(fd);
}

static void whoever_does_not_know_the_greeting_is_shown_out(void **state)
{
	struct world *w = *state;
	int fd = raw_connect(w->path);

	raw_write(fd, "GET / HTTP/1.0\r\n\r\n", 18);
	expect_shown_out(fd);

	fd = raw_connect(w->path);
	raw_greet(fd, SP_SUB);
	expect_shown_out(fd);

	fd = client(w);
	raw_send(fd, "still", 5);
	expect_echo(fd, "5 of 5: still");
	(void)close(fd);
}

static void a_header_of_another_kind_ends_the_connection(void **state)
{
	int fd = client(*state);

	raw_write(fd, "\2\0\0\0\0\0\0\0\1x", 10);
	expect_shown_out(fd);
}

static void a_length_beyond_all_bounds_takes_no_memory(void **state)
{
	struct world *w = *state;
	int fd = client(w);
	int other = client(w);

	raw_send_head(fd, UINT64_MAX);
	raw_write(fd, "some of it", 10);
	raw_send(other, "me too", 6);
	expect_echo(other, "6 of 6: me too");
	(void)close(fd);
	(void)close(other);
}

static void hanging_up_at_any_moment_harms_nobody(void **state)
{
	struct world *w = *state;
	int fd;

	for (int i = 0; i < 200; i++) {
		fd = raw_connect(w->path);
		if (i % 4 == 1)
			raw_greet(fd, SP_REQ);
		if (i % 4 == 2) {
			raw_greet(fd, SP_REQ);
			raw_send_head(fd, 10);
		}
		if (i % 4 == 3) {
			raw_greet(fd, SP_REQ);
			raw_send(fd, "a question, and gone", 20);
		}
		(void)close(fd);
	}
	fd = client(w);
	raw_send(fd, "still", 5);
	expect_echo(fd, "5 of 5: still");
	(void)close(fd);
}

/* The place a client leaves is given to one that waits. */
static void a_full_house_lets_the_next_one_in_when_one_leaves(void **state)
{
	struct world *w = *state;
	int fds[SP_CLIENTS_MAX];
	int late;

	for (size_t i = 0; i < SP_CLIENTS_MAX; i++)
		fds[i] = client(w);
	late = raw_connect(w->path);
	raw_greet(late, SP_REQ);
	raw_send(fds[3], "inside", 6);
	expect_echo(fds[3], "6 of 6: inside");
	(void)close(fds[7]);
	fds[7] = -1;
	assert_int_equal(raw_greeted(late), SP_REP);
	raw_send(late, "now", 3);
	expect_echo(late, "3 of 3: now");

	(void)close(late);
	for (size_t i = 0; i < SP_CLIENTS_MAX; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

/*
 * More questions than both directions' buffers hold: the server must neither
 * block nor let what it has to send grow.
 */
static void who_does_not_read_answers_gets_no_further_ones(void **state)
{
	struct world *w = *state;
	int fd = client(w);
	int other = client(w);
	unsigned asked = 0;
	char head[10] = { 1, 0, 0, 0, 0, 0, 0, 0, 1, 'q' };

	while (send(fd, head, sizeof(head), MSG_DONTWAIT) == sizeof(head))
		asked++;
	assert_int_equal(errno, EAGAIN);
	raw_send(other, "me too", 6);
	expect_echo(other, "6 of 6: me too");
	for (unsigned i = 0; i < asked; i++)
		expect_echo(fd, "1 of 1: q");
	(void)close(fd);
	(void)close(other);
}

static void the_file_is_a_socket_closed_to_others(void **state)
{
	struct world *w = *state;
	struct stat st;

	assert_int_equal(stat(w->path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_living_servers_socket_is_not_replaced(void **state)
{
	struct world *w = *state;
	struct sp_server *second = NULL;
	int fd;

	assert_int_equal(sp_server_open(w->path, &echo_ops, NULL, &second),
			 -EADDRINUSE);
	assert_null(second);
	fd = client(w);
	raw_send(fd, "still", 5);
	expect_echo(fd, "5 of 5: still");
	(void)close(fd);
}

static void closing_takes_the_file_away_but_only_its_own(void **state)
{
	struct world *w = *state;
	int fd;

	sp_server_free(w->server);
	w->server = NULL;
	assert_int_equal(access(w->path, F_OK), -1);

	assert_int_equal(sp_server_open(w->path, &echo_ops, NULL, &w->server),
			 0);
	assert_int_equal(unlink(w->path), 0);
	fd = raw_listen(w->path);
	sp_server_free(w->server);
	w->server = NULL;
	assert_int_equal(access(w->path, F_OK), 0);
	(void)close(fd);
}

static void a_dead_servers_socket_is_replaced(void **state)
{
	struct world *w = *state;
	struct sp_server *s = NULL;
	char *path = NULL;
	int fd;

	assert_true(asprintf(&path, "%s/dead", w->dir) > 0);
	(void)close(raw_listen(path));
	assert_int_equal(sp_server_open(path, &echo_ops, NULL, &s), 0);
	fd = raw_connect(path);
	assert_int_equal(raw_greeted(fd), SP_REP);
	(void)close(fd);
	sp_server_free(s);
	free(path);
}

static void a_file_in_the_way_stays(void **state)
{
	struct world *w = *state;
	struct sp_server *s = NULL;
	char *path = NULL;
	FILE *f;

	assert_true(asprintf(&path, "%s/notes", w->dir) > 0);
	f = fopen(path, "w");
	assert_non_null(f);
	(void)fclose(f);
	assert_int_equal(sp_server_open(path, &echo_ops, NULL, &s),
			 -EADDRINUSE);
	assert_int_equal(access(path, F_OK), 0);
	free(path);
}

static void a_place_that_cannot_be_is_an_error(void **state)
{
	struct world *w = *state;
	struct sp_server *s = NULL;
	char *path = NULL;
	char deep[200];

	memset(deep, 'd', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(sp_server_open(deep, &echo_ops, NULL, &s),
			 -ENAMETOOLONG);
	assert_true(asprintf(&path, "%s/missing/s", w->dir) > 0);
	assert_int_equal(sp_server_open(path, &echo_ops, NULL, &s), -ENOENT);
	assert_null(s);
	free(path);
}

/* An answer given just before the end is read after it. */
static void closing_delivers_what_was_sent(void **state)
{
	struct world *w = *state;
	int asker = client(w);
	int idler = client(w);
	char room[8];

	raw_send(asker, "last", 4);
	expect_echo(asker, "4 of 4: last");
	sp_server_free(w->server);
	w->server = NULL;
	assert_false(raw_read(asker, room, 1));
	assert_false(raw_read(idler, room, 1));
	(void)close(asker);
	(void)close(idler);
}

static unsigned open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d)) /* NOLINT(concurrency-mt-unsafe) */
		n++;
	(void)closedir(d);
	return n;
}

static void no_descriptor_is_left_behind(void **state)
{
	struct world *w = *state;
	unsigned before;

	sp_server_free(w->server);
	w->server = NULL;
	before = open_files();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(setup(state), 0);
		hanging_up_at_any_moment_harms_nobody(state);
		assert_int_equal(teardown(state), 0);
	}
	*state = w;
	assert_int_equal(open_files(), before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_is_handed_over_and_answered),
		TEST(a_message_may_be_empty),
		TEST(bytes_may_come_one_by_one),
		TEST(of_a_long_message_only_the_beginning_is_kept),
		TEST(whoever_does_not_know_the_greeting_is_shown_out),
		TEST(a_header_of_another_kind_ends_the_connection),
		TEST(a_length_beyond_all_bounds_takes_no_memory),
		TEST(hanging_up_at_any_moment_harms_nobody),
		TEST(a_full_house_lets_the_next_one_in_when_one_leaves),
		TEST(who_does_not_read_answers_gets_no_further_ones),
		TEST(the_file_is_a_socket_closed_to_others),
		TEST(a_living_servers_socket_is_not_replaced),
		TEST(closing_takes_the_file_away_but_only_its_own),
		TEST(a_dead_servers_socket_is_replaced),
		TEST(a_file_in_the_way_stays),
		TEST(a_place_that_cannot_be_is_an_error),
		TEST(closing_delivers_what_was_sent),
		TEST(no_descriptor_is_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
