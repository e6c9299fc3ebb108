/*
 * Units: where they lie, when their text and their meaning change, what
 * remains of them in broken files, and that extreme texts are read, too.
 */
#include "graph/base/cleanup.h"
#include "tests/support/facts_golden.h"

static const struct facts_unit *unit(const struct facts *f, uint32_t i)
{
	assert_true(i < f->units_count);
	return &facts_units(f)[i];
}

static bool same(XXH128_hash_t a, XXH128_hash_t b)
{
	return a.low64 == b.low64 && a.high64 == b.high64;
}

static void units_are_placed_in_the_unit_around(void **state)
{
	assert_dump(state, DUMP_PLACES,
		    "import a\n"
		    "\n"
		    "@a.b\n"
		    "class C(a.D):\n"
		    "    x = 1\n"
		    "\n"
		    "    @c\n"
		    "    # between\n"
		    "    async def f(self,\n"
		    "                y): # and here\n"
		    "        return y;  # comment\n"
		    "        # comment\n"
		    "    # comment\n"
		    "\n"
		    "if a:\n"
		    "    def g(): pass\n",
		    "0 module \n"
		    "  bytes 0..200 body +0 line 0 lines 16 name +0 parent -0"
		    " units 3\n"
		    "1 class C\n"
		    "  bytes 10..142 body +18 line 2 lines 9 name +1 parent -1"
		    " units 1\n"
		    "2 function f async method\n"
		    "  bytes 34..132 body +58 line 4 lines 5 name +2 parent -1"
		    " units 0\n"
		    "3 function g conditional\n"
		    "  bytes 186..199 body +8 line 15 lines 1 name +0 parent -3"
		    " units 0\n");
}

/* Of unit `i` in both texts: are its text and its meaning the same? */
static void assert_same(void **state, const char *before, const char *after,
			uint32_t i, bool text, bool meaning)
{
	CLEANUP(free_p) struct facts *f = read_text(state, before);
	CLEANUP(free_p) struct facts *g = read_text(state, after);

	assert_int_equal(same(unit(f, i)->hash, unit(g, i)->hash), text);
	assert_int_equal(same(unit(f, i)->meaning, unit(g, i)->meaning),
			 meaning);
}

static void a_class_is_the_same_when_a_methods_body_changes(void **state)
{
	assert_same(state, "class A:\n    def f(self):\n        a()\n",
		    "class A:\n    def f(self):\n        b()\n        c()\n", 1,
		    true, true);
}

static void a_class_is_another_when_a_method_is_renamed(void **state)
{
	assert_same(state, "class A:\n    def f(self): pass\n",
		    "class A:\n    def g(self): pass\n", 1, false, false);
}

static void a_class_is_another_when_a_methods_header_changes(void **state)
{
	assert_same(state, "class A:\n    def f(self): pass\n",
		    "class A:\n    def f(self, a): pass\n", 1, false, true);
}

static void a_class_is_the_same_when_a_method_grows_units(void **state)
{
	assert_same(state,
		    "class A:\n"
		    "    def f(self): pass\n"
		    "    def g(self): pass\n",
		    "class A:\n"
		    "    def f(self):\n"
		    "        def h(): pass\n"
		    "    def g(self): pass\n",
		    1, true, true);
}

static void a_unit_that_moves_is_the_same_unit(void **state)
{
	assert_same(state, "def f(x):\n    return g(x)\n",
		    "import a\n\n# b\n\ndef f(x):\n    return g(x)\n# c\n", 1,
		    true, true);
}

static void comments_change_the_text_and_not_the_meaning(void **state)
{
	assert_same(state, "def f(x):\n    return g(x)\n",
		    "def f(x):\n    'Say.'\n    # why\n    return g(x)  \n", 1,
		    false, true);
}

