#include "tools/cli/when.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)
/* 2026-01-02 03:04:05 UTC and 7 ns. */
#define NOW_NS (INT64_C(1767323045) * SECOND + 7)

static void is_time(const char *text, int64_t seconds)
{
	int64_t ns = 0;

	assert_int_equal(when_parse(text, NOW_NS, &ns), 0);
	assert_int_equal(ns / SECOND, seconds);
}

static void a_date_is_local_unless_it_says_otherwise(void **state)
{
	(void)state;
	is_time("2026-01-02T03:04:05Z", 1767323045);
	is_time("2026-01-02 03:04:05.678901Z", 1767323045);
	is_time("2026-01-02T04:04:05", 1767323045);
	is_time("2026-01-02 04:04", 1767323040);
	is_time("2026-01-02", 1767308400);
}

static void a_time_may_be_some_time_ago(void **state)
{
	(void)state;
	is_time("now", 1767323045);
	is_time("1 second ago", 1767323044);
	is_time("20 minutes ago", 1767323045 - 1200);
	is_time("2 hours ago", 1767323045 - 7200);
	is_time("3 days ago", 1767323045 - 3 * 86400);
	is_time("1 week ago", 1767323045 - 7 * 86400);
	is_time("today", 1767308400);
	is_time("yesterday", 1767308400 - 86400);
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"soon",
		"2 hours",
		"ago",
		"two days ago",
		"2 parsecs ago",
		"100000000 weeks ago",
		"9999-12-31",
		"2026-13-01",
		"2026-02-30",
		"2026-01-02x",
		"2026-01-02T",
		"-1 hours ago",
		"9999999999999 days ago",
	};
	int64_t ns;

	(void)state;
	for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
		assert_int_equal(when_parse(texts[k], NOW_NS, &ns), -EINVAL);
}

static void a_time_is_told_as_people_do(void **state)
{
	char text[40];

	(void)state;
	when_text(NOW_NS + 123000000, 1, text, sizeof(text));
	assert_string_equal(text, "2026-01-02 04:04:05.123");
	when_text(NOW_NS, 0, text, sizeof(text));
	assert_string_equal(text, "2026-01-02 04:04:05");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_date_is_local_unless_it_says_otherwise),
		cmocka_unit_test(a_time_may_be_some_time_ago),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(a_time_is_told_as_people_do),
	};

	/*
	 * A time zone one hour ahead of UTC, without summer time. There is one
	 * thread.
	 */
	(void)setenv("TZ", "XYZ-1", 1); /* NOLINT(concurrency-mt-unsafe) */
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
