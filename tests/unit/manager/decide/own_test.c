/*
 * The model's own edits: no note as long as the calls behind a record say what
 * changed (manager/decide/own.h).
 */
#include "manager/decide/brain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/scratch.h"
#include "tests/support/session.h"

static size_t times_sent(const struct session *s, const char *text)
{
	size_t len, n = 0;
	const char *sent = session_sent(s, &len), *end = sent + len;

	while ((sent = memmem(sent, (size_t)(end - sent), text,
			      strlen(text)))) {
		sent++;
		n++;
	}
	return n;
}

static bool sent_has(const struct session *s, const char *text)
{
	return times_sent(s, text) > 0;
}

/* A file that was read, and an edit of it. */
static struct session *edited(const char *dir)
{
	struct session *s = session_new(MODE_PINNED, dir, "one");

	session_file(s, "a.py", 100, 1);
	session_request(s);
	session_read(s, "a.py", 0, 0);
	session_request(s);
	session_edit(s, "a.py", 7, "    by_edit = 1");
	session_request(s);
	return s;
}

static void an_edit_needs_no_note(void **state)
{
	struct session *s = edited(NULL);

	(void)state;
	assert_false(sent_has(s, "[statetape]"));
	session_edit(s, "a.py", 9, "    by_edit = 2");
	session_request(s);
	session_say(s, 100);
	session_request(s);
	assert_false(sent_has(s, "[statetape]"));
	assert_int_equal(session_totals(s).unflagged, 0);
	session_free(s);
}

static void a_restart_does_not_forget_whose_edits_they_were(void **state)
{
	char *dir = scratch_new();
	struct session *s = edited(dir);

	(void)state;
	session_restart(s);
	session_say(s, 100);
	session_request(s);
	assert_false(sent_has(s, "[statetape]"));
	session_free(s);
	scratch_free(dir);
}

static void a_change_by_others_is_told_without_the_edits(void **state)
{
	struct session *s = edited(NULL);

	(void)state;
	session_sed(s, "a.py", 30, "    by_sed = 3");
	session_request(s);
	assert_int_equal(times_sent(s, "[statetape]"), 1);
	assert_true(sent_has(s, "+    by_sed = 3"));
	assert_false(sent_has(s, "+    by_edit = 1"));
	session_edit(s, "a.py", 40, "    by_edit = 4");
	session_request(s);
	assert_int_equal(times_sent(s, "[statetape]"), 1);
	session_outside(s, "a.py", 50, "    by_another = 5");
	session_request(s);
	assert_int_equal(times_sent(s, "[statetape]"), 2);
	assert_true(sent_has(s, "+    by_another = 5"));
	assert_int_equal(session_totals(s).unflagged, 0);
	session_free(s);
}

static void a_change_by_others_in_the_same_turn_is_told(void **state)
{
	struct session *s = edited(NULL);

	(void)state;
	session_outside(s, "a.py", 12, "    by_another = 4");
	session_edit(s, "a.py", 14, "    by_edit = 5");
	session_request(s);
	assert_true(sent_has(s, "+    by_another = 4"));
	assert_int_equal(session_totals(s).unflagged, 0);
	session_free(s);
}

static void an_edit_that_was_rewound_is_told(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");
	size_t mark;

	(void)state;
	session_file(s, "a.py", 100, 1);
	session_read(s, "a.py", 0, 0);
	session_request(s);
	mark = session_mark(s);
	session_edit(s, "a.py", 7, "    by_edit = 1");
	session_request(s);
	assert_false(sent_has(s, "[statetape]"));
	session_rewind(s, mark);
	session_say(s, 100);
	session_request(s);
	assert_true(sent_has(s, "+    by_edit = 1"));
	assert_int_equal(session_totals(s).unflagged, 0);
	session_free(s);
}

static void a_failed_edit_is_answered_with_what_changed(void **state)
{
	struct session *s = edited(NULL);

	(void)state;
	session_edit_failed(s, "a.py");
	session_request(s);
	assert_int_equal(times_sent(s, "[statetape]"), 1);
	assert_true(sent_has(s, "is outdated (your own edits)"));
	assert_true(sent_has(s, "+    by_edit = 1"));
	/* Once. */
	session_edit_failed(s, "a.py");
	session_request(s);
	assert_int_equal(times_sent(s, "[statetape]"), 1);
	session_free(s);
}

