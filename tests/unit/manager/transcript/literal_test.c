#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "manager/transcript/literal.h"

static void check_encoded(const char *text, size_t len, const char *want)
{
	char out[128];
	size_t n = literal_encode(text, len, out);

	assert_int_equal(n, strlen(want));
	assert_memory_equal(out, want, n);
	assert_in_range(literal_encoded_max(text, len), n, 6 * len);
}

static void only_what_must_be_escaped_is_escaped(void **state)
{
	(void)state;
	check_encoded("a\"b\\c/d", 7, "a\\\"b\\\\c/d");
	check_encoded("\b\t\n\v\f\r\x1f", 7, "\\b\\t\\n\\u000b\\f\\r\\u001f");
	check_encoded("\xc3\xa9\xf0\x9f\x98\x80\x7f", 7,
		      "\xc3\xa9\xf0\x9f\x98\x80\x7f");
	check_encoded("\xed\xa0\xbdx\xed\xb8\x80", 7, "\\ud83dx\\ude00");
	check_encoded("\xed\xa0", 2, "\xed\xa0");
}

static void check_compared(const char *inside, const char *text, bool equals,
			   bool begins)
{
	size_t len = strlen(inside), text_len = strlen(text);

	assert_true(literal_equals(inside, len, text, text_len) == equals);
	assert_true(literal_begins(inside, len, text, text_len) == begins);
}

static void literals_are_compared_without_decoding(void **state)
{
	(void)state;
	check_compared("", "", true, true);
	check_compared("a", "", false, true);
	check_compared("", "a", false, false);
	check_compared("a\\tb", "a\tb", true, true);
	check_compared("a\\tb", "a\t", false, true);
	check_compared("a\\tb", "a", false, true);
	check_compared("a\\tb", "a\\tb", false, false);
	check_compared("a\\\\tb", "a\\tb", true, true);
	check_compared("\\u0061\\/", "a/", true, true);
	check_compared("\\ud83d\\ude00!", "\xf0\x9f\x98\x80!", true, true);
	/* Over more than one block of sixteen bytes, and one byte short. */
	check_compared("0123456789abcdef0123456789\\nabcdefghijklmnopq",
		       "0123456789abcdef0123456789\nabcdefghijklmnopq", true,
		       true);
	check_compared("0123456789abcdef0123456789\\nabcdefghijklmnopq",
		       "0123456789abcdef0123456789\nabcdefghijklmnop", false,
		       true);
	check_compared("0123456789abcdef0123456789\\nabcdefghijklmnopq",
		       "0123456789abcdef0123456788\nabcdefghijklmnopq", false,
		       false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_must_be_escaped_is_escaped),
		cmocka_unit_test(literals_are_compared_without_decoding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
