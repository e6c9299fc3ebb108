#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/facts/lang.h"

static void python_is_what_ends_in_py(void **state)
{
	(void)state;
	assert_non_null(lang_of("a.py"));
	assert_non_null(lang_of("a/b.c/d.py"));
	assert_string_equal(lang_of("__init__.py")->name, "python");
}

static void all_else_is_no_language_of_ours(void **state)
{
	static const char *const paths[] = {
		"",    "a",	"a.pyi", "a.pyc", "a.py/b",   "a.py~",
		".py", "a/.py", "py",	 "a.PY",  "a.py.txt",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_null(lang_of(paths[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_is_what_ends_in_py),
		cmocka_unit_test(all_else_is_no_language_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
