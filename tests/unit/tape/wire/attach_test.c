/*
 * A server without a thread: the test's own thread polls and serves, between
 * the steps of clients made by hand.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tape/wire/call.h"
#include "tape/wire/sp_server.h"
#include "tape/wire/wire.h"
#include "tests/support/scratch.h"
#include "tests/support/sp_raw.h"

struct world {
	char *dir;
	char *path;
	struct wire_server *server;
	unsigned asked, dropped; /* calls of the two below */
	bool held;		 /* "hold" is not answered yet */
};

static int answer(void *ctx, struct wire_question *q)
{
	struct world *w = ctx;

	w->asked++;
	if (strcmp(q->ask, "hold") == 0) {
		q->state = w;
		if (w->held)
			return WIRE_LATER;
		cJSON_AddStringToObject(q->answer, "said", "at last");
		return 0;
	}
	if (strcmp(q->ask, "much") == 0) {
		static char text[4 << 20];

		memset(text, 'x', sizeof(text) - 1);
		cJSON_AddStringToObject(q->answer, "much", text);
		return 0;
	}
	return strcmp(q->ask, "fail") == 0 ? -ENOSPC : 0;
}

static void drop(void *ctx, struct wire_question *q)
{
	struct world *w = ctx;

	assert_ptr_equal(q->state, w);
	q->state = NULL;
	w->dropped++;
}

static const struct wire_ops ops = { .answer = answer, .drop = drop };

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->dir = scratch_new();
	assert_non_null(w->dir);
	assert_true(asprintf(&w->path, "%s/s", w->dir) > 0);
	assert_int_equal(wire_server_attach(w->path, &ops, w, &w->server), 0);
	w->held = true;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	wire_server_free(w->server);
	scratch_free(w->dir);
	free(w->path);
	free(w);
	return 0;
}

/* Serve until nothing is ready. */
static void serve(struct world *w)
{
	struct pollfd p[SP_SERVER_FDS];

	for (;;) {
		(void)wire_server_poll(w->server, p);
		if (poll(p, SP_SERVER_FDS, 0) <= 0)
			return;
		wire_server_serve(w->server, p);
	}
}

/* A client that the server has greeted. */
static int client(struct world *w)
{
	int fd = raw_connect(w->path);

	raw_greet(fd, SP_REQ);
	serve(w);
	assert_int_equal(raw_greeted(fd), SP_REP);
	return fd;
}

static void ask(int fd, const char *what)
{
	char text[128];
	int len = snprintf(text, sizeof(text),
			   "\x80%c%c\x07{\"v\":1,\"ask\":\"%s\"}", 1, 2, what);

	raw_send(fd, text, (size_t)len);
}

