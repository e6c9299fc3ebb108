#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager/transcript/json.h"

static int scan(struct json *j, const char *text)
{
	return json_scan(j, text, strlen(text));
}

static void every_value_knows_its_bytes(void **state)
{
	const char *text = " {\"a\": [1, -2.5e3, null], \"b\":{} } ";
	struct json j = { 0 };
	uint32_t a;

	(void)state;
	assert_int_equal(scan(&j, text), 0);
	a = json_get(&j, 0, "a");
	assert_memory_equal(text + j.nodes[a].start, "[1, -2.5e3, null]", 17);
	assert_int_equal(j.nodes[a].end - j.nodes[a].start, 17);
	assert_int_equal(json_integer(&j, a + 1, 0), 1);
	assert_int_equal(json_integer(&j, a + 2, 7), 7);
	assert_int_equal(json_first(&j, json_get(&j, 0, "b")), JSON_NONE);
	assert_int_equal(json_get(&j, 0, "c"), JSON_NONE);
	assert_int_equal(json_get(&j, JSON_NONE, "c"), JSON_NONE);
	json_release(&j);
}

static void what_is_not_json_is_refused(void **state)
{
	static const char *const bad[] = {
		"",	     "{",	"[1,]",	       "{\"a\":1,}", "[1 2]",
		"{\"a\" 1}", "01",	"1.",	       "1e",	     "nul",
		"\"a",	     "\"\\x\"", "\"\\u12g4\"", "\"\n\"",     "[]]",
		"{}{}",	     "{1:2}",	"-",	       "[}",	     "{]",
		"{\"a\"}",   "\"\\",	"\"\\u12",     "+1",	     ".5",
	};
	struct json j = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(scan(&j, bad[i]), -EBADMSG);
	assert_int_equal(scan(&j, "1"), 0);
	json_release(&j);
}

static void nesting_has_a_limit(void **state)
{
	char text[2 * JSON_DEPTH_MAX + 2];
	struct json j = { 0 };

	(void)state;
	memset(text, '[', sizeof(text));
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	assert_int_equal(json_scan(&j, text, 2UL * JSON_DEPTH_MAX), 0);
	memset(text, '[', sizeof(text));
	assert_int_equal(json_scan(&j, text, sizeof(text)), -EMSGSIZE);
	assert_int_equal(json_scan(&j, text, JSON_TEXT_MAX + 1), -EMSGSIZE);
	json_release(&j);
}

static void of_two_members_the_last_counts(void **state)
{
	struct json j = { 0 };

	(void)state;
	assert_int_equal(scan(&j, "{\"a\":1,\"\\u0061\":2}"), 0);
	assert_int_equal(json_integer(&j, json_get(&j, 0, "a"), 0), 2);
	json_release(&j);
}

static void check_text(const char *literal, const char *want, size_t len)
{
	struct json j = { 0 };
	struct arena a = { 0 };
	struct text t;

	assert_int_equal(scan(&j, literal), 0);
	t = json_text(&j, 0, &a);
	assert_int_equal(t.len, len);
	assert_memory_equal(t.at, want, len);
	arena_release(&a);
	json_release(&j);
}

