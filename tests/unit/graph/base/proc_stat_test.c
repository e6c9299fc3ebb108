#include "graph/base/proc_stat.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FIELDS "T 41 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 777 23\n"

static void a_name_may_contain_what_ends_it(void **state)
{
	static const char text[] = "42 (a) R 1 (b) " FIELDS;
	struct proc_stat st;

	(void)state;
	assert_int_equal(proc_stat_parse(text, &st), 0);
	assert_int_equal(st.comm_len, strlen("a) R 1 (b"));
	assert_memory_equal(st.comm, "a) R 1 (b", st.comm_len);
	assert_int_equal(st.state, 'T');
	assert_int_equal(st.ppid, 41);
	assert_int_equal(st.start, 777);
}

static void what_is_cut_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "42 (a", "42 a) S 1", "42 (a)", "42 (a) S 1 2 3", ")("
	};
	struct proc_stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(proc_stat_parse(texts[i], &st), -EBADMSG);
}

static void our_own_is_read(void **state)
{
	struct proc_stat st;

	(void)state;
	assert_int_equal(proc_stat_read(getpid(), &st), 0);
	assert_int_equal(st.ppid, getppid());
	assert_int_equal(st.state, 'R');
	assert_true(st.start > 0);
	assert_null(st.comm);
}

static void who_is_not_there_has_none(void **state)
{
	struct proc_stat st;

	(void)state;
	assert_int_equal(proc_stat_read(INT32_MAX, &st), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_may_contain_what_ends_it),
		cmocka_unit_test(what_is_cut_is_refused),
		cmocka_unit_test(our_own_is_read),
		cmocka_unit_test(who_is_not_there_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