static void a_comment_on_a_units_last_line_is_its_own(void **state)
{
	const char before[] =
		"class A:\n    def f(self): pass\nclass B: pass\n";
	const char after[] = "class A:\n    def f(self): pass  # why\n"
			     "class B: pass\n";

	/* Of the method; not of the class that ends with it, or the next. */
	assert_same(state, before, after, 2, false, true);
	assert_same(state, before, after, 1, true, true);
	assert_same(state, before, after, 3, true, true);
	assert_same(state, "def f():\n    a() ; # one\n",
		    "def f():\n    a() ; # two\n", 1, false, true);
	assert_same(state, "def f():\n    a()\n# one\n",
		    "def f():\n    a()\n# two\n", 1, true, true);
}

static void line_ends_are_no_part_of_the_text(void **state)
{
	const char lf[] = "X = [1,\n  2]\nclass A:\n    def f(self):\n"
			  "        a()  # b\n        c()\n    x = '''\n'''\n";
	const char crlf[] = "X = [1,\r\n  2]\r\nclass A:\r\n"
			    "    def f(self):\r\n        a()  # b\r\n"
			    "        c()\r\n    x = '''\r\n'''\r\n";
	CLEANUP(free_p) struct facts *f = read_text(state, lf);
	CLEANUP(free_p) struct facts *g = read_text(state, crlf);

	for (uint32_t i = 0; i < 3; i++) {
		assert_true(same(unit(f, i)->hash, unit(g, i)->hash));
		assert_true(same(unit(f, i)->meaning, unit(g, i)->meaning));
	}
	assert_true(same(facts_variables(f)->hash, facts_variables(g)->hash));
	/* A lone carriage return is text. */
	assert_same(state, "def f():\n    '''a\rb'''\n",
		    "def f():\n    '''ab'''\n", 1, false, true);
}

static const char *name_of(const struct facts *f, uint32_t i)
{
	return facts_string(f, unit(f, i)->name, NULL);
}

static void a_text_in_latin_1_keeps_its_letters(void **state)
{
	static const char *const heads[] = {
		"# -*- coding: latin-1 -*-\n",
		"#!/usr/bin/python\n# vim: set fileencoding=ISO_8859-1 :\n",
	};

	for (unsigned k = 0; k < 2; k++) {
		char text[200];
		CLEANUP(free_p) struct facts *f = NULL;

		(void)snprintf(text, sizeof(text), "%sdef gr\xfc\xdf(): pass\n",
			       heads[k]);
		f = read_text(state, text);
		assert_false(f->broken);
		assert_true(f->joined);
		assert_int_equal(f->units_count, 2);
		assert_string_equal(name_of(f, 1), "gr\xc3\xbc\xc3\x9f");
	}
}

static void only_a_declaration_makes_a_text_latin_1(void **state)
{
	static const char *const texts[] = {
		"# coding: utf-8\ndef gr\xc3\xbc(): pass\n",
		"def gr\xc3\xbc(): pass  # coding: latin-1\n",
		"\n\n# coding: latin-1\ndef gr\xc3\xbc(): pass\n",
	};

	for (unsigned k = 0; k < 3; k++) {
		CLEANUP(free_p) struct facts *f = read_text(state, texts[k]);

		assert_false(f->broken || f->joined);
		assert_string_equal(name_of(f, 1), "gr\xc3\xbc");
	}
}

static void literals_that_are_not_kept_mean_the_same(void **state)
{
	assert_same(state, "def f():\n    return 1.5, b'a', f'{x}'\n",
		    "def f():\n    return 2.5, b'c', f'd{x}'\n", 1, false,
		    true);
}

static void a_default_is_part_of_the_meaning(void **state)
{
	assert_same(state, "def f(a=b): pass\n", "def f(a=c): pass\n", 1, false,
		    false);
}

static void all_is_part_of_the_modules_meaning(void **state)
{
	assert_same(state, "__all__ = ['a']\n", "__all__ = ['b']\n", 0, true,
		    false);
}

