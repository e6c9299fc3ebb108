#include "tape/care.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/scratch.h"

static const struct tree_stamp stamp = { .size = 7, .mtime_ns = 9 };

/* A process that ends by `number` while at work on `path` ("": on none). */
static void die(int dir_fd, const char *path, int number)
{
	struct care *c = NULL;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_DUMPABLE, 0);
		if (care_open(dir_fd, &c) < 0)
			_exit(1);
		if (*path)
			care_begin(path, &stamp);
		(void)raise(number);
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), number);
}

static bool avoids(int dir_fd, const char *path, uint64_t size)
{
	struct tree_stamp st = { .size = size, .mtime_ns = 9 };
	struct care *c = NULL;
	bool is;

	assert_int_equal(care_open(dir_fd, &c), 0);
	is = care_avoids(c, path, &st);
	care_free(c);
	return is;
}

static void a_file_that_crashed_us_twice_is_left_alone(void **state)
{
	char *dir = scratch_new();
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	(void)state;
	die(fd, "a.py", SIGABRT);
	assert_false(avoids(fd, "a.py", 7));
	die(fd, "a.py", SIGSEGV);
	assert_true(avoids(fd, "a.py", 7));
	assert_false(avoids(fd, "b.py", 7));
	/* Until it changes. */
	assert_false(avoids(fd, "a.py", 8));
	(void)close(fd);
	scratch_free(dir);
}

static void to_be_killed_is_no_crash(void **state)
{
	char *dir = scratch_new();
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	(void)state;
	for (int i = 0; i < 3; i++) {
		die(fd, "a.py", SIGKILL);
		die(fd, "", SIGABRT);
	}
	assert_false(avoids(fd, "a.py", 7));
	(void)close(fd);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_crashed_us_twice_is_left_alone),
		cmocka_unit_test(to_be_killed_is_no_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
