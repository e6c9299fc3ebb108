#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager/transcript/dom.h"

static int scan(struct dom *j, const char *text)
{
	return dom_scan(j, text, strlen(text));
}

static void every_value_has_its_span(void **state)
{
	const char *text = " {\"a\": [1, -2.5e3, null], \"b\":{} } ";
	struct dom j = { 0 };
	uint32_t a;

	(void)state;
	assert_int_equal(scan(&j, text), 0);
	a = dom_get(&j, 0, "a");
	assert_memory_equal(text + j.nodes[a].start, "[1, -2.5e3, null]", 17);
	assert_int_equal(j.nodes[a].end - j.nodes[a].start, 17);
	assert_int_equal(dom_integer(&j, a + 1, 0), 1);
	assert_int_equal(dom_integer(&j, a + 2, 7), 7);
	assert_int_equal(dom_first(&j, dom_get(&j, 0, "b")), DOM_NONE);
	assert_int_equal(dom_get(&j, 0, "c"), DOM_NONE);
	assert_int_equal(dom_get(&j, DOM_NONE, "c"), DOM_NONE);
	dom_release(&j);
}

static void invalid_json_is_refused(void **state)
{
	static const char *const bad[] = {
		"",	     "{",	"[1,]",	       "{\"a\":1,}", "[1 2]",
		"{\"a\" 1}", "01",	"1.",	       "1e",	     "nul",
		"\"a",	     "\"\\x\"", "\"\\u12g4\"", "\"\n\"",     "[]]",
		"{}{}",	     "{1:2}",	"-",	       "[}",	     "{]",
		"{\"a\"}",   "\"\\",	"\"\\u12",     "+1",	     ".5",
	};
	struct dom j = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(scan(&j, bad[i]), -EBADMSG);
	assert_int_equal(scan(&j, "1"), 0);
	dom_release(&j);
}

static void nesting_has_a_limit(void **state)
{
	char text[2 * DOM_DEPTH_MAX + 2];
	struct dom j = { 0 };

	(void)state;
	memset(text, '[', sizeof(text));
	memset(text + DOM_DEPTH_MAX, ']', DOM_DEPTH_MAX);
	assert_int_equal(dom_scan(&j, text, 2UL * DOM_DEPTH_MAX), 0);
	memset(text, '[', sizeof(text));
	assert_int_equal(dom_scan(&j, text, sizeof(text)), -EMSGSIZE);
	assert_int_equal(dom_scan(&j, text, DOM_TEXT_MAX + 1), -EMSGSIZE);
	dom_release(&j);
}

static void of_two_members_the_last_counts(void **state)
{
	struct dom j = { 0 };

	(void)state;
	assert_int_equal(scan(&j, "{\"a\":1,\"\\u0061\":2}"), 0);
	assert_int_equal(dom_integer(&j, dom_get(&j, 0, "a"), 0), 2);
	dom_release(&j);
}

static void check_text(const char *literal, const char *want, size_t len)
{
	struct dom j = { 0 };
	struct arena a = { 0 };
	struct text t;

	assert_int_equal(scan(&j, literal), 0);
	t = dom_text(&j, 0, &a);
	assert_int_equal(t.len, len);
	assert_memory_equal(t.at, want, len);
	arena_release(&a);
	dom_release(&j);
}

static void strings_are_decoded(void **state)
{
	(void)state;
	check_text("\"plain\"", "plain", 5);
	check_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
	check_text("\"\\u00e9\\u20AC\"", "\xc3\xa9\xe2\x82\xac", 5);
	check_text("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
	check_text("\"a\\u0000b\"", "a\0b", 3);
	/* Lone surrogates decode to WTF-8. */
	check_text("\"\\ud83dx\"", "\xed\xa0\xbdx", 4);
	check_text("\"\\ude00\\ud83d\"", "\xed\xb8\x80\xed\xa0\xbd", 6);
	check_text("\"\\ud83d\\ud83d\\ude00\"", "\xed\xa0\xbd\xf0\x9f\x98\x80",
		   7);
}

static enum literal_form form_of(const char *text)
{
	struct dom j = { 0 };
	uint8_t form;

	assert_int_equal(dom_scan(&j, text, strlen(text)), 0);
	form = j.nodes[0].form;
	dom_release(&j);
	return (enum literal_form)form;
}

static void the_form_of_a_literal_is_known(void **state)
{
	(void)state;
	assert_int_equal(form_of("\"plain, and long enough to step\""),
			 LITERAL_PLAIN);
	assert_int_equal(form_of("\"a\\n\""), LITERAL_CANONICAL);
	assert_int_equal(form_of("\"\\\"\\\\\\b\\f\\n\\r\\t and more\""),
			 LITERAL_CANONICAL);
	assert_int_equal(form_of("\"a\\/\""), LITERAL_OTHER);
	assert_int_equal(form_of("\"a\\/ far from the end of it\\n\""),
			 LITERAL_OTHER);
	assert_int_equal(form_of("\"\\u001b[0m\\n\""), LITERAL_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_has_its_span),
		cmocka_unit_test(invalid_json_is_refused),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(of_two_members_the_last_counts),
		cmocka_unit_test(strings_are_decoded),
		cmocka_unit_test(the_form_of_a_literal_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
