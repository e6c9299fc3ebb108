/*
 * Large texts: tables of data of which the parser sees only the beginning,
 * files that are too large for it, and the facts that must not change by that.
 */
#include <stdio.h>

#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "tests/support/facts_golden.h"
#include "tests/support/facts_same.h"

#define TEXT_MAX  (64 << 20)
#define ITEMS	  15000
#define ALL_PARTS (DUMP_ALL & ~DUMP_HASHES)

static void say(struct buf *b, const char *text)
{
	assert_int_equal(buf_add(b, text, strlen(text)), 0);
}

static void repeat(struct buf *b, const char *text, unsigned times)
{
	while (times--)
		say(b, text);
}

static struct facts *facts_of(void **state, const struct buf *b)
{
	return read_bytes(state, b->data, b->len);
}

static char *dump_of(void **state, const struct buf *b)
{
	CLEANUP(free_p) struct facts *f = facts_of(state, b);

	return dump_facts(f, ALL_PARTS);
}

static struct facts *table(void **state, const char *open, const char *item,
			   unsigned times, const char *close)
{
	CLEANUP(buf_release) struct buf b = BUF(TEXT_MAX);

	say(&b, open);
	repeat(&b, item, times);
	say(&b, close);
	return facts_of(state, &b);
}

/* Do the facts of a table have the same size when it grows? */
static bool is_cut(void **state, const char *open, const char *item,
		   const char *close)
{
	CLEANUP(free_p)
	struct facts *once = table(state, open, item, ITEMS, close);
	CLEANUP(free_p)
	struct facts *twice = table(state, open, item, 2 * ITEMS, close);

	assert_false(once->vast || twice->vast);
	assert_int_equal(once->broken, twice->broken);
	return once->size == twice->size;
}

static void a_table_of_data_is_read_by_its_beginning(void **state)
{
	static const char *const items[] = {
		"1, ",
		"-1.5e-3,",
		"None, True, ",
		"0x1f,\n",
		"'a', ",
		"r'\\\\', b\"x\" '',",
		"[1, 2], ",
		"(), [], {}, ",
		"{'a': (1, -2), 'b': []},\n",
		"\"#\",#,\n",
		"'''a\n'b\\'''''c', ",
		"\"a\\\n\", ",
	};

	for (size_t k = 0; k < sizeof(items) / sizeof(*items); k++) {
		assert_true(is_cut(state, "X = [", items[k], "]\n"));
		assert_true(is_cut(state, "X = (0, ", items[k], "0)\n"));
		assert_true(is_cut(state, "X = f({", items[k], "})\n"));
	}
	assert_true(is_cut(state, "X = {", "'a': [1], \"b\" 'c': -2, ", "}\n"));
	assert_true(is_cut(state, "X = [[a, [", "1, ", "]]]\n"));
	assert_true(is_cut(state, "X = [a, ", "1, ", "a]\n"));
	/* These brackets are in strings, or end in one. */
	assert_true(is_cut(state, "Y = f\"{x[\"[\"]:{w}>3}[{{\", '['\nX = [",
			   "1, ", "]\n"));
}

static void what_is_no_data_is_read_whole(void **state)
{
	static const char *const items[] = {
		"a, ",	      "f(1), ", "f'{a}', ",    "1 + 2j, ",
		"x[0], ",     "*a, ",	"'a'.b, ",     "[a], ",
		"{'a': a}, ", "-a, ",	"lambda: 1, ",
	};

	for (size_t k = 0; k < sizeof(items) / sizeof(*items); k++)
		assert_false(is_cut(state, "X = [", items[k], "]\n"));
	assert_false(is_cut(state, "X = {", "'a': a, ", "}\n"));
	assert_false(is_cut(state, "", "1, ", "\n"));
}

/* Blanks out the expected gap: after the 256th item, to the last comma. */
static void blank(struct buf *b, const char *open, size_t item)
{
	size_t from = strlen(open) + 256 * item;
	size_t to = strlen(open) + ITEMS * item;

	for (size_t k = from; k < to; k++)
		if (b->data[k] != '\n')
			b->data[k] = ' ';
}

static void what_surrounds_a_table_is_what_and_where_it_is(void **state)
{
	static const char open[] = "def f(a):\n\treturn [";
	static const char item[] = "(1, 'a'),\n";
	static const char rest[] =
		"a(g(), a)]\n\n\nclass C(f):\n\tdef g(self): self.x = f()\n";
	CLEANUP(buf_release) struct buf b = BUF(TEXT_MAX);
	CLEANUP(free_p) char *is = NULL;
	CLEANUP(free_p) char *should = NULL;

	say(&b, open);
	repeat(&b, item, ITEMS);
	say(&b, rest);
	is = dump_of(state, &b);
	blank(&b, open, strlen(item));
	should = dump_of(state, &b);
	assert_string_equal(is, should);
}

