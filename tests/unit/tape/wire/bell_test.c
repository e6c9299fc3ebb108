#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tape/wire/bell.h"
#include "tape/wire/sp.h"
#include "tests/support/scratch.h"
#include "tests/support/sp_raw.h"

#define PATIENCE_MS 20000

struct world {
	char *dir;
	char *path;
	struct bell *bell;
	struct bell_ear *ear;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->dir = scratch_new();
	assert_non_null(w->dir);
	assert_true(asprintf(&w->path, "%s/bell", w->dir) > 0);
	*state = w;
	return 0;
}

static int setup_bell(void **state)
{
	struct world *w;

	(void)setup(state);
	w = *state;
	assert_int_equal(bell_open(w->path, &w->bell), 0);
	return 0;
}

/* A bell that was rung once, and an ear that received it. */
static int setup_both(void **state)
{
	struct world *w;
	uint64_t head = 0;

	(void)setup_bell(state);
	w = *state;
	bell_ring(w->bell, 1);
	assert_int_equal(bell_ear_open(w->path, &w->ear), 0);
	assert_int_equal(bell_ear_wait(w->ear, PATIENCE_MS, &head), 0);
	assert_int_equal(head, 1);
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	bell_ear_free(w->ear);
	bell_free(w->bell);
	scratch_free(w->dir);
	free(w->path);
	free(w);
	return 0;
}

/* Heads received before `want` may be smaller, but never larger. */
static void expect_head(struct bell_ear *e, uint64_t want)
{
	uint64_t head = 0;

	while (head < want)
		assert_int_equal(bell_ear_wait(e, PATIENCE_MS, &head), 0);
	assert_int_equal(head, want);
}

static void an_ear_that_comes_late_is_told_the_head(void **state)
{
	struct world *w = *state;

	bell_ring(w->bell, 7);
	assert_int_equal(bell_ear_open(w->path, &w->ear), 0);
	expect_head(w->ear, 7);
}

static void a_ring_reaches_an_ear_that_is_there(void **state)
{
	struct world *w = *state;

	bell_ring(w->bell, 2);
	expect_head(w->ear, 2);
	bell_ring(w->bell, UINT64_MAX);
	expect_head(w->ear, UINT64_MAX);
}

static void all_ears_hear(void **state)
{
	struct world *w = *state;
	struct bell_ear *more[5];

	for (size_t i = 0; i < 5; i++)
		assert_int_equal(bell_ear_open(w->path, &more[i]), 0);
	bell_ring(w->bell, 2);
	expect_head(w->ear, 2);
	for (size_t i = 0; i < 5; i++) {
		expect_head(more[i], 2);
		bell_ear_free(more[i]);
	}
}

static void the_head_does_not_run_backwards(void **state)
{
	struct world *w = *state;

	bell_ring(w->bell, 9);
	bell_ring(w->bell, 3);
	expect_head(w->ear, 9);
	bell_ring(w->bell, 10);
	expect_head(w->ear, 10);
}

static void silence_is_a_timeout(void **state)
{
	struct world *w = *state;
	uint64_t head = 42;

	assert_int_equal(bell_ear_wait(w->ear, 0, &head), -ETIMEDOUT);
	assert_int_equal(bell_ear_wait(w->ear, 5, &head), -ETIMEDOUT);
	assert_int_equal(head, 42);
}

static void a_bell_never_rung_says_nothing(void **state)
{
	struct world *w = *state;
	uint64_t head;

	assert_int_equal(bell_ear_open(w->path, &w->ear), 0);
	assert_int_equal(bell_ear_wait(w->ear, 30, &head), -ETIMEDOUT);
}

static void an_ear_may_be_there_before_the_bell(void **state)
{
	struct world *w = *state;
	uint64_t head;

	assert_int_equal(bell_ear_open(w->path, &w->ear), 0);
	assert_int_equal(bell_ear_wait(w->ear, 5, &head), -ETIMEDOUT);
	assert_int_equal(bell_open(w->path, &w->bell), 0);
	bell_ring(w->bell, 5);
	expect_head(w->ear, 5);
}

static void an_ear_finds_a_bell_that_comes_again(void **state)
{
	struct world *w = *state;

	for (uint64_t n = 2; n < 5; n++) {
		bell_free(w->bell);
		w->bell = NULL;
		assert_int_equal(bell_open(w->path, &w->bell), 0);
		bell_ring(w->bell, n);
		expect_head(w->ear, n);
	}
}

