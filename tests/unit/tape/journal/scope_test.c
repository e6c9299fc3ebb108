#include "tape/journal/scope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void files_are_on_the_tape_unless_a_tool_keeps_them(void **state)
{
	(void)state;
	assert_int_equal(scope_of("a.py"), SCOPE_FULL);
	assert_int_equal(scope_of("src/.hidden/x"), SCOPE_FULL);
	assert_int_equal(scope_of(".gitignore"), SCOPE_FULL);
	assert_int_equal(scope_of(".git/index"), SCOPE_NONE);
	assert_int_equal(scope_of(".git/objects/ab/cd"), SCOPE_NONE);
	assert_int_equal(scope_of("sub/.git/HEAD"), SCOPE_NONE);
	assert_int_equal(scope_of("a/__pycache__/b.cpython-311.pyc"),
			 SCOPE_NONE);
	assert_int_equal(scope_of("a/b.pyc"), SCOPE_NONE);
	assert_int_equal(scope_of("a/b.pyc.txt"), SCOPE_FULL);
}

static void what_git_runs_and_whom_it_trusts_is_on_the_tape(void **state)
{
	(void)state;
	assert_int_equal(scope_of(".git/hooks/pre-commit"), SCOPE_FULL);
	assert_int_equal(scope_of(".git/config"), SCOPE_FULL);
	assert_int_equal(scope_of(".git/config.lock"), SCOPE_NONE);
	assert_int_equal(scope_of("sub/.git/info/exclude"), SCOPE_FULL);
}

static void packages_of_others_have_no_contents(void **state)
{
	(void)state;
	assert_int_equal(scope_of("node_modules/a/b.js"), SCOPE_HASH);
	assert_int_equal(scope_of("web/node_modules/a/b.js"), SCOPE_HASH);
	assert_int_equal(scope_of("node_modules.txt"), SCOPE_FULL);
}

static void only_directories_with_something_in_scope_are_entered(void **state)
{
	(void)state;
	assert_true(scope_enters(""));
	assert_true(scope_enters("src"));
	assert_true(scope_enters(".git"));
	assert_true(scope_enters("sub/.git"));
	assert_true(scope_enters(".git/hooks"));
	assert_false(scope_enters(".git/objects"));
	assert_false(scope_enters("a/__pycache__"));
	assert_false(scope_enters(".svn"));
	assert_true(scope_enters("node_modules"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			files_are_on_the_tape_unless_a_tool_keeps_them),
		cmocka_unit_test(
			what_git_runs_and_whom_it_trusts_is_on_the_tape),
		cmocka_unit_test(packages_of_others_have_no_contents),
		cmocka_unit_test(
			only_directories_with_something_in_scope_are_entered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
