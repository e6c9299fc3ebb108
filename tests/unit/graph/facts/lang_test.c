#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/facts/facts.h"
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

static void an_id_is_one_languages(void **state)
{
	bool taken[LANG_IDS] = { [0] = true };

	(void)state;
	for (const struct lang *const *l = lang_all; *l; l++) {
		assert_in_range((*l)->id, 1, LANG_IDS - 1);
		assert_false(taken[(*l)->id]);
		taken[(*l)->id] = true;
		assert_ptr_equal(lang_by_id((*l)->id), *l);
	}
	assert_null(lang_by_id(0));
	assert_null(lang_by_id(LANG_IDS - 1));
}

static void facts_say_their_language(void **state)
{
	struct lang_readers *rs = lang_readers_new();
	struct facts *f = lang_read(rs, "a.py", "x = 1\n", 6);

	(void)state;
	assert_non_null(f);
	assert_int_equal(f->lang, lang_python.id);
	assert_int_equal(facts_check(f, f->size), 0);
	f->lang = LANG_IDS - 1;
	assert_int_equal(facts_check(f, f->size), -EBADMSG);
	free(f);
	assert_null(lang_read(rs, "a.txt", "x = 1\n", 6));
	assert_null(lang_read_unit(rs, "a.txt", "x = 1\n", 6, 0, false));
	assert_false(lang_is_vast(rs, "a.txt", "x = 1\n", 6));
	lang_readers_free(rs);
	lang_readers_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_is_what_ends_in_py),
		cmocka_unit_test(all_else_is_no_language_of_ours),
		cmocka_unit_test(an_id_is_one_languages),
		cmocka_unit_test(facts_say_their_language),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
