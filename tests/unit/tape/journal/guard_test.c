#include "tape/journal/guard.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGES 4

static size_t page_size;

/* A mapping whose file is empty: any access is a fault. */
static char *map_nothing(void)
{
	int fd = memfd_create("nothing", MFD_CLOEXEC);
	void *map;

	assert_true(fd >= 0);
	map = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	(void)close(fd);
	return map;
}

static void a_fault_in_a_watched_mapping_is_survived_and_reported(void **state)
{
	struct journal_guard *g;
	char *map = map_nothing();

	(void)state;
	assert_int_equal(journal_guard_new(&g), 0);
	journal_guard_watch(g, map, PAGES * page_size);
	assert_false(journal_guard_hit(g));
	map[page_size + 10] = 'x';
	assert_true(journal_guard_hit(g));
	assert_int_equal(map[page_size + 10], 'x');
	/* The last byte of the last page too. */
	map[PAGES * page_size - 1] = 'y';
	assert_int_equal(map[PAGES * page_size - 1], 'y');

	journal_guard_watch(g, NULL, 0);
	assert_false(journal_guard_hit(g));
	journal_guard_free(g);
	(void)munmap(map, PAGES * page_size);
}

static void only_the_guard_of_the_mapping_reports_a_hit(void **state)
{
	struct journal_guard *mine, *other;
	char *map = map_nothing(), *map2 = map_nothing();

	(void)state;
	assert_int_equal(journal_guard_new(&mine), 0);
	assert_int_equal(journal_guard_new(&other), 0);
	journal_guard_watch(mine, map, PAGES * page_size);
	journal_guard_watch(other, map2, PAGES * page_size);
	*map = 'x';
	assert_true(journal_guard_hit(mine));
	assert_false(journal_guard_hit(other));
	journal_guard_free(mine);
	journal_guard_free(other);
	(void)munmap(map, PAGES * page_size);
	(void)munmap(map2, PAGES * page_size);
}

/* Assert that a child that runs `act` dies of SIGBUS. */
static void expect_death(void (*act)(void))
{
	const struct rlimit no_core = { 0, 0 };
	int status;
	pid_t child = fork();

	if (child == 0) {
		(void)setrlimit(RLIMIT_CORE, &no_core);
		/* cmocka's handler would continue with the tests. */
		(void)signal(SIGBUS, SIG_DFL);
		/* Silences the expected report of a sanitizer. */
		(void)freopen("/dev/null", "w", stderr);
		act();
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	/* The previous handler may be a sanitizer's. */
	assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS
					: WEXITSTATUS(status) != 0);
}

static void fault_elsewhere(void)
{
	struct journal_guard *g;
	volatile char *foreign = map_nothing();
	char *map = map_nothing();

	if (journal_guard_new(&g) < 0)
		_exit(0);
	journal_guard_watch(g, map, PAGES * page_size);
	*foreign = 'x';
}

static void a_fault_elsewhere_is_fatal(void **state)
{
	(void)state;
	expect_death(fault_elsewhere);
}

static void fault_behind(void)
{
	struct journal_guard *g;
	char *map = map_nothing();
	volatile char *behind = map + page_size;

	if (journal_guard_new(&g) < 0)
		_exit(0);
	journal_guard_watch(g, map, page_size);
	*behind = 'x';
}

static void a_fault_behind_what_is_watched_is_fatal(void **state)
{
	(void)state;
	expect_death(fault_behind);
}

static void send_sigbus(void)
{
	struct journal_guard *g;

	if (journal_guard_new(&g) < 0)
		_exit(0);
	(void)raise(SIGBUS);
}

static void a_sigbus_that_was_sent_is_fatal(void **state)
{
	(void)state;
	expect_death(send_sigbus);
}

static void guards_run_out_and_come_back(void **state)
{
	struct journal_guard *taken[64];
	size_t n = 0;
	int r;

	(void)state;
	while ((r = journal_guard_new(&taken[n])) == 0) {
		n++;
		assert_true(n < 64);
	}
	assert_int_equal(r, -EMFILE);
	journal_guard_free(taken[--n]);
	assert_int_equal(journal_guard_new(&taken[n]), 0);
	n++;
	while (n > 0)
		journal_guard_free(taken[--n]);
	journal_guard_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_fault_in_a_watched_mapping_is_survived_and_reported),
		cmocka_unit_test(only_the_guard_of_the_mapping_reports_a_hit),
		cmocka_unit_test(a_fault_elsewhere_is_fatal),
		cmocka_unit_test(a_fault_behind_what_is_watched_is_fatal),
		cmocka_unit_test(a_sigbus_that_was_sent_is_fatal),
		cmocka_unit_test(guards_run_out_and_come_back),
	};

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
