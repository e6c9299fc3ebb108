#include "tape/query/credit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CALLS(...)                   \
	(const struct credit_call[]) \
	{                            \
		__VA_ARGS__          \
	}
#define COUNT(...) (sizeof(CALLS(__VA_ARGS__)) / sizeof(struct credit_call))
/* The command lines of the processes below the agent, the author's first. */
#define LINES(...)            \
	(const char *const[]) \
	{                     \
		__VA_ARGS__   \
	}

/* clang-format off */
#define SHELL(text) { text, "", true }
#define PAST(text)  { text, "", false }
#define EDIT(text)  { "", text, true }
#define OTHER       { "", "", true }
/* clang-format on */

static size_t choose(const char *path, const char *const *lines, size_t count,
		     const struct credit_call *calls, size_t calls_count)
{
	struct credit_entry e = { path, NULL, lines, count };

	return credit_choose(&e, calls, calls_count);
}

#define RUN_OF(lines, n, ...) \
	choose("a", lines, n, CALLS(__VA_ARGS__), COUNT(__VA_ARGS__))
#define EDIT_OF(path, ...) \
	choose(path, NULL, 0, CALLS(__VA_ARGS__), COUNT(__VA_ARGS__))

static void a_command_line_tells_parallel_commands_apart(void **state)
{
	const char *const *lines = LINES(
		"sed -i s/a/b/ x", "bash -c eval 'sed -i s/a/b/ x; make' < x");

	(void)state;
	assert_int_equal(RUN_OF(lines, 2, SHELL("pytest"),
				SHELL("sed -i s/a/b/ x; make")),
			 1);
	assert_int_equal(
		RUN_OF(lines, 2, SHELL("make"), SHELL("sed -i s/a/b/ x; make")),
		1);
}

static void quotes_and_blanks_of_wrappers_do_not_count(void **state)
{
	const char *const *lines =
		LINES("/bin/bash -c eval 'echo '\\''two words'\\'' > f' \\< n");

	(void)state;
	assert_int_equal(
		RUN_OF(lines, 1, SHELL("echo 'two words'\n > f"), SHELL("ls")),
		0);
}

static void the_same_command_twice_is_no_calls(void **state)
{
	(void)state;
	assert_int_equal(RUN_OF(LINES("sh -c make it"), 1, SHELL("make it"),
				SHELL("make it")),
			 CREDIT_NONE);
}

static void the_only_shell_call_needs_no_command_line(void **state)
{
	(void)state;
	assert_int_equal(RUN_OF(LINES("sed -i s/a/b/ x", "bash"), 2, EDIT("a"),
				SHELL("cd d; ./do")),
			 1);
	assert_int_equal(RUN_OF(LINES("bash"), 1, SHELL("one"), SHELL("two")),
			 CREDIT_NONE);
	/* A server that the agent keeps does the work of an unknown tool. */
	assert_int_equal(RUN_OF(LINES("mcp-server"), 1, EDIT("a"), OTHER), 1);
}

static void a_process_that_goes_on_is_its_own_calls(void **state)
{
	const char *const *lines = LINES("node build.js", "sh -c npm run dev");

	(void)state;
	assert_int_equal(
		RUN_OF(lines, 2, SHELL("echo x > f"), PAST("npm run dev")), 1);
	/* Only by the process that the agent itself started. */
	assert_int_equal(RUN_OF(LINES("echo x y z", "bash"), 2, SHELL("./go"),
				PAST("echo x y z")),
			 0);
	/* A short word may stand in any command line. */
	assert_int_equal(RUN_OF(lines, 2, SHELL("./go"), PAST("npm")), 0);
}

static void what_the_agent_writes_is_told_by_the_path(void **state)
{
	(void)state;
	assert_int_equal(EDIT_OF("a", EDIT("b"), EDIT("a"), SHELL("ls")), 1);
	assert_int_equal(EDIT_OF("d/b", EDIT("x\nd/b"), EDIT("b")), 0);
	assert_int_equal(EDIT_OF("a", EDIT("a"), EDIT("a")), CREDIT_NONE);
	assert_int_equal(EDIT_OF("a", EDIT("b")), CREDIT_NONE);
	/* An atomic save writes beside its target first. */
	assert_int_equal(EDIT_OF("a.tmp.1", EDIT("b"), EDIT("a")), 1);
	assert_int_equal(EDIT_OF("a.py", EDIT("a"), EDIT("a.py")), 1);
	assert_int_equal(EDIT_OF("ab", EDIT("a")), CREDIT_NONE);
	assert_int_equal(EDIT_OF("a", SHELL("echo > a")), 0);
	assert_int_equal(EDIT_OF("a", SHELL("ls"), SHELL("echo > a")),
			 CREDIT_NONE);
	assert_int_equal(EDIT_OF("a", PAST("echo > a")), CREDIT_NONE);
}

static void without_calls_it_is_no_calls(void **state)
{
	(void)state;
	assert_int_equal(choose("a", NULL, 0, NULL, 0), CREDIT_NONE);
	assert_int_equal(choose("a", LINES("sh"), 1, NULL, 0), CREDIT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_line_tells_parallel_commands_apart),
		cmocka_unit_test(quotes_and_blanks_of_wrappers_do_not_count),
		cmocka_unit_test(the_same_command_twice_is_no_calls),
		cmocka_unit_test(the_only_shell_call_needs_no_command_line),
		cmocka_unit_test(a_process_that_goes_on_is_its_own_calls),
		cmocka_unit_test(what_the_agent_writes_is_told_by_the_path),
		cmocka_unit_test(without_calls_it_is_no_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
