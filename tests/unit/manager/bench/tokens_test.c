#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "manager/bench/tokens.h"

static struct tokens *t;

static uint64_t count(const char *text)
{
	return tokens_count(t, text, strlen(text));
}

static void words_are_split_and_merged_as_cl100k_does(void **state)
{
	(void)state;
	assert_int_equal(count(""), 0);
	assert_int_equal(count("hello world"), 2);
	assert_int_equal(count("def load_config(path):\n    return {}\n"), 8);
	assert_int_equal(count("don't we'll I'M"), 6);
	assert_int_equal(count("1234567"), 3);
	assert_int_equal(count("\r\n\r\n   \t x"), 3);
	assert_int_equal(
		count("\xc3\xa4\xc3\xb6\xc3\xbc \xe4\xb8\xad\xe6\x96\x87"
		      " \xf0\x9f\x98\x80"),
		6);
	assert_int_equal(
		count("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 7);
}

static void a_line_has_the_tokens_that_begin_in_it(void **state)
{
	static const char text[] = "a\n\n\n\n  b\nccc ddd\n";
	uint32_t lines[7];
	uint64_t sum = 0;

	(void)state;
	tokens_by_line(t, text, strlen(text), lines);
	for (int i = 0; i < 7; i++)
		sum += lines[i];
	assert_int_equal(sum, count(text));
	assert_int_equal(lines[0], 2);
	assert_int_equal(lines[1], 0);
	assert_int_equal(lines[4], 3);
	assert_int_equal(lines[5], 4);
	assert_int_equal(lines[6], 0);
}

/* One range per class of characters, in the order of their names. */
static const struct {
	uint32_t first, last;
} classes[] = {
	{ 0x00, 0x1f },	    { 0x20, 0x20 },	  { 0x21, 0x2f },
	{ 0x27, 0x27 },	    { 0x30, 0x39 },	  { 0x41, 0x5a },
	{ 0x61, 0x7a },	    { 0x0a, 0x0d },	  { 0x85, 0x85 },
	{ 0xa0, 0xff },	    { 0x1c5, 0x1c5 },	  { 0x2b0, 0x2c1 },
	{ 0x300, 0x36f },   { 0x3b1, 0x3c9 },	  { 0x410, 0x44f },
	{ 0x5d0, 0x5ea },   { 0x627, 0x64a },	  { 0x660, 0x669 },
	{ 0x903, 0x903 },   { 0x915, 0x939 },	  { 0xe01, 0xe2e },
	{ 0x1680, 0x1680 }, { 0x180e, 0x180e },	  { 0x2000, 0x200f },
	{ 0x2028, 0x202f }, { 0x2070, 0x2079 },	  { 0x20ac, 0x20ac },
	{ 0x20dd, 0x20e0 }, { 0x2160, 0x2188 },	  { 0x2460, 0x249b },
	{ 0x3000, 0x3003 }, { 0x3041, 0x3096 },	  { 0x4e00, 0x4fff },
	{ 0xac00, 0xad00 }, { 0xe000, 0xe010 },	  { 0xfeff, 0xfeff },
	{ 0xff10, 0xff19 }, { 0x1f600, 0x1f640 }, { 0x10ffff, 0x10ffff },
	{ 0x203f, 0x2040 },
};

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) +
	       UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % n;
}

static size_t encode(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Up to 40 characters, often several of one class in a row. */
static size_t make(char *out)
{
	uint32_t left = 1 + below(40);
	size_t len = 0;

	while (left) {
		uint32_t class = below(sizeof(classes) / sizeof(classes[0]));
		uint32_t run = 1 + below(4);

		for (; run && left; run--, left--)
			len += encode(classes[class].first +
					      below(classes[class].last -
						    classes[class].first + 1),
				      out + len);
	}
	return len;
}

/*
 * The sums are those of the benchmark's tok.py over the same strings: of the
 * counts, and of the counts times the number of the string.
 */
static void ten_thousand_strings_of_all_classes_count_the_same(void **state)
{
	uint64_t sum = 0, weighted = 0;
	char text[256];

	(void)state;
	seed = 1;
	for (uint32_t i = 1; i <= 10000; i++) {
		uint64_t n = tokens_count(t, text, make(text));

		sum += n;
		weighted += n * i;
	}
	assert_int_equal(sum, 334972);
	assert_int_equal(weighted, 1678461400);
}

static void a_long_word_takes_no_time_that_grows_with_its_square(void **state)
{
	size_t len = 1 << 20;
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', len);
	assert_int_equal(tokens_count(t, text, len), len / 8);
	free(text);
}

static void what_is_no_utf8_is_replaced_as_python_does(void **state)
{
	static const struct {
		const char *bytes, *text;
	} cases[] = {
		{ "ab\xff"
		  "c",
		  "ab\xef\xbf\xbd"
		  "c" },
		{ "\xe4\xb8", "\xef\xbf\xbd" },
		{ "\xf0\x9f\x98x", "\xef\xbf\xbdx" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc3\xa4", "\xc3\xa4" },
		{ "\xf4\x90\x80\x80",
		  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len;
		CLEANUP(free_p)
		char *is = tokens_valid(cases[i].bytes, strlen(cases[i].bytes),
					&len);

		assert_string_equal(is, cases[i].text);
		assert_int_equal(len, strlen(cases[i].text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_split_and_merged_as_cl100k_does),
		cmocka_unit_test(a_line_has_the_tokens_that_begin_in_it),
		cmocka_unit_test(
			ten_thousand_strings_of_all_classes_count_the_same),
		cmocka_unit_test(
			a_long_word_takes_no_time_that_grows_with_its_square),
		cmocka_unit_test(what_is_no_utf8_is_replaced_as_python_does),
	};
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *path = getenv("TRACEBENCH_RANKS");
	char *why = NULL;
	int failed;

	path = path ? path : RANKS;
	if (access(path, R_OK) < 0) {
		print_message("no ranks of cl100k: tools/setup fetches them, "
			      "or TRACEBENCH_RANKS names the file\n");
		return 77;
	}
	if (tokens_open(path, &t, &why) < 0) {
		print_message("%s\n", why);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	tokens_free(t);
	return failed;
}
