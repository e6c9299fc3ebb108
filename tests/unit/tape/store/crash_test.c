/*
 * A writer is killed at any moment, or the disk fills up in the middle of a
 * transaction: everything that was committed is there, and nothing else.
 * STATETAPE_STRESS_SECONDS sets how long the killing goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/store_world.h"

#define ROUNDS 25

static int check_path(const struct entry *e, void *arg)
{
	char path[32];

	(void)arg;
	(void)snprintf(path, sizeof(path), "file%d", (int)e->n);
	assert_string_equal(e->path, path);
	return 0;
}

static void assert_sound(struct world *w)
{
	w->said[0] = '\0';
	(void)store_verify(w->s, world_found, w);
	assert_string_equal(w->said, "");
}

/* One to five entries and the position that goes with them. */
static int write_some(struct store *s)
{
	uint64_t n = store_head(s);
	char path[32], text[64];
	int rc = store_begin(s);

	for (uint64_t i = 0; rc == 0 && i < 1 + n % 5; i++) {
		struct entry e = change(path, NULL, text);
		struct store_file f = { .path = path };

		(void)snprintf(path, sizeof(path), "file%d", (int)(n + i + 1));
		(void)snprintf(text, sizeof(text), "text %d", (int)(n + i));
		e.after = f.hash = hash_of(text);
		rc = store_put_content(s, e.after, NULL, text, strlen(text));
		if (rc == 0)
			rc = store_append(s, &e);
		if (rc == 0)
			rc = store_put_file(s, &f);
	}
	if (rc == 0)
		rc = store_set_position(s, store_head(s) * 10);
	if (rc < 0) {
		store_abort(s);
		return rc;
	}
	return store_commit(s);
}

/* Writes forever, and reports each commit when it is done. */
static void writer(const char *path, int tell)
{
	struct store *s = NULL;
	uint64_t head;

	if (store_open(path, STORE_WRITE, &s, NULL) < 0)
		_exit(1);
	for (int i = 0; write_some(s) == 0; i++) {
		head = store_head(s);
		if (write(tell, &head, sizeof(head)) != sizeof(head))
			_exit(2);
		if (i % 7 == 6)
			(void)store_checkpoint(s);
	}
	_exit(3);
}

/* Kill a writer after `us` microseconds. Returns the last head it reported. */
static uint64_t kill_a_writer(struct world *w, unsigned us, uint64_t reported)
{
	struct timespec t = { .tv_nsec = (long)us * 1000 };
	uint64_t head;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(ends[0]);
		writer(w->path, ends[1]);
	}
	(void)close(ends[1]);
	/* Wait until it has begun to write. */
	if (us % 3 && read(ends[0], &head, sizeof(head)) == sizeof(head))
		reported = head;
	(void)nanosleep(&t, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(ends[0], &head, sizeof(head)) == sizeof(head))
		reported = head;
	(void)close(ends[0]);
	return reported;
}

/*
 * Everything that was reported, at most one transaction more, and no partial
 * one.
 */
static void look_after_it(struct world *w, enum store_mode mode,
			  uint64_t reported)
{
	uint64_t head;

	world_open(w, mode);
	head = store_head(w->s);
	assert_true(head >= reported && head <= reported + 5);
	assert_int_equal(store_position(w->s), head * 10);
	assert_int_equal(store_since(w->s, 0, SIZE_MAX, check_path, NULL), 0);
	assert_sound(w);
	world_close(w);
}

static void a_killed_writer_loses_nothing_committed(void **state)
{
	struct world *w = *state;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
	const char *text = getenv("STATETAPE_STRESS_SECONDS");
	time_t end = time(NULL) + (text ? strtol(text, NULL, 10) : 0);
	unsigned seed = (unsigned)getpid();
	uint64_t reported = 0;

	print_message("seed %u\n", seed);
	world_close(w);
	for (int i = 0; i < ROUNDS || (text && time(NULL) < end); i++) {
		seed = seed * 1103515245 + 12345;
		reported = kill_a_writer(w, (seed >> 8) % 20000, reported);
		/* A reader opens the log that the killed writer left. */
		look_after_it(w, STORE_READ, reported);
		if (i % 2)
			look_after_it(w, STORE_WRITE, reported);
		world_open(w, STORE_READ);
		reported = store_head(w->s);
		world_close(w);
	}
	print_message("%d entries\n", (int)reported);
}

/*
 * In a child, because the limit applies to a process: no file beyond `limit`
 * bytes.
 */
static void fill(struct world *w, rlim_t limit)
{
	struct rlimit r = { limit, limit };
	uint64_t head = 0;
	int rc = 0;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &r) < 0)
		_exit(10);
	for (int i = 0; rc == 0 && i < 100000; i++) {
		head = store_head(w->s);
		rc = write_some(w->s);
	}
	/* The store has its former state, and so does one opened anew. */
	if (rc != -EFBIG && rc != -ENOSPC && rc != -EIO)
		_exit(11);
	if (store_head(w->s) != head || store_position(w->s) != head * 10)
		_exit(12);
	if (store_verify(w->s, world_found, w) != 0)
		_exit(13);
	if (write_some(w->s) == 0)
		_exit(14);
	_exit(head > 0 ? 0 : 15);
}

static void a_full_disk_fails_the_transaction_as_a_whole(void **state)
{
	struct world *w = *state;
	int status;
	pid_t pid;

	world_close(w);
	for (rlim_t limit = 150000; limit < 1000000; limit += 170011) {
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			if (store_open(w->path, STORE_WRITE, &w->s, NULL) < 0)
				_exit(9);
			fill(w, limit);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		world_open(w, STORE_WRITE);
		assert_true(store_head(w->s) > 0);
		assert_int_equal(store_position(w->s), store_head(w->s) * 10);
		assert_sound(w);
		assert_int_equal(write_some(w->s), 0);
		world_close(w);
	}
}

static void readers_look_while_a_writer_writes(void **state)
{
	struct world *w = *state;
	int ends[2], status;
	uint64_t head, last = 0;
	pid_t pid;

	world_close(w);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(ends[0]);
		writer(w->path, ends[1]);
	}
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &head, sizeof(head)), sizeof(head));
	/*
	 * Read its pipe, which would fill up and block it, while the store is
	 * read.
	 */
	world_open(w, STORE_READ);
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 10; k++)
			assert_int_equal(read(ends[0], &head, sizeof(head)),
					 sizeof(head));
		assert_true(store_head(w->s) >= head);
		assert_true(store_head(w->s) >= last);
		last = store_head(w->s);
		assert_int_equal(
			store_since(w->s, last - 5, 5, check_path, NULL), 0);
		if (i % 5 == 0)
			assert_sound(w);
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(ends[0]);
	assert_sound(w);
}

#define T(test) \
	cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_killed_writer_loses_nothing_committed),
		T(a_full_disk_fails_the_transaction_as_a_whole),
		T(readers_look_while_a_writer_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