static void the_module_is_what_is_neither_definition_nor_variable(void **state)
{
	const char *before = "import a\nb = 1\ndef f(): pass\nif a:\n    c()\n";

	assert_same(state, before,
		    "import a\n\nb = 2  # c\ndef f(): return\nif a:\n    c()\n",
		    0, true, false);
	assert_same(state, before,
		    "import a\nb = 1\ndef f(): pass\nif a:\n    pass\nc()\n", 0,
		    false, false);
	assert_same(state, before,
		    "import d as a\nb = 1\ndef f(): pass\nif a:\n    c()\n", 0,
		    false, false);
}

static void a_variable_is_all_of_its_statements(void **state)
{
	CLEANUP(free_p)
	struct facts *f = read_text(state, "a = 1\nb = 2\na += 3\n");
	CLEANUP(free_p)
	struct facts *g = read_text(state, "a = 1\nb = 2\na += 4\n");

	assert_int_equal(f->variables_count, 2);
	assert_false(
		same(facts_variables(f)[0].hash, facts_variables(g)[0].hash));
	assert_true(
		same(facts_variables(f)[1].hash, facts_variables(g)[1].hash));
}

static void pieces_tell_what_an_edit_touched(void **state)
{
	CLEANUP(free_p)
	struct facts *f =
		read_text(state, "x\nclass A:\n    def f(self): a\n    b\n");
	CLEANUP(free_p)
	struct facts *g =
		read_text(state, "y\nclass A:\n    def f(self): c\n    b\n");

	assert_true(unit(f, 1)->gap != unit(g, 1)->gap);
	assert_true(unit(f, 1)->head == unit(g, 1)->head);
	assert_true(unit(f, 1)->tail == unit(g, 1)->tail);
	assert_true(unit(f, 2)->gap == unit(g, 2)->gap);
	assert_true(unit(f, 2)->head == unit(g, 2)->head);
	assert_true(unit(f, 2)->tail != unit(g, 2)->tail);
}

static void what_is_whole_survives_an_error(void **state)
{
	assert_dump(state, DUMP_CALLS,
		    "def before(): a()\n"
		    "x = = b()\n"
		    "class C:\n"
		    "    def f(self):\n"
		    "        return c(]\n"
		    "    def g(self):\n"
		    "        return d()\n"
		    "def after(): e()\n",
		    "0 module  broken\n"
		    "  call b() @1:6\n"
		    "1 function before\n"
		    "  call a() @0:14\n"
		    "2 class C\n"
		    "3 function f method broken\n"
		    "4 function g method\n"
		    "  call d() @1:15\n"
		    "5 function after\n"
		    "  call e() @0:13\n"
		    "variable x line 1 lines 1\n"
		    "broken\n");
}

static void uneven_lines_and_empty_bodies_are_broken(void **state)
{
	static const char *const texts[] = {
		"if a:\n    b\n  c\n",
		"if a:\n\tb\n        c\n",
		"def f():\n# nothing\n",
		"  a\nb\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CLEANUP(free_p) struct facts *f = read_text(state, texts[i]);

		assert_true(f->broken);
	}
}

static void lines_that_are_joined_oddly_are_noted(void **state)
{
	static const struct {
		const char *text;
		bool joined;
	} cases[] = {
		{ "a = b + \\\n    c\nd = (e,\n     f)\n'''g\n'''\n", false },
		{ "if a:\n    \\\n    b\n", true },
		{ "a,\nb: c\n", true },
		{ "a = [  # (\n    '(',\n]\n", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(free_p)
		struct facts *f = read_text(state, cases[i].text);

		assert_int_equal(f->joined, cases[i].joined);
	}
}

static void odd_beginnings_are_not_broken(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"# comment",
		"\xef\xbb\xbf\144ef f(): pass\na = 1\n",
		"\fdef f(): pass\n\f\na = 1\n",
		"if a: b; c\nd\n",
		"a\r\nif b:\r\n    c\r\n    d\r\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CLEANUP(free_p) struct facts *f = read_text(state, texts[i]);

		assert_false(f->broken);
	}
}

