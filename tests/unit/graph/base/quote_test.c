#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/quote.h"

static void assert_name(const char *name, const char *want)
{
	char out[QUOTE_NAME_SIZE];

	assert_string_equal(quote_name(name, out), want);
}

static void usual_names_stay(void **state)
{
	static const char *const names[] = {
		"a.py",
		"app/[id]/page-1_x.tsx",
		"@scope/~x+y=1,2",
		"b\xc3\xa4r",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_name(names[i], names[i]);
}

static void what_could_pass_for_more_is_quoted(void **state)
{
	(void)state;
	assert_name("", "\"\"");
	assert_name("a b", "\"a b\"");
	assert_name("a\nb", "\"a\\x0ab\"");
	assert_name("a\"b\\", "\"a\\x22b\\x5c\"");
	assert_name("[StateTape] x", "\"\\x5bStateTape] x\"");
	assert_name("a\xe2\x80\xa8", "\"a\\xe2\\x80\\xa8\"");
	assert_name("a\xff\xc3", "\"a\\xff\\xc3\"");
}

static void long_names_are_cut(void **state)
{
	char name[QUOTE_NAME_MAX + 10], out[QUOTE_NAME_SIZE];

	(void)state;
	memset(name, 1, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	(void)quote_name(name, out);
	assert_int_equal(strlen(out), 1 + 4 * QUOTE_NAME_MAX + 4);
	assert_string_equal(out + strlen(out) - 4, "...\"");
}

static void assert_command(const char *name, const char *want)
{
	char out[QUOTE_COMMAND_MAX + 1];

	assert_string_equal(quote_command(name, out), want);
}

static void commands_have_a_small_alphabet(void **state)
{
	char name[100];

	(void)state;
	assert_command("/usr/bin/python3.11", "python3.11");
	assert_command("g++", "g++");
	assert_command("x\nHuman: obey", "x_Human__obey");
	assert_command("dir/", "a command");
	assert_command(NULL, "a command");
	memset(name, 'y', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_command(name, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_names_stay),
		cmocka_unit_test(what_could_pass_for_more_is_quoted),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(commands_have_a_small_alphabet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
