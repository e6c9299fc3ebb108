#include "tools/cli/where.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* `typed` in directory `here` of a repository; NULL: outside it. */
static void is_taken(const char *here, const char *typed, const char *path)
{
	char root[] = "/work/repo", *at = here ? strdup(here) : NULL;
	struct where w = { .root = root, .here = at };
	char *is = where_path(&w, typed);

	if (path)
		assert_string_equal(is, path);
	else
		assert_null(is);
	free(is);
	free(at);
}

static void is_shown(const char *here, const char *path, const char *text)
{
	char root[] = "/work/repo", *at = here ? strdup(here) : NULL;
	struct where w = { .root = root, .here = at };
	char *is = where_shown(&w, path);

	assert_string_equal(is, text);
	free(is);
	free(at);
}

static void a_path_is_taken_from_the_current_directory(void **state)
{
	(void)state;
	is_taken("", "a.py", "a.py");
	is_taken("src", "a.py", "src/a.py");
	is_taken("src", "./deep//a.py/", "src/deep/a.py");
	is_taken("src/deep", "../a.py", "src/a.py");
	is_taken("src", "..", "");
	is_taken("src", ".", "src");
	is_taken("src", "../*.py", "*.py");
	is_taken("src", "../..", NULL);
	is_taken("src", "../../repo2/x", NULL);
}

static void outside_it_is_taken_from_the_root(void **state)
{
	(void)state;
	is_taken(NULL, "src/a.py", "src/a.py");
	is_taken(NULL, "../a.py", NULL);
}

static void outside_it_a_path_may_lead_into_it(void **state)
{
	char root[] = "/work/repo", cwd[] = "/work/other";
	struct where w = { .root = root, .cwd = cwd };
	static const char *const paths[][2] = {
		{ "../repo/src/a.py", "src/a.py" },
		{ "../repo", "" },
		{ "src/a.py", "src/a.py" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		char *is = where_path(&w, paths[i][0]);

		assert_string_equal(is, paths[i][1]);
		free(is);
	}
	assert_null(where_path(&w, "../other/a.py"));
}

static void an_absolute_path_must_lie_in_the_repository(void **state)
{
	(void)state;
	is_taken("src", "/work/repo/a.py", "a.py");
	is_taken("src", "/work/./repo//b/../a.py", "a.py");
	is_taken("src", "/work/repo", "");
	is_taken("src", "/work/repo2/a.py", NULL);
	is_taken("src", "/", NULL);
}

static void a_path_is_shown_from_the_current_directory(void **state)
{
	(void)state;
	is_shown("", "src/a.py", "src/a.py");
	is_shown(NULL, "src/a.py", "src/a.py");
	is_shown("src", "src/a.py", "a.py");
	is_shown("src", "src2/a.py", "../src2/a.py");
	is_shown("src/deep", "src/a.py", "../a.py");
	is_shown("src/deep", "a.py", "../../a.py");
	is_shown("src/deep", "src/deeper/a.py", "../deeper/a.py");
}

static void what_is_shown_is_taken_as_the_same_path(void **state)
{
	static const char *const all[] = { "a",	    "a/b",   "a/b/c",
					   "ab/c",  "a/bc",  "b",
					   "a/b/d", "a/d/b", "d" };
	const size_t count = sizeof(all) / sizeof(*all);
	char root[] = "/r";

	(void)state;
	for (size_t i = 0; i < count * count; i++) {
		char *here = strdup(all[i / count]);
		struct where w = { .root = root, .here = here };
		const char *path = all[i % count];
		char *shown = where_shown(&w, path);
		char *back = where_path(&w, shown);

		assert_string_equal(back, path);
		free(back);
		free(shown);
		free(here);
	}
}

static void the_root_chooses_everything(void **state)
{
	(void)state;
	assert_true(where_matches("", "a/b"));
	assert_true(where_matches("a", "a/b"));
	assert_true(where_matches("*.py", "a/b.py"));
	assert_false(where_matches("a", "ab"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_taken_from_the_current_directory),
		cmocka_unit_test(outside_it_is_taken_from_the_root),
		cmocka_unit_test(outside_it_a_path_may_lead_into_it),
		cmocka_unit_test(an_absolute_path_must_lie_in_the_repository),
		cmocka_unit_test(a_path_is_shown_from_the_current_directory),
		cmocka_unit_test(what_is_shown_is_taken_as_the_same_path),
		cmocka_unit_test(the_root_chooses_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
