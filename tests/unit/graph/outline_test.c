#include "graph/outline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/facts/lang.h"

static struct outline *outline(const char *path, const char *text)
{
	struct lang_readers *r = lang_readers_new();
	struct outline *o = outline_new(r, path, text, strlen(text));

	lang_readers_free(r);
	assert_non_null(o);
	return o;
}

/* The names of the symbols that cover these lines. */
static void covered(const struct outline *o, uint32_t start, uint32_t end,
		    const char *names)
{
	char text[512] = "";

	for (size_t k = 0; k < outline_count(o); k++) {
		size_t n = strlen(text);

		if (outline_covers(o, k, start, end))
			(void)snprintf(text + n, sizeof(text) - n, "%s%s",
				       n ? " " : "",
				       outline_symbol(o, k)->name);
	}
	assert_string_equal(text, names);
}

static void a_module_is_named_by_its_path(void **state)
{
	static const char *const cases[][2] = {
		{ "a.py", "a" },
		{ "a/b.py", "a.b" },
		{ "src/a/b.py", "a.b" },
		{ "lib/a.py", "a" },
		{ "a/src/b.py", "a.src.b" },
		{ "a/__init__.py", "a" },
		{ "src/a/__init__.py", "a" },
		{ "__init__.py", "__init__" },
		{ "a/b.pyi", "a.b.pyi" },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		char *name = outline_module(cases[k][0], NULL, NULL);

		assert_string_equal(name, cases[k][1]);
		free(name);
	}
}

static void symbols_stand_on_their_lines(void **state)
{
	struct outline *o = outline("a.py", "X = 1\n"
					    "@deco\n"
					    "def f():\n"
					    "    def g():\n"
					    "        pass\n"
					    "class C:\n"
					    "    def m(self):\n"
					    "        pass\n");
	size_t k = outline_find(o, "a.f.g");

	(void)state;
	assert_int_equal(outline_count(o), 6);
	assert_int_equal(outline_lines(o), 8);
	assert_int_equal(outline_symbol(o, 0)->kind, SYMBOL_MODULE);
	assert_int_equal(outline_symbol(o, k)->start, 4);
	assert_int_equal(outline_symbol(o, k)->end, 5);
	k = outline_find(o, "a.f");
	assert_int_equal(outline_symbol(o, k)->start, 2);
	assert_int_equal(outline_symbol(o, k)->kind, SYMBOL_FUNCTION);
	k = outline_find(o, "a.C.m");
	assert_int_equal(outline_symbol(o, k)->kind, SYMBOL_METHOD);
	assert_int_equal(outline_symbol(o, k)->start, 7);
	assert_true(outline_find(o, "a.none") == SIZE_MAX);
	covered(o, 4, 4, "a.f a.f.g");
	covered(o, 1, 1, "a.X");
	covered(o, 8, 99, "a.C a.C.m");
	outline_free(o);
}

static void definitions_of_one_name_are_one_symbol(void **state)
{
	struct outline *o = outline("a.py", "if x:\n"
					    "    def f():\n"
					    "        pass\n"
					    "else:\n"
					    "    def f():\n"
					    "        return 1\n");
	uint32_t start, end;
	size_t k = outline_find(o, "a.f");

	(void)state;
	assert_int_equal(outline_symbol(o, k)->definitions, 2);
	outline_definition(o, k, 1, &start, &end);
	assert_int_equal(start, 5);
	assert_int_equal(end, 6);
	covered(o, 6, 6, "a.f");
	covered(o, 4, 4, "a");
	outline_free(o);
}

static void text_at_module_level_belongs_to_the_module(void **state)
{
	struct outline *o = outline("a.py", "\"\"\"Words.\n" /* 1 */
					    "# not a comment\n"
					    "\"\"\"\n"
					    "# a comment\n" /* 4 */
					    "\n"
					    "import os\n" /* 6 */
					    "def f(): pass\n"
					    "# another\n" /* 8 */
					    "run(\n"
					    "    1,\n" /* 10 */
					    ")\n");

	(void)state;
	covered(o, 2, 2, "a");
	covered(o, 4, 5, "");
	covered(o, 6, 6, "a");
	covered(o, 7, 8, "a.f");
	covered(o, 10, 10, "a");
	covered(o, 11, 11, "a");
	outline_free(o);
}

static void every_statement_of_a_variable_belongs_to_it(void **state)
{
	struct outline *o = outline("a.py", "X = [\n" /* 1 */
					    "    1,\n"
					    "]\n"
					    "import os\n" /* 4 */
					    "X += [\n"
					    "    2,\n" /* 6 */
					    "]\n"
					    "Y = 1; run()\n"); /* 8 */

	(void)state;
	covered(o, 2, 2, "a.X");
	covered(o, 4, 4, "a");
	covered(o, 6, 6, "a a.X");
	covered(o, 8, 8, "a a.Y");
	outline_free(o);
}

static void any_bytes_have_an_outline(void **state)
{
	static const char *const texts[] = { "",	  "\n",	      "'''",
					     "def",	  "\xff",     "x = '\\",
					     "def f(:\n", "(((\n\n\n" };

	(void)state;
	for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++) {
		struct outline *o = outline("a.py", texts[k]);

		assert_true(outline_count(o) >= 1);
		assert_string_equal(outline_symbol(o, 0)->name, "a");
		assert_true(outline_bytes(o) > 0);
		outline_free(o);
	}
	outline_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_is_named_by_its_path),
		cmocka_unit_test(symbols_stand_on_their_lines),
		cmocka_unit_test(definitions_of_one_name_are_one_symbol),
		cmocka_unit_test(text_at_module_level_belongs_to_the_module),
		cmocka_unit_test(every_statement_of_a_variable_belongs_to_it),
		cmocka_unit_test(any_bytes_have_an_outline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