static void an_error_in_a_table_is_seen(void **state)
{
	static const char *const errors[] = {
		"1 2, ",  ", ",	      "'a' 1, ", "(1, ", "1_, a b, ",
		"1 if, ", "[1; 2], ", "$, ",	 "1x, ",
	};

	for (size_t k = 0; k < sizeof(errors) / sizeof(*errors); k++) {
		CLEANUP(buf_release) struct buf b = BUF(TEXT_MAX);
		CLEANUP(free_p) struct facts *f = NULL;

		say(&b, "X = [");
		repeat(&b, "1, ", ITEMS);
		say(&b, errors[k]);
		repeat(&b, "1, ", ITEMS);
		say(&b, "]\n");
		f = facts_of(state, &b);
		assert_true(f->broken);
	}
}

static void a_definition_with_a_table_says_the_same_alone(void **state)
{
	static const char def[] = "\tdef f(self):\n\t\tself.x = {";
	CLEANUP(buf_release) struct buf b = BUF(TEXT_MAX);
	CLEANUP(free_p) struct facts *whole = NULL;
	CLEANUP(free_p) struct facts *alone = NULL;
	size_t start, end;

	say(&b, "X = f'{a[\"(\"]}'\n\n\nclass C:\n");
	start = b.len + 1;
	say(&b, def);
	repeat(&b, "'k': [1, 2],\n", ITEMS);
	say(&b, "}\n\t\treturn g()");
	end = b.len;
	say(&b, "\n\tdef g(self): pass\n");
	whole = facts_of(state, &b);
	alone = lang_read_unit(*state, "a.py", b.data + start, end - start, 1,
			       true);
	assert_non_null(alone);
	assert_null(facts_differ(whole, 2, alone, 0));
}

static void a_table_has_the_hash_of_all_of_it(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF(TEXT_MAX);
	CLEANUP(free_p) struct facts *before = NULL;
	CLEANUP(free_p) struct facts *after = NULL;

	say(&b, "X = [");
	repeat(&b, "1, ", ITEMS);
	say(&b, "]\n");
	before = facts_of(state, &b);
	b.data[b.len / 2 / 3 * 3 + 5] = '2';
	after = facts_of(state, &b);
	assert_int_equal(before->variables_count, 1);
	assert_false(XXH128_isEqual(facts_variables(before)[0].hash,
				    facts_variables(after)[0].hash));
}

static void a_file_of_too_many_tokens_is_its_module(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF(TEXT_MAX);
	CLEANUP(free_p) struct facts *before = NULL;
	CLEANUP(free_p) struct facts *after = NULL;

	repeat(&b, "def f(a):\n    return g(a, 1)\n", 110000);
	before = facts_of(state, &b);
	assert_true(before->vast);
	assert_false(before->broken);
	assert_int_equal(before->units_count, 1);
	assert_int_equal(facts_units(before)->end, b.len);
	assert_int_equal(facts_units(before)->lines, 220000);
	assert_true(lang_is_vast(*state, "a.py", b.data, b.len));
	b.data[b.len / 2] = '#';
	after = facts_of(state, &b);
	assert_false(XXH128_isEqual(before->module_hash, after->module_hash));
}

static void a_long_file_of_functions_is_read(void **state)
{
	static const char def[] = "def function(argument, other):\n"
				  "    value = argument.method(other)\n"
				  "    return function(value, other=1)\n\n\n";
	CLEANUP(buf_release) struct buf b = BUF(TEXT_MAX);
	CLEANUP(free_p) struct facts *f = NULL;

	repeat(&b, def, 20000);
	f = facts_of(state, &b);
	assert_false(f->vast);
	assert_int_equal(f->units_count, 20001);
	assert_false(lang_is_vast(*state, "a.py", b.data, b.len));
}

/* tree-sitter's time for these grows quadratically. */
static void errors_that_the_parser_cannot_cope_with_end(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF(TEXT_MAX);
	CLEANUP(free_p) struct facts *f = NULL;
	CLEANUP(free_p) struct facts *next = NULL;

	repeat(&b, "def {{ n }}(a):\n    {% if x %}\n    return {{ a }}\n",
	       20000);
	f = facts_of(state, &b);
	assert_true(f->vast);
	next = read_text(state, "def f(): pass\n");
	assert_int_equal(next->units_count, 2);
	assert_false(next->vast);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, new_reader, free_reader)
	const struct CMUnitTest tests[] = {
		TEST(a_table_of_data_is_read_by_its_beginning),
		TEST(what_is_no_data_is_read_whole),
		TEST(what_surrounds_a_table_is_what_and_where_it_is),
		TEST(an_error_in_a_table_is_seen),
		TEST(a_definition_with_a_table_says_the_same_alone),
		TEST(a_table_has_the_hash_of_all_of_it),
		TEST(a_file_of_too_many_tokens_is_its_module),
		TEST(a_long_file_of_functions_is_read),
		TEST(errors_that_the_parser_cannot_cope_with_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