static bool has_answer(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void expect(int fd, const char *want)
{
	char room[256];

	assert_true(raw_recv(fd, room, sizeof(room)) > 4);
	assert_memory_equal(room, "\x80\1\2\7", 4);
	assert_string_equal(room + 4, want);
}

static void a_question_is_answered_by_the_callers_thread(void **state)
{
	struct world *w = *state;
	int fd = client(w);

	ask(fd, "any");
	assert_false(has_answer(fd));
	serve(w);
	expect(fd, "{\"v\":1,\"ok\":true}");
	ask(fd, "fail");
	serve(w);
	expect(fd, "{\"v\":1,\"ok\":false,\"error\":\"\\\"fail\\\" failed: No "
		   "space left on device.\"}");
	(void)close(fd);
}

static void an_answer_can_follow_later(void **state)
{
	struct world *w = *state;
	int fd = client(w), other = client(w);

	ask(fd, "hold");
	serve(w);
	assert_int_equal(wire_server_again(w->server), 1);
	assert_false(has_answer(fd));
	ask(other, "any");
	serve(w);
	expect(other, "{\"v\":1,\"ok\":true}");
	w->held = false;
	assert_int_equal(wire_server_again(w->server), 0);
	expect(fd, "{\"v\":1,\"ok\":true,\"said\":\"at last\"}");
	assert_int_equal(w->dropped, 1);
	ask(fd, "any");
	serve(w);
	expect(fd, "{\"v\":1,\"ok\":true}");
	(void)close(fd);
	(void)close(other);
}

static void a_second_question_waits_for_the_first_answer(void **state)
{
	struct world *w = *state;
	int fd = client(w);

	ask(fd, "hold");
	ask(fd, "any");
	serve(w);
	assert_int_equal(w->asked, 1);
	w->held = false;
	assert_int_equal(wire_server_again(w->server), 0);
	expect(fd, "{\"v\":1,\"ok\":true,\"said\":\"at last\"}");
	serve(w);
	expect(fd, "{\"v\":1,\"ok\":true}");
	(void)close(fd);
}

static void a_client_that_hangs_up_takes_its_question_along(void **state)
{
	struct world *w = *state;
	int fd = client(w);

	ask(fd, "hold");
	serve(w);
	(void)close(fd);
	serve(w);
	assert_int_equal(w->dropped, 1);
	assert_int_equal(wire_server_again(w->server), 0);
	fd = client(w);
	ask(fd, "any");
	serve(w);
	expect(fd, "{\"v\":1,\"ok\":true}");
	(void)close(fd);
}

static void a_client_that_hung_up_unseen_is_not_answered(void **state)
{
	struct world *w = *state;
	int fd = client(w);

	ask(fd, "hold");
	serve(w);
	(void)close(fd);
	w->held = false;
	assert_int_equal(wire_server_again(w->server), 0);
	assert_int_equal(w->dropped, 1);
	serve(w);
	fd = client(w);
	(void)close(fd);
}

static void all_clients_can_wait_at_once(void **state)
{
	struct world *w = *state;
	int fds[SP_CLIENTS_MAX], one_more;

	for (int i = 0; i < SP_CLIENTS_MAX; i++) {
		fds[i] = client(w);
		ask(fds[i], "hold");
	}
	serve(w);
	assert_int_equal(wire_server_again(w->server), SP_CLIENTS_MAX);
	/* It is accepted when one of them has left. */
	one_more = raw_connect(w->path);
	raw_greet(one_more, SP_REQ);
	serve(w);
	assert_false(has_answer(one_more));
	(void)close(fds[7]);
	serve(w);
	assert_int_equal(raw_greeted(one_more), SP_REP);
	w->held = false;
	assert_int_equal(wire_server_again(w->server), 0);
	for (int i = 0; i < SP_CLIENTS_MAX; i++) {
		if (i == 7)
			continue;
		expect(fds[i], "{\"v\":1,\"ok\":true,\"said\":\"at last\"}");
		(void)close(fds[i]);
	}
	assert_int_equal(w->dropped, SP_CLIENTS_MAX);
	(void)close(one_more);
}

static void a_slow_client_delays_nobody(void **state)
{
	struct world *w = *state;
	int slow = client(w), other = client(w);

	/* More than a socket holds, and not read. */
	ask(slow, "much");
	serve(w);
	for (int i = 0; i < 10; i++) {
		ask(other, "any");
		serve(w);
		expect(other, "{\"v\":1,\"ok\":true}");
	}
	(void)close(slow);
	(void)close(other);
}

static void a_server_that_ends_drops_what_waits(void **state)
{
	struct world *w = *state;
	int fd = client(w);

	ask(fd, "hold");
	serve(w);
	(void)close(fd);
	wire_server_free(w->server);
	w->server = NULL;
	assert_int_equal(w->dropped, 1);
}

/* The other side of it: a caller that does not wait. */
static void a_call_is_stepped_until_its_answer_is_there(void **state)
{
	struct world *w = *state;
	struct wire_call *c = NULL;
	cJSON *got = NULL;

	assert_int_equal(wire_call_new(w->path, "hold", NULL, &c), 0);
	serve(w);
	assert_int_equal(wire_call_step(c, &got), -EAGAIN);
	assert_int_equal(wire_call_poll(c).events, POLLIN);
	serve(w);
	w->held = false;
	(void)wire_server_again(w->server);
	while (wire_call_step(c, &got) == -EAGAIN)
		serve(w);
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(got, "said")),
		"at last");
	cJSON_Delete(got);
	wire_call_free(c);
	assert_int_equal(wire_call_new("/no/such", "any", NULL, &c),
			 -ECONNREFUSED);
}

static void a_call_to_a_server_that_ends_is_reset(void **state)
{
	struct world *w = *state;
	struct wire_call *c = NULL;
	cJSON *got = NULL;
	int r;

	assert_int_equal(wire_call_new(w->path, "hold", NULL, &c), 0);
	serve(w);
	wire_server_free(w->server);
	w->server = NULL;
	while ((r = wire_call_step(c, &got)) == -EAGAIN)
		continue;
	assert_int_equal(r, -ECONNRESET);
	wire_call_free(c);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_question_is_answered_by_the_callers_thread),
		CASE(an_answer_can_follow_later),
		CASE(a_second_question_waits_for_the_first_answer),
		CASE(a_client_that_hangs_up_takes_its_question_along),
		CASE(a_client_that_hung_up_unseen_is_not_answered),
		CASE(all_clients_can_wait_at_once),
		CASE(a_slow_client_delays_nobody),
		CASE(a_server_that_ends_drops_what_waits),
		CASE(a_call_is_stepped_until_its_answer_is_there),
		CASE(a_call_to_a_server_that_ends_is_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
