/*
 * What was told stays told: whatever the tape does, what a request had is in
 * the next one, and what could not be checked is said once.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager/policy/policy.h"
#include "manager/transcript/transcript.h"
#include "tests/support/scratch.h"
#include "tests/support/session.h"

static const char doubt[] = "may have changed since: this could not be checked "
			    "yet.";

static size_t times_sent(struct session *s, const char *text)
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

static bool sent_has(struct session *s, const char *text)
{
	return times_sent(s, text) > 0;
}

/* a.py was read and changed, and the model was told so. */
static struct session *told(const char *dir)
{
	struct session *s = session_new(MODE_PINNED, dir, "one");

	session_file(s, "a.py", 100, 1);
	session_file(s, "b.py", 100, 2);
	session_read(s, "a.py", 0, 0);
	session_request(s);
	session_sed(s, "a.py", 7, "    changed = 1");
	session_request(s);
	assert_true(sent_has(s, "+    changed = 1"));
	return s;
}

static const char *const needs_b[] = { "b.py" };

/* The tape is late with one question: its answer is awaited in vain. */
static void late_with(const char *question)
{
	struct session *s = told(NULL);
	uint32_t rewritten = session_totals(s).rewritten;

	session_trouble(s, question, -ETIMEDOUT);
	session_read(s, "b.py", 0, 0);
	session_run(s, "./check", 300, needs_b, 1);
	session_sed(s, "a.py", 9, "    later = 2");
	session_request(s);
	assert_true(sent_has(s, "+    changed = 1"));
	assert_false(sent_has(s, "+    later = 2"));
	assert_int_equal(times_sent(s, doubt), 1);
	/* It is said once. */
	session_run(s, "./check again", 300, needs_b, 1);
	session_request(s);
	session_sed(s, "a.py", 10, "    latest = 3");
	session_request(s);
	assert_int_equal(times_sent(s, doubt), 1);
	/* Then everything is decided. */
	session_trouble(s, NULL, 0);
	session_say(s, 100);
	session_request(s);
	assert_true(sent_has(s, "+    changed = 1"));
	assert_true(sent_has(s, "+    later = 2"));
	assert_int_equal(times_sent(s, doubt), 1);
	assert_int_equal(session_totals(s).unflagged, 0);
	assert_true(session_totals(s).rewritten <= rewritten + 1);
	/* The next time it is said again. */
	session_trouble(s, question, -ETIMEDOUT);
	session_run(s, "./check a third time", 300, needs_b, 1);
	session_sed(s, "a.py", 11, "    again = 4");
	session_request(s);
	assert_int_equal(times_sent(s, doubt), 2);
	session_free(s);
}

static void a_late_tape_takes_nothing_back(void **state)
{
	static const char *const questions[] = { "SYNC", "SINCE", "SOURCE",
						 "NOMINATE", "READSET" };

	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		print_message("%s\n", questions[i]);
		late_with(questions[i]);
	}
}

static void a_dead_tape_takes_nothing_back_after_a_restart(void **state)
{
	char *dir = scratch_new();
	struct session *s = told(dir);

	(void)state;
	session_tape(s, false);
	session_run(s, "./check", 300, NULL, 0);
	session_request(s);
	assert_int_equal(times_sent(s, doubt), 1);
	session_restart(s);
	session_run(s, "./check", 300, NULL, 0);
	session_request(s);
	assert_true(sent_has(s, "+    changed = 1"));
	assert_true(sent_has(s, doubt));
	assert_int_equal(session_totals(s).rewritten, 0);
	session_free(s);
	scratch_free(dir);
}

/* Its own edits are still its own when they are decided about later. */
static void what_was_left_over_is_decided_as_if_at_once(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");

	(void)state;
	session_file(s, "a.py", 100, 1);
	session_read(s, "a.py", 0, 0);
	session_request(s);
	session_trouble(s, "NOMINATE", -ETIMEDOUT);
	session_edit(s, "a.py", 7, "    changed = 1");
	session_request(s);
	assert_int_equal(times_sent(s, doubt), 1);
	session_trouble(s, NULL, 0);
	session_run(s, "true", 100, NULL, 0);
	session_request(s);
	assert_int_equal(session_totals(s).unflagged, 0);
	assert_int_equal(times_sent(s, "[statetape]"), 1);
	session_free(s);
}

/* A policy that retrieves more than the body can hold. */
static bool breaking;

static int decide_breaking(const struct policy_in *in, struct policy_out *out)
{
	static char code[6000];

	(void)in;
	memset(code, '#', sizeof(code));
	if (breaking)
		(void)buf_add(out->retrieved, code, sizeof(code));
	return 0;
}
static const struct policy breaks = { "breaks", decide_breaking, false };

static void what_cannot_be_put_in_takes_nothing_else_away(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");
	size_t len;

	(void)state;
	breaking = false;
	session_policy(s, &breaks);
	session_file(s, "a.py", 100, 1);
	session_read(s, "a.py", 0, 0);
	session_request(s);
	session_sed(s, "a.py", 7, "    changed = 1");
	session_request(s);
	assert_true(sent_has(s, "+    changed = 1"));
	(void)session_sent(s, &len);
	session_say(s, TRANSCRIPT_MAX - len - 3000);
	breaking = true;
	session_run(s, "true", 100, NULL, 0);
	session_request(s);
	assert_true(sent_has(s, "+    changed = 1"));
	assert_true(strstr(session_heard(s), "as it was before") != NULL);
	breaking = false;
	session_sed(s, "a.py", 9, "    later = 2");
	session_request(s);
	assert_true(sent_has(s, "+    changed = 1"));
	assert_true(sent_has(s, "+    later = 2"));
	session_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_tape_takes_nothing_back),
		cmocka_unit_test(
			a_dead_tape_takes_nothing_back_after_a_restart),
		cmocka_unit_test(what_was_left_over_is_decided_as_if_at_once),
		cmocka_unit_test(what_cannot_be_put_in_takes_nothing_else_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