/* The bell ends in the middle of a burst, while no ear waits. */
static void the_last_ring_is_heard_after_the_bell_has_gone(void **state)
{
	struct world *w = *state;

	for (uint64_t n = 2; n <= 1000; n++)
		bell_ring(w->bell, n);
	bell_free(w->bell);
	w->bell = NULL;
	expect_head(w->ear, 1000);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* An ear by hand, which sees every message. */
static int raw_ear(const char *path)
{
	int fd = raw_connect(path);

	raw_greet(fd, SP_SUB);
	assert_int_equal(raw_greeted(fd), SP_PUB);
	return fd;
}

static uint64_t raw_head(int fd)
{
	char room[64];

	assert_true(raw_recv(fd, room, sizeof(room)) > 0);
	return strtoull(room, NULL, 10);
}

/* Messages are 200 us apart or more, so their number is bounded by time. */
static void a_burst_is_told_in_few_messages(void **state)
{
	struct world *w = *state;
	int ear = raw_ear(w->path);
	int64_t start = clock_ns(CLOCK_MONOTONIC);
	uint64_t messages = 0;
	const uint64_t last = 200000;

	for (uint64_t n = 2; n <= last; n++)
		bell_ring(w->bell, n);
	while (raw_head(ear) < last)
		messages++;
	assert_true(messages <=
		    2 + (uint64_t)(clock_ns(CLOCK_MONOTONIC) - start) / 200000);
	(void)close(ear);
}

static void an_idle_bell_uses_no_cpu(void **state)
{
	struct world *w = *state;
	int64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int64_t wall = clock_ns(CLOCK_MONOTONIC);
	uint64_t head;

	assert_int_equal(bell_ear_wait(w->ear, 200, &head), -ETIMEDOUT);
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = clock_ns(CLOCK_MONOTONIC) - wall;
	assert_true(cpu < wall / 4);
}

/* It reads nothing until its buffers are full, and then everything. */
static void a_slow_ear_hears_the_last_head_too(void **state)
{
	struct world *w = *state;
	int slow = raw_ear(w->path);
	uint64_t last = 1;
	uint64_t head = 0;
	uint64_t next;

	for (int i = 0; i < 600; i++) {
		bell_ring(w->bell, ++last);
		expect_head(w->ear, last);
	}
	while (head < last) {
		next = raw_head(slow);
		assert_true(next > head);
		head = next;
	}
	assert_int_equal(head, last);
	(void)close(slow);
}

/* nng's own listener does not survive this. */
static void ears_that_leave_while_they_come_harm_nobody(void **state)
{
	struct world *w = *state;
	struct bell_ear *brief;

	for (int i = 0; i < 100; i++) {
		assert_int_equal(bell_ear_open(w->path, &brief), 0);
		bell_ear_free(brief);
		(void)close(raw_connect(w->path));
	}
	bell_ring(w->bell, 2);
	expect_head(w->ear, 2);
	assert_int_equal(bell_ear_open(w->path, &brief), 0);
	expect_head(brief, 2);
	bell_ear_free(brief);
}

/* The test is the bell; the ear's connection waits to be accepted. */
static int answer_the_door(int listener)
{
	int fd = accept(listener, NULL, NULL);

	assert_true(fd >= 0);
	raw_greet(fd, SP_PUB);
	return fd;
}

static void what_is_no_number_is_not_heard(void **state)
{
	struct world *w = *state;
	const char *said[] = { "",
			       "ring",
			       "-1",
			       "12 monkeys",
			       " 7",
			       "99999999999999999999",
			       "more than any number could ever be" };
	int listener = raw_listen(w->path);
	uint64_t head = 0;
	int fd;

	assert_int_equal(bell_ear_open(w->path, &w->ear), 0);
	fd = answer_the_door(listener);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		raw_send(fd, said[i], strlen(said[i]));
	assert_int_equal(bell_ear_wait(w->ear, 5, &head), -ETIMEDOUT);
	raw_send(fd, "5", 1);
	expect_head(w->ear, 5);
	(void)close(fd);
	(void)close(listener);
}

static void a_message_may_come_in_pieces(void **state)
{
	struct world *w = *state;
	int listener = raw_listen(w->path);
	uint64_t head = 0;
	int fd;

	assert_int_equal(bell_ear_open(w->path, &w->ear), 0);
	fd = answer_the_door(listener);
	raw_send_head(fd, 3);
	raw_write(fd, "12", 2);
	assert_int_equal(bell_ear_wait(w->ear, 5, &head), -ETIMEDOUT);
	raw_write(fd, "3", 1);
	expect_head(w->ear, 123);
	(void)close(fd);
	(void)close(listener);
}

static void of_many_rings_an_ear_takes_the_last(void **state)
{
	struct world *w = *state;
	int listener = raw_listen(w->path);
	uint64_t head = 0;
	int fd;

	assert_int_equal(bell_ear_open(w->path, &w->ear), 0);
	fd = answer_the_door(listener);
	raw_send(fd, "1", 1);
	raw_send(fd, "2", 1);
	raw_send(fd, "3", 1);
	assert_int_equal(bell_ear_wait(w->ear, PATIENCE_MS, &head), 0);
	assert_int_equal(head, 3);
	(void)close(fd);
	(void)close(listener);
}

struct door {
	int listener;
	int came;
};

static void *slam_the_door(void *arg)
{
	struct door *d = arg;
	int fd;

	while ((fd = accept(d->listener, NULL, NULL)) >= 0) {
		(void)close(fd);
		d->came++;
	}
	return NULL;
}

/* An ear that came again at once would come thousands of times. */
static void a_bell_that_hangs_up_is_left_alone_for_a_while(void **state)
{
	struct world *w = *state;
	struct door d = { .listener = raw_listen(w->path) };
	pthread_t slammer;
	uint64_t head;

	assert_int_equal(pthread_create(&slammer, NULL, slam_the_door, &d), 0);
	assert_int_equal(bell_ear_open(w->path, &w->ear), 0);
	assert_int_equal(bell_ear_wait(w->ear, 100, &head), -ETIMEDOUT);
	(void)shutdown(d.listener, SHUT_RDWR);
	(void)pthread_join(slammer, NULL);
	assert_in_range(d.came, 1, 20);
	(void)close(d.listener);
}

static void the_socket_is_closed_to_others(void **state)
{
	struct world *w = *state;
	struct stat st;

	assert_int_equal(stat(w->path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_dead_bells_socket_is_replaced(void **state)
{
	struct world *w = *state;

	(void)close(raw_listen(w->path));
	assert_int_equal(bell_open(w->path, &w->bell), 0);
	bell_ring(w->bell, 3);
	assert_int_equal(bell_ear_open(w->path, &w->ear), 0);
	expect_head(w->ear, 3);
}

static void a_living_bells_socket_is_not_replaced(void **state)
{
	struct world *w = *state;
	struct bell *second = NULL;

	assert_int_equal(bell_open(w->path, &second), -EADDRINUSE);
	assert_null(second);
	bell_ring(w->bell, 2);
	expect_head(w->ear, 2);
}

static void a_path_too_long_for_a_socket_is_an_error(void **state)
{
	char deep[200];
	struct bell *b = NULL;
	struct bell_ear *e = NULL;

	(void)state;
	memset(deep, 'd', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(bell_open(deep, &b), -ENAMETOOLONG);
	assert_int_equal(bell_ear_open(deep, &e), -ENAMETOOLONG);
	bell_free(NULL);
	bell_ear_free(NULL);
}

#define TEST(f, s) cmocka_unit_test_setup_teardown(f, s, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_ear_that_comes_late_is_told_the_head, setup_bell),
		TEST(a_ring_reaches_an_ear_that_is_there, setup_both),
		TEST(all_ears_hear, setup_both),
		TEST(the_head_does_not_run_backwards, setup_both),
		TEST(silence_is_a_timeout, setup_both),
		TEST(a_bell_never_rung_says_nothing, setup_bell),
		TEST(an_ear_may_be_there_before_the_bell, setup),
		TEST(an_ear_finds_a_bell_that_comes_again, setup_both),
		TEST(the_last_ring_is_heard_after_the_bell_has_gone,
		     setup_both),
		TEST(a_burst_is_told_in_few_messages, setup_both),
		TEST(an_idle_bell_uses_no_cpu, setup_both),
		TEST(a_slow_ear_hears_the_last_head_too, setup_both),
		TEST(ears_that_leave_while_they_come_harm_nobody, setup_both),
		TEST(what_is_no_number_is_not_heard, setup),
		TEST(a_message_may_come_in_pieces, setup),
		TEST(of_many_rings_an_ear_takes_the_last, setup),
		TEST(a_bell_that_hangs_up_is_left_alone_for_a_while, setup),
		TEST(the_socket_is_closed_to_others, setup_bell),
		TEST(a_dead_bells_socket_is_replaced, setup),
		TEST(a_living_bells_socket_is_not_replaced, setup_both),
		TEST(a_path_too_long_for_a_socket_is_an_error, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