static void strings_are_decoded(void **state)
{
	(void)state;
	check_text("\"plain\"", "plain", 5);
	check_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
	check_text("\"\\u00e9\\u20AC\"", "\xc3\xa9\xe2\x82\xac", 5);
	check_text("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
	check_text("\"a\\u0000b\"", "a\0b", 3);
	/* Halves of a pair: WTF-8. */
	check_text("\"\\ud83dx\"", "\xed\xa0\xbdx", 4);
	check_text("\"\\ude00\\ud83d\"", "\xed\xb8\x80\xed\xa0\xbd", 6);
	check_text("\"\\ud83d\\ud83d\\ude00\"", "\xed\xa0\xbd\xf0\x9f\x98\x80",
		   7);
}

static void check_encoded(const char *text, size_t len, const char *want)
{
	char out[128];
	size_t n = json_encode(text, len, out);

	assert_int_equal(n, strlen(want));
	assert_memory_equal(out, want, n);
	assert_in_range(json_encoded_most(text, len), n, 6 * len);
}

static void strings_are_encoded_as_little_as_can_be(void **state)
{
	(void)state;
	check_encoded("a\"b\\c/d", 7, "a\\\"b\\\\c/d");
	check_encoded("\b\t\n\v\f\r\x1f", 7, "\\b\\t\\n\\u000b\\f\\r\\u001f");
	check_encoded("\xc3\xa9\xf0\x9f\x98\x80\x7f", 7,
		      "\xc3\xa9\xf0\x9f\x98\x80\x7f");
	check_encoded("\xed\xa0\xbdx\xed\xb8\x80", 7, "\\ud83dx\\ude00");
	check_encoded("\xed\xa0", 2, "\xed\xa0");
}

static void check_reads(const char *inside, const char *text, bool reads,
			bool begins)
{
	size_t len = strlen(inside), text_len = strlen(text);

	assert_true(json_reads(inside, len, text, text_len) == reads);
	assert_true(json_begins(inside, len, text, text_len) == begins);
}

static void strings_are_compared_as_they_are_written(void **state)
{
	(void)state;
	check_reads("", "", true, true);
	check_reads("a", "", false, true);
	check_reads("", "a", false, false);
	check_reads("a\\tb", "a\tb", true, true);
	check_reads("a\\tb", "a\t", false, true);
	check_reads("a\\tb", "a", false, true);
	check_reads("a\\tb", "a\\tb", false, false);
	check_reads("a\\\\tb", "a\\tb", true, true);
	check_reads("\\u0061\\/", "a/", true, true);
	check_reads("\\ud83d\\ude00!", "\xf0\x9f\x98\x80!", true, true);
	/* Over more than one step of sixteen bytes, and one byte short. */
	check_reads("0123456789abcdef0123456789\\nabcdefghijklmnopq",
		    "0123456789abcdef0123456789\nabcdefghijklmnopq", true,
		    true);
	check_reads("0123456789abcdef0123456789\\nabcdefghijklmnopq",
		    "0123456789abcdef0123456789\nabcdefghijklmnop", false,
		    true);
	check_reads("0123456789abcdef0123456789\\nabcdefghijklmnopq",
		    "0123456789abcdef0123456788\nabcdefghijklmnopq", false,
		    false);
}

static enum json_writing writing_of(const char *text)
{
	struct json j = { 0 };
	uint8_t writing;

	assert_int_equal(json_scan(&j, text, strlen(text)), 0);
	writing = j.nodes[0].writing;
	json_release(&j);
	return (enum json_writing)writing;
}

static void how_a_string_is_written_is_known(void **state)
{
	(void)state;
	assert_int_equal(writing_of("\"plain, and long enough to step\""),
			 JSON_AS_IS);
	assert_int_equal(writing_of("\"a\\n\""), JSON_USUAL);
	assert_int_equal(writing_of("\"\\\"\\\\\\b\\f\\n\\r\\t and more\""),
			 JSON_USUAL);
	assert_int_equal(writing_of("\"a\\/\""), JSON_UNUSUAL);
	assert_int_equal(writing_of("\"a\\/ far from the end of it\\n\""),
			 JSON_UNUSUAL);
	assert_int_equal(writing_of("\"\\u001b[0m\\n\""), JSON_UNUSUAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_knows_its_bytes),
		cmocka_unit_test(what_is_not_json_is_refused),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(of_two_members_the_last_counts),
		cmocka_unit_test(strings_are_decoded),
		cmocka_unit_test(strings_are_encoded_as_little_as_can_be),
		cmocka_unit_test(strings_are_compared_as_they_are_written),
		cmocka_unit_test(how_a_string_is_written_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
