#include "tape/journal/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/scratch.h"

static char *scratch;
static int dir_fd = -1;

static int set_up(void **state)
{
	(void)state;
	scratch = scratch_new();
	if (!scratch)
		return -1;
	dir_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)close(dir_fd);
	scratch_free(scratch);
	return 0;
}

static struct progress *opened(void)
{
	struct progress *p = NULL;

	assert_int_equal(progress_open(dir_fd, &p), 0);
	return p;
}

static void a_new_page_says_that_no_tape_has_read(void **state)
{
	struct progress *p = opened();
	struct stat st;

	(void)state;
	assert_int_equal(progress_line(p), 0);
	assert_int_equal(progress_outside_ns(p), 0);
	assert_int_equal(fstatat(dir_fd, "progress", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	progress_free(p);
}

static void another_process_sees_what_is_stored(void **state)
{
	struct progress *p = opened();
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0) {
		struct progress *other;

		if (progress_open(dir_fd, &other) < 0)
			_exit(1);
		progress_set_line(other, 42);
		progress_set_outside_ns(other, UINT64_C(1) << 60);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(progress_line(p), 42);
	assert_int_equal(progress_outside_ns(p), UINT64_C(1) << 60);
	progress_free(p);
}

static void the_page_outlives_the_processes_that_use_it(void **state)
{
	struct progress *p = opened();

	(void)state;
	progress_set_line(p, 7);
	progress_free(p);
	p = opened();
	assert_int_equal(progress_line(p), 7);
	progress_free(p);
}

static void a_page_of_another_layout_is_begun_anew(void **state)
{
	struct progress *p = opened();
	int fd = openat(dir_fd, "progress", O_WRONLY | O_CLOEXEC);

	(void)state;
	progress_set_line(p, 7);
	progress_free(p);
	assert_int_equal(pwrite(fd, "another", 7, 0), 7);
	(void)close(fd);
	p = opened();
	assert_int_equal(progress_line(p), 0);
	progress_free(p);
}

static void lines_that_the_journal_lost_are_not_read(void **state)
{
	struct progress *p = opened();

	(void)state;
	progress_set_line(p, 100);
	progress_begin(p, 120);
	assert_int_equal(progress_line(p), 100);
	progress_begin(p, 60);
	assert_int_equal(progress_line(p), 60);
	progress_free(p);
}

static void a_page_that_is_truncated_says_that_no_tape_has_read(void **state)
{
	struct progress *p = opened();
	int fd = openat(dir_fd, "progress", O_WRONLY | O_CLOEXEC);

	(void)state;
	progress_set_line(p, 100);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(progress_line(p), 0);
	progress_set_line(p, 3);
	assert_int_equal(progress_line(p), 3);
	(void)close(fd);
	progress_free(p);
}

static void a_link_in_its_place_is_refused(void **state)
{
	struct progress *p = NULL;

	(void)state;
	assert_int_equal(symlinkat("elsewhere", dir_fd, "progress"), 0);
	assert_int_equal(progress_open(dir_fd, &p), -ELOOP);
	assert_null(p);
	progress_free(p);
}

static void operations_drain_behind_a_turn(void **state)
{
	struct progress *p = opened();
	unsigned before = progress_enter(p), old, after;

	(void)state;
	old = progress_turn(p);
	assert_int_equal(old, before);
	assert_false(progress_drained(p, old));
	after = progress_enter(p);
	assert_int_not_equal(after, before);
	progress_leave(p, before);
	assert_true(progress_drained(p, old));
	assert_false(progress_drained(p, after));
	progress_leave(p, after);
	progress_free(p);
}

static void a_process_that_died_leaves_nothing_in_flight(void **state)
{
	struct progress *p = opened();
	pid_t pid;
	int status, ready[2];
	char byte;

	(void)state;
	assert_int_equal(progress_server(p), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct progress *mine = NULL;

		if (progress_open(dir_fd, &mine) < 0 ||
		    progress_serve(mine) < 0)
			_exit(1);
		(void)progress_enter(mine);
		(void)!write(ready[1], "", 1);
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(progress_server(p), pid);
	assert_int_equal(progress_serve(p), -EAGAIN);
	assert_false(progress_drained(p, progress_turn(p)));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(progress_server(p), 0);
	assert_int_equal(progress_serve(p), 0);
	assert_true(progress_drained(p, 0) && progress_drained(p, 1));
	(void)close(ready[0]);
	(void)close(ready[1]);
	progress_free(p);
}

static void a_page_that_is_truncated_tells_of_no_operation(void **state)
{
	struct progress *server = opened(), *p = opened();
	int fd = openat(dir_fd, "progress", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(progress_serve(server), 0);
	assert_int_equal(progress_server(p), getpid());
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(progress_server(p), -1);
	(void)close(fd);
	progress_free(server);
	progress_free(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_page_says_that_no_tape_has_read),
		TEST(another_process_sees_what_is_stored),
		TEST(the_page_outlives_the_processes_that_use_it),
		TEST(a_page_of_another_layout_is_begun_anew),
		TEST(lines_that_the_journal_lost_are_not_read),
		TEST(a_page_that_is_truncated_says_that_no_tape_has_read),
		TEST(a_link_in_its_place_is_refused),
		TEST(operations_drain_behind_a_turn),
		TEST(a_process_that_died_leaves_nothing_in_flight),
		TEST(a_page_that_is_truncated_tells_of_no_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