static void other_lines_of_the_file_are_not_its_concern(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");

	(void)state;
	session_file(s, "a.py", 300, 1);
	session_read(s, "a.py", 20, 40);
	session_request(s);
	session_edit(s, "a.py", 25, "    by_edit = 1");
	session_request(s);
	session_outside(s, "a.py", 200, "    by_another = 2");
	session_request(s);
	assert_false(sent_has(s, "[statetape]"));
	session_outside(s, "a.py", 30, "    by_another = 3");
	session_request(s);
	assert_true(sent_has(s, "+    by_another = 3"));
	assert_int_equal(session_totals(s).unflagged, 0);
	session_free(s);
}

static void lines_that_moved_far_are_told_once(void **state)
{
	struct session *s = edited(NULL);
	char many[256];

	(void)state;
	/* 50 more lines. */
	memset(many, '\n', 50);
	(void)snprintf(many + 50, sizeof(many) - 50, "    by_edit = 2");
	session_edit(s, "a.py", 20, many);
	session_request(s);
	assert_int_equal(times_sent(s, "[statetape]"), 1);
	assert_true(sent_has(s, "from line 21 on by +50 lines"));
	session_edit(s, "a.py", 5, "    by_edit = 6");
	session_request(s);
	assert_int_equal(times_sent(s, "[statetape]"), 1);
	session_free(s);
}

/* -- Runs. */

static void test_it(struct session *s)
{
	const char *opened[] = { "a.py" };

	session_run(s, "pytest -q", 300, opened, 1);
	session_request(s);
}

static void edits_and_tests_in_turn_need_no_note(void **state)
{
	struct session *s = edited(NULL);

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		test_it(s);
		session_edit(s, "a.py", 30 + i, "    by_edit = 1");
		session_request(s);
	}
	assert_false(sent_has(s, "[statetape]"));
	session_free(s);
}

static void a_run_that_edits_outdated_is_told_once_when_they_end(void **state)
{
	const char *opened[] = { "a.py" };
	struct session *s = edited(NULL);

	(void)state;
	test_it(s);
	session_run(s, "python tool.py", 300, opened, 1);
	session_request(s);
	session_edit(s, "a.py", 30, "    by_edit = 1");
	session_request(s);
	assert_false(sent_has(s, "[statetape]"));
	session_read(s, "a.py", 1, 5);
	session_request(s);
	assert_int_equal(times_sent(s, "[statetape]"), 1);
	assert_true(sent_has(s, "`pytest -q`, `python tool.py` ran before "
				"later changes (your edits)"));
	test_it(s);
	session_edit(s, "a.py", 31, "    by_edit = 1");
	session_request(s);
	session_read(s, "a.py", 1, 5);
	session_request(s);
	assert_int_equal(times_sent(s, "[statetape]"), 1);
	session_free(s);
}

static void a_run_that_others_outdated_is_told_at_once(void **state)
{
	struct session *s = edited(NULL);

	(void)state;
	test_it(s);
	session_outside(s, "a.py", 30, "    by_another = 1");
	session_edit(s, "b.py", 1, "x");
	session_request(s);
	assert_true(sent_has(s, "`pytest -q` ran before later changes"));
	session_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_edit_needs_no_note),
		cmocka_unit_test(
			a_restart_does_not_forget_whose_edits_they_were),
		cmocka_unit_test(a_change_by_others_is_told_without_the_edits),
		cmocka_unit_test(a_change_by_others_in_the_same_turn_is_told),
		cmocka_unit_test(an_edit_that_was_rewound_is_told),
		cmocka_unit_test(a_failed_edit_is_answered_with_what_changed),
		cmocka_unit_test(other_lines_of_the_file_are_not_its_concern),
		cmocka_unit_test(lines_that_moved_far_are_told_once),
		cmocka_unit_test(edits_and_tests_in_turn_need_no_note),
		cmocka_unit_test(
			a_run_that_edits_outdated_is_told_once_when_they_end),
		cmocka_unit_test(a_run_that_others_outdated_is_told_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