static void a_unit_alone_is_refused_when_its_file_could_differ(void **state)
{
	static const struct {
		const char *text; /* with its indentation */
		size_t indent;
		bool taken;
	} cases[] = {
		{ "def f():\n  a\n", 0, false }, /* a newline after it */
		{ "def f():\n  a", 0, true },
		{ "def f(): a; b", 0, true },
		{ "@a\n@b()\nasync def f(): a", 0, true },
		{ "    def f():\n      a", 4, true },
		{ "    def f():\n    a", 4, false },
		{ "    def f():\n  a", 4, false },
		{ "    def f():\n        a\n    b", 4, false },
		{ "\tdef f():\n\t\ta", 1, true },
		{ "def f():\n    a\n  b", 0, false },
		{ "def f():\n    a\\", 0, false },
		{ "def f():\n    a # b", 0, true },
		{ "def f():\n    if a:", 0, false },
		{ "def f():\n    (a", 0, false },
		{ "def f():\n \f  a", 0, false },
		{ "def f(): a\ndef g(): b", 0, false },
		{ "a = 1", 0, false },
		{ "# a\ndef f(): a", 0, false },
		{ "", 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text + cases[i].indent;
		CLEANUP(free_p)
		struct facts *f =
			lang_read_unit(*state, "a.py", text, strlen(text),
				       cases[i].indent, false);

		if (!!f != cases[i].taken)
			fail_msg("case %zu: %s", i, cases[i].text);
		if (f)
			assert_int_equal(facts_check(f, f->size), 0);
	}
}

static char *repeat(const char *first, const char *text, size_t n,
		    const char *last)
{
	size_t len = strlen(text), a = strlen(first), z = strlen(last);
	char *all = malloc(a + n * len + z + 1);

	assert_non_null(all);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the last is. */
	memcpy(all, first, a);
	for (size_t i = 0; i < n; i++)
		/* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
		memcpy(all + a + i * len, text, len);
	memcpy(all + a + n * len, last, z + 1);
	return all;
}

/* Some of these give nodes of more than 65,535 children. */
static void depth_without_end_is_cut_off(void **state)
{
	static const struct {
		const char *first, *text, *last;
	} cases[] = {
		{ "x = ", "(", "" },	     { "x = ", "[", "]" },
		{ "x = ", "not ", "a\n" },   { "x = ", "not ", "" },
		{ "x = a", ".b()", "\n" },   { "", "a = ", "b\n" },
		{ "x = ", "a + ", "b\n" },   { "x = ", "lambda: ", "a\n" },
		{ "x = ", "f(", "" },	     { "x = ", "[]) ", "" },
		{ "x = ", "f'{", "" },	     { "x: ", "A[", "" },
		{ "for x in y: ", "(", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(free_p)
		char *text = repeat(cases[i].first, cases[i].text, 100000,
				    cases[i].last);
		CLEANUP(free_p) struct facts *f = read_text(state, text);

		assert_int_equal(f->units_count, 1);
		assert_true(f->size < 1 << 20);
	}
}

static void nested_blocks_are_read_until_the_parser_gives_up(void **state)
{
	char text[200 * 210] = "";
	char *at = text;
	CLEANUP(free_p) struct facts *f = NULL;

	for (int i = 0; i < 200; i++)
		at += snprintf(at, (size_t)(text + sizeof(text) - at),
			       "%*sdef f():\n", i, "");
	(void)snprintf(at, (size_t)(text + sizeof(text) - at), "%*sg()\n", 200,
		       "");
	f = read_text(state, text);
	assert_int_equal(f->units_count, 201);
	assert_int_equal(unit(f, 200)->parent, 1);
	assert_int_equal(unit(f, 1)->units, 199);
}

/* With any byte inverted, facts_check() refuses them or they are safe. */
static void damaged_facts_are_refused_or_harmless(void **state)
{
	CLEANUP(free_p)
	struct facts *f =
		read_text(state, "class A(B):\n    def f(self, a: 'C' = d):\n"
				 "        self.x = [b for b in a.c(k=1)]\n"
				 "        return lambda y: {y: f'{self.x}'}\n"
				 "__all__ = ['A']\nfrom . import z\n");
	FILE *out = fopen("/dev/null", "we");
	unsigned refused = 0;

	assert_non_null(out);
	for (uint32_t i = 0; i < f->size; i++) {
		char *byte = (char *)f + i;
		const char was = *byte;

		*byte = (char)(was ^ 0x41);
		if (facts_check(f, f->size) < 0)
			refused++;
		else
			facts_dump(out, f, DUMP_ALL);
		*byte = was;
	}
	(void)fclose(out);
	assert_true(refused > f->size / 4);
	assert_int_equal(facts_check(f, f->size), 0);
	assert_true(facts_check(f, f->size - 8) < 0);
}

static void reading_again_gives_the_same_bytes(void **state)
{
	static const char text[] = "def f(a, *b):\n    return [a for a in b]\n";
	CLEANUP(free_p) struct facts *f = read_text(state, text);
	CLEANUP(free_p) struct facts *between = read_text(state, "x = (\n");
	CLEANUP(free_p) struct facts *g = read_text(state, text);

	assert_true(between->broken);
	assert_int_equal(f->size, g->size);
	assert_memory_equal(f, g, f->size);
}

static void an_open_string_does_not_reach_into_the_next_text(void **state)
{
	static const char text[] = "if a:\n    b\nc\n";
	CLEANUP(free_p) struct facts *f = read_text(state, text);
	CLEANUP(free_p) struct facts *open = read_text(state, "x = f'{a");
	CLEANUP(free_p) struct facts *g = read_text(state, text);

	assert_true(open->broken);
	assert_int_equal(f->size, g->size);
	assert_memory_equal(f, g, f->size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_placed_in_the_unit_around),
		cmocka_unit_test(
			a_class_is_the_same_when_a_methods_body_changes),
		cmocka_unit_test(a_class_is_another_when_a_method_is_renamed),
		cmocka_unit_test(
			a_class_is_another_when_a_methods_header_changes),
		cmocka_unit_test(a_class_is_the_same_when_a_method_grows_units),
		cmocka_unit_test(a_unit_that_moves_is_the_same_unit),
		cmocka_unit_test(comments_change_the_text_and_not_the_meaning),
		cmocka_unit_test(a_comment_on_a_units_last_line_is_its_own),
		cmocka_unit_test(line_ends_are_no_part_of_the_text),
		cmocka_unit_test(a_text_in_latin_1_keeps_its_letters),
		cmocka_unit_test(only_a_declaration_makes_a_text_latin_1),
		cmocka_unit_test(literals_that_are_not_kept_mean_the_same),
		cmocka_unit_test(a_default_is_part_of_the_meaning),
		cmocka_unit_test(all_is_part_of_the_modules_meaning),
		cmocka_unit_test(
			the_module_is_what_is_neither_definition_nor_variable),
		cmocka_unit_test(a_variable_is_all_of_its_statements),
		cmocka_unit_test(pieces_tell_what_an_edit_touched),
		cmocka_unit_test(what_is_whole_survives_an_error),
		cmocka_unit_test(uneven_lines_and_empty_bodies_are_broken),
		cmocka_unit_test(lines_that_are_joined_oddly_are_noted),
		cmocka_unit_test(odd_beginnings_are_not_broken),
		cmocka_unit_test(
			a_unit_alone_is_refused_when_its_file_could_differ),
		cmocka_unit_test(depth_without_end_is_cut_off),
		cmocka_unit_test(
			nested_blocks_are_read_until_the_parser_gives_up),
		cmocka_unit_test(damaged_facts_are_refused_or_harmless),
		cmocka_unit_test(reading_again_gives_the_same_bytes),
		cmocka_unit_test(
			an_open_string_does_not_reach_into_the_next_text),
	};

	return cmocka_run_group_tests(tests, new_reader, free_reader);
}
