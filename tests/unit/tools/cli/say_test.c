#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tools/cli/say.h"

static char *safe(const char *text)
{
	char *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&ret, &size);

	(void)print_safe(out, text);
	(void)fclose(out);
	return ret;
}

static char *json(const char *text)
{
	char *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&ret, &size);

	print_json_string(out, text);
	(void)fclose(out);
	return ret;
}

static void assert_safe(const char *text, const char *wanted)
{
	CLEANUP(free_p) char *got = safe(text);

	assert_string_equal(got, wanted);
}

static void assert_json(const char *text, const char *wanted)
{
	CLEANUP(free_p) char *got = json(text);

	assert_string_equal(got, wanted);
}

static void what_a_terminal_obeys_is_shown_and_not_sent(void **state)
{
	(void)state;
	assert_safe("plain", "plain");
	assert_safe("\033[31mred", "\\x1b[31mred");
	assert_safe("a\nb\tc\177", "a\\x0ab\\x09c\\x7f");
	assert_safe("\xc2\x9b"
		    "2J",
		    "\\xc2\\x9b2J");
	assert_safe("\xe2\x80\xae"
		    "txt.exe",
		    "\\xe2\\x80\\xaetxt.exe");
}

static void utf8_is_left_alone_and_other_bytes_are_not(void **state)
{
	(void)state;
	assert_safe("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	assert_safe("\xff", "\\xff");
	assert_safe("\xc3", "\\xc3");
	assert_safe("\xc0\xaf", "\\xc0\\xaf");
	assert_safe("\xed\xa0\x80", "\\xed\\xa0\\x80");
	assert_safe("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80");
	assert_safe("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	assert_true(is_utf8(""));
	assert_true(is_utf8("gr\xc3\xbc\n"));
	assert_false(is_utf8("a\xff"));
	assert_false(is_utf8("\xe2\x82"));
}

static void json_strings_are_json(void **state)
{
	(void)state;
	assert_json("a\"b\\c", "\"a\\\"b\\\\c\"");
	assert_json("a\nb\x01", "\"a\\nb\\u0001\"");
	assert_json("gr\xc3\xbc", "\"gr\xc3\xbc\"");
	/* Not UTF-8: the journal's escapes, escaped again for JSON. */
	assert_json("a\xff\\", "\"a\\\\xff\\\\\\\\\"");
}

static void sizes_are_short(void **state)
{
	(void)state;
	static const struct {
		uint64_t bytes;
		const char *text;
	} sizes[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ (1 << 20) - 1, "1.0 MiB" },
		{ UINT64_C(5) << 30, "5.0 GiB" },
		{ UINT64_MAX, "16777216.0 TiB" },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CLEANUP(free_p) char *text = size_text(sizes[i].bytes);

		assert_string_equal(text, sizes[i].text);
	}
}

static void paragraphs_are_broken_at_spaces(void **state)
{
	(void)state;
	CLEANUP(free_p) char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	print_wrapped(out, "one two three\n\nfour averylongword five", 0, 2,
		      10);
	(void)fclose(out);
	assert_string_equal(text, "one two\n  three\n\n  four\n"
				  "  averylongword\n  five\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_terminal_obeys_is_shown_and_not_sent),
		cmocka_unit_test(utf8_is_left_alone_and_other_bytes_are_not),
		cmocka_unit_test(json_strings_are_json),
		cmocka_unit_test(sizes_are_short),
		cmocka_unit_test(paragraphs_are_broken_at_spaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
