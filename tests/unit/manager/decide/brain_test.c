/* The brain over whole sessions (tests/support/session.h). */
#include "manager/decide/brain.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "manager/decide/evidence.h"
#include "manager/policy/policy.h"
#include "manager/report/report.h"
#include "tests/support/scratch.h"
#include "tests/support/session.h"

static bool sent_has(const struct session *s, const char *text)
{
	size_t len;
	const char *sent = session_sent(s, &len);

	return memmem(sent, len, text, strlen(text)) != NULL;
}

/* By a command, so that the model does not know what changed. */
static void read_and_edit(struct session *s)
{
	session_file(s, "a.py", 100, 1);
	session_request(s);
	session_read(s, "a.py", 0, 0);
	session_request(s);
	session_sed(s, "a.py", 7, "    changed = 1");
	session_request(s);
}

static void nothing_stale_means_nothing_changed(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");

	(void)state;
	session_file(s, "a.py", 100, 1);
	session_file(s, "b.py", 10, 2);
	session_read(s, "a.py", 0, 0);
	session_request(s);
	session_edit(s, "b.py", 1, "x = 1");
	session_request(s);
	assert_false(sent_has(s, "[statetape]"));
	session_free(s);
}

static void a_note_is_sent_again_byte_for_byte_after_a_restart(void **state)
{
	char *dir = scratch_new();
	struct session *s = session_new(MODE_PINNED, dir, "one");
	struct session_totals before;
	char *sent;
	size_t len, again;

	(void)state;
	read_and_edit(s);
	assert_true(sent_has(s, "[statetape] a.py"));
	assert_true(sent_has(s, "changed = 1"));
	sent = strdup(session_sent(s, &len));
	before = session_totals(s);
	session_restart(s);
	session_request(s);
	assert_string_equal(session_sent(s, &again), sent);
	assert_int_equal(session_totals(s).rewritten, before.rewritten);
	free(sent);
	session_free(s);
	scratch_free(dir);
}

static void without_a_tape_what_was_told_is_told_again(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");

	(void)state;
	session_file(s, "a.py", 100, 1);
	session_read(s, "a.py", 0, 0);
	session_request(s);
	session_sed(s, "a.py", 7, "    changed = 1");
	session_request(s);
	session_tape(s, false);
	session_sed(s, "a.py", 9, "    later = 2");
	session_request(s);
	assert_true(sent_has(s, "[statetape] a.py"));
	assert_int_equal(session_totals(s).rewritten, 0);
	session_tape(s, true);
	session_say(s, 100);
	session_request(s);
	assert_int_equal(session_totals(s).unflagged, 0);
	session_free(s);
}

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

/* Evicts b.py, and once retrieves code. */
static bool shown;

static int decide_tidy(const struct policy_in *in, struct policy_out *out)
{
	static const char text[] = "def needed_next():\n    return 1\n";

	for (size_t i = 0; i < in->count; i++) {
		const char *path = in->records[i].path;

		assert_true(records_read(in->all, (uint32_t)i)->text.len > 0);
		out->evict[i] = path && strcmp(path, "b.py") == 0;
	}
	assert_true(in->task.len > 0 && in->budget > 0);
	if (in->count && !shown)
		(void)buf_add(out->retrieved, text, strlen(text));
	shown = shown || in->count;
	return 0;
}

static int decide_not(const struct policy_in *in, struct policy_out *out)
{
	(void)buf_add(out->retrieved, "half done", 9);
	for (size_t i = 0; i < in->count; i++)
		out->evict[i] = true;
	return -EIO;
}

static const struct policy tidy = { "tidy", decide_tidy, false };
static const struct policy failing = { "failing", decide_not, false };

static void a_policy_may_evict_and_retrieve(void **state)
{
	char *dir = scratch_new();
	struct session *s = session_new(MODE_PINNED, dir, "one");
	size_t len, again;
	char *sent;

	(void)state;
	shown = false;
	session_policy(s, &tidy);
	session_file(s, "a.py", 100, 1);
	session_file(s, "b.py", 100, 2);
	session_read(s, "a.py", 0, 0);
	session_read(s, "b.py", 0, 0);
	session_request(s);
	/* A new record is not evicted, and no cached item changes. */
	assert_true(sent_has(s, "[statetape] What the next step may need:"));
	assert_true(sent_has(s, "def needed_next()"));
	session_say(s, 100);
	session_request(s);
	assert_false(sent_has(s, "was finished with"));
	assert_int_equal(times_sent(s, "def needed_next()"), 1);
	/* A cold cache makes it free. */
	session_wait(s, 3600);
	session_say(s, 100);
	session_request(s);
	assert_true(sent_has(s, "[statetape] removed: b.py was finished with"));
	assert_int_equal(times_sent(s, "def needed_next()"), 1);
	assert_int_equal(session_totals(s).unflagged, 0);
	/* It stays so, also after a restart. */
	sent = strdup(session_sent(s, &len));
	session_restart(s);
	session_request(s);
	assert_string_equal(session_sent(s, &again), sent);
	free(sent);
	session_free(s);
	scratch_free(dir);
}

static void what_is_finished_with_goes_at_once_in_eager(void **state)
{
	struct session *s = session_new(MODE_EAGER, NULL, "one");

	(void)state;
	shown = true;
	session_policy(s, &tidy);
	session_file(s, "b.py", 100, 2);
	session_read(s, "b.py", 0, 0);
	session_request(s);
	assert_false(sent_has(s, "was finished with"));
	session_say(s, 100);
	session_request(s);
	assert_true(sent_has(s, "[statetape] removed: b.py was finished with"));
	session_free(s);
}

static void a_policy_that_fails_leaves_nothing_behind(void **state)
{
	struct session *s = session_new(MODE_EAGER, NULL, "one");

	(void)state;
	session_policy(s, &failing);
	read_and_edit(s);
	session_say(s, 100);
	session_request(s);
	assert_false(sent_has(s, "half done"));
	assert_false(sent_has(s, "was finished with"));
	assert_true(sent_has(s, "[statetape]"));
	assert_int_equal(session_totals(s).unflagged, 0);
	session_free(s);
}

static void a_stub_for_what_is_stale_gets_the_text(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");

	(void)state;
	read_and_edit(s);
	session_read_stub(s, "a.py");
	session_request(s);
	assert_false(sent_has(s, "unchanged since last read"));
	assert_true(sent_has(s, "7\\t    changed = 1"));
	session_free(s);
}

static void an_idle_cache_is_the_time_to_rewrite(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");

	(void)state;
	read_and_edit(s);
	assert_false(sent_has(s, "is shown as it is now"));
	session_wait(s, 3600);
	session_say(s, 100);
	session_request(s);
	assert_true(sent_has(s, "is shown as it is now"));
	assert_false(sent_has(s, "What is different now"));
	session_free(s);
}

static int kept(struct session *s)
{
	cJSON *report = cJSON_CreateObject();
	int n;

	assert_int_equal(
		report_answer(session_brain(s), "REPORT", NULL, report), 0);
	n = cJSON_GetObjectItem(report, "requests")->valueint;
	cJSON_Delete(report);
	return n;
}

static void what_was_decided_is_kept_before_the_reply(void **state)
{
	static const char body[] =
		"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
		"\"x\"}],\"tools\":[{\"name\":\"Read\"}]}";
	struct session *s = session_new(MODE_EAGER, NULL, "one");
	struct request r = { .method = "POST",
			     .target = "/v1/messages",
			     .body = body,
			     .len = strlen(body),
			     .at_ns = 1,
			     .deadline_ns = INT64_MAX };
	struct turn *turn;
	size_t len;

	(void)state;
	(void)brain_think(session_brain(s), &r, &len, &turn);
	turn_sent(turn);
	assert_int_equal(kept(s), 1);
	turn_drop_body(turn);
	turn_end(turn, true);
	assert_int_equal(kept(s), 1);
	/* turn_end() saves what turn_sent() did not. */
	(void)brain_think(session_brain(s), &r, &len, &turn);
	turn_end(turn, true);
	assert_int_equal(kept(s), 2);
	session_free(s);
}

static void a_conversation_that_was_refused_is_left_alone(void **state)
{
	static const char body[] =
		"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
		"\"x\"}],\"tools\":[{\"name\":\"Read\"}]}";
	struct session *s = session_new(MODE_EAGER, NULL, "one");
	struct header h = { "X-Claude-Code-Session-Id", "one" };
	struct request r = { .method = "POST",
			     .target = "/v1/messages",
			     .headers = &h,
			     .headers_count = 1,
			     .body = body,
			     .len = strlen(body),
			     .at_ns = 1,
			     .deadline_ns = INT64_MAX };
	struct turn *turn;
	size_t len;

	(void)state;
	(void)brain_think(session_brain(s), &r, &len, &turn);
	turn_refused(turn, 400);
	turn_end(turn, true);
	read_and_edit(s);
	assert_false(sent_has(s, "[statetape]"));
	session_free(s);
}

static void a_cache_that_reads_too_little_ends_the_rewriting(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");

	(void)state;
	session_usage(s, 50000, 10000);
	read_and_edit(s);
	session_say(s, 100);
	session_request(s);
	assert_string_equal(session_heard(s), "");
	session_usage(s, 100, 59900);
	for (int i = 0; i < 2; i++) {
		session_say(s, 100);
		session_request(s);
	}
	assert_non_null(strstr(session_heard(s), "cache read 100 of"));
	session_sed(s, "a.py", 30, "    never_told = 1");
	session_request(s);
	/* Earlier notes are sent again, and no new ones. */
	assert_true(sent_has(s, "+    changed = 1"));
	assert_false(sent_has(s, "+    never_told = 1"));
	session_free(s);
}

static void under_a_subscription_only_notes_are_added(void **state)
{
	struct session *s = session_new(MODE_EAGER, NULL, "one");

	(void)state;
	session_login(s, "Bearer sk-ant-oat01-x");
	read_and_edit(s);
	assert_true(sent_has(s, "What is different now"));
	assert_false(sent_has(s, "is shown as it is now"));
	session_free(s);
}

static void a_rewound_talk_is_told_again(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");
	size_t mark;

	(void)state;
	session_file(s, "a.py", 100, 1);
	session_read(s, "a.py", 0, 0);
	session_request(s);
	mark = session_mark(s);
	session_outside(s, "a.py", 7, "    changed = 1");
	session_say(s, 100);
	session_run(s, "pytest -q", 300, NULL, 0);
	session_request(s);
	assert_true(sent_has(s, "changed = 1"));
	/* The note stood behind the run, which the rewind removed. */
	session_rewind(s, mark);
	session_say(s, 100);
	session_request(s);
	assert_true(sent_has(s, "changed = 1"));
	session_free(s);
}

static void what_is_no_request_of_a_model_passes(void **state)
{
	static const char *const bodies[] = { "", "{", "[]", "{\"a\":1}",
					      "{\"messages\":[]}" };
	struct session *s = session_new(MODE_EAGER, NULL, "one");
	struct turn *turn;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct request r = { .method = "POST",
				     .target = "/v1/messages",
				     .body = bodies[i],
				     .len = strlen(bodies[i]),
				     .deadline_ns = INT64_MAX };

		assert_null(brain_think(session_brain(s), &r, &len, &turn));
		turn_status(turn, 200, "text/event-stream");
		turn_reply(turn, "x", 1);
		turn_end(turn, false);
	}
	session_free(s);
}

static void paths_are_found_below_the_root(void **state)
{
	static const struct {
		const char *dir, *path, *want;
	} cases[] = {
		{ NULL, "/repo/a.py", "a.py" },
		{ NULL, "/mnt/x/a.py", "x/a.py" },
		{ NULL, "a/../b.py", "b.py" },
		{ "/repo/sub", "./b.py", "sub/b.py" },
		{ "sub", "../b.py", "b.py" },
		{ NULL, "/repository/a.py", NULL },
		{ NULL, "../a.py", NULL },
		{ NULL, "/repo", NULL },
		{ "/elsewhere", "a.py", NULL },
	};
	const struct roots roots = { .repo = "/repo", .other = "/mnt" };
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = evidence_path(&roots, cases[i].dir, cases[i].path,
					   path, sizeof(path));

		assert_int_equal(found, cases[i].want != NULL);
		if (found)
			assert_string_equal(path, cases[i].want);
	}
}

static void paths_are_those_of_where_the_agent_was_started(void **state)
{
	static const struct {
		const char *cwd, *dir, *path, *want;
	} cases[] = {
		{ "/repo/sub", NULL, "a.py", "sub/a.py" },
		{ "/repo/sub", NULL, "../a.py", "a.py" },
		{ "/repo/sub", NULL, "../../a.py", NULL },
		{ "/repo/sub", "deeper", "a.py", "sub/deeper/a.py" },
		{ "/repo/sub", "/repo/x", "a.py", "x/a.py" },
		{ "/repo/sub", NULL, "/repo/a.py", "a.py" },
		{ "/mnt/sub", NULL, "a.py", "sub/a.py" },
		{ "/elsewhere", NULL, "a.py", "a.py" },
	};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct roots roots = { "/repo", "/mnt", cases[i].cwd };
		bool found = evidence_path(&roots, cases[i].dir, cases[i].path,
					   path, sizeof(path));

		assert_int_equal(found, cases[i].want != NULL);
		if (found)
			assert_string_equal(path, cases[i].want);
	}
}

static void answers_are_given(void **state)
{
	struct session *s = session_new(MODE_PINNED, NULL, "one");
	cJSON *report = cJSON_CreateObject(), *context = cJSON_CreateObject();

	(void)state;
	read_and_edit(s);
	assert_int_equal(
		report_answer(session_brain(s), "REPORT", NULL, report), 0);
	assert_int_equal(cJSON_GetObjectItem(report, "requests")->valueint, 3);
	assert_int_equal(
		report_answer(session_brain(s), "CONTEXT", NULL, context), 0);
	assert_int_equal(cJSON_GetArraySize(
				 cJSON_GetObjectItem(context, "conversations")),
			 1);
	assert_int_equal(report_answer(session_brain(s), "WHO", NULL, context),
			 -ENOSYS);
	cJSON_Delete(report);
	cJSON_Delete(context);
	session_free(s);
}

/* A tape without entries; it keeps the time from which reads were asked. */
static int empty_tape(void *ctx, const char *ask, const cJSON *question,
		      int timeout_ms, cJSON **ret)
{
	int64_t *from_ns = ctx;

	(void)timeout_ms;
	*ret = cJSON_CreateObject();
	if (strcmp(ask, "SYNC") == 0)
		(void)cJSON_AddTrueToObject(*ret, "ready");
	if (strcmp(ask, "READSET") == 0)
		*from_ns = (int64_t)cJSON_GetNumberValue(
			cJSON_GetObjectItemCaseSensitive(question, "from_ns"));
	return 0;
}

static int64_t clock_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#define TALK                                                \
	"{\"model\":\"m\",\"tools\":[{\"name\":\"Bash\"}]," \
	"\"messages\":[{\"role\":\"user\",\"content\":\"Go.\"}"

static struct turn *think_of(struct brain *b, const char *body, int64_t at_ns)
{
	struct request r = { .method = "POST",
			     .target = "/v1/messages",
			     .body = body,
			     .len = strlen(body),
			     .at_ns = at_ns,
			     .deadline_ns = INT64_MAX };
	struct turn *turn;
	size_t len;

	(void)brain_think(b, &r, &len, &turn);
	turn_sent(turn);
	turn_status(turn, 200, "application/json");
	return turn;
}

/* The client may act before the manager has processed the reply. */
static void what_the_client_does_begins_with_the_reply(void **state)
{
	int64_t from_ns = 0, began, heard;
	struct brain_options o = { .repo = "/repo",
				   .ask = empty_tape,
				   .ask_ctx = &from_ns };
	struct brain *b;
	struct turn *turn;

	(void)state;
	assert_int_equal(brain_new(&o, &b, NULL), 0);
	began = clock_ns();
	turn = think_of(b, TALK "]}", 1000);
	turn_reply(turn, "{}", 2);
	heard = clock_ns() - began;
	while (clock_ns() - began <= heard + 1000)
		;
	turn_end(turn, true);
	turn = think_of(b,
			TALK ",{\"role\":\"assistant\",\"content\":[{\"type\":"
			     "\"tool_use\",\"id\":\"t\",\"name\":\"Bash\","
			     "\"input\":{\"command\":\"./x\"}}]},{\"role\":"
			     "\"user\",\"content\":[{\"type\":"
			     "\"tool_result\",\"tool_use_id\":\"t\","
			     "\"content\":\"said\"}]}]}",
			1000 + 2 * heard);
	turn_end(turn, true);
	assert_in_range(from_ns, 1000, 1000 + heard);
	brain_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_stale_means_nothing_changed),
		cmocka_unit_test(
			a_note_is_sent_again_byte_for_byte_after_a_restart),
		cmocka_unit_test(without_a_tape_what_was_told_is_told_again),
		cmocka_unit_test(a_policy_may_evict_and_retrieve),
		cmocka_unit_test(what_is_finished_with_goes_at_once_in_eager),
		cmocka_unit_test(a_policy_that_fails_leaves_nothing_behind),
		cmocka_unit_test(a_stub_for_what_is_stale_gets_the_text),
		cmocka_unit_test(an_idle_cache_is_the_time_to_rewrite),
		cmocka_unit_test(what_was_decided_is_kept_before_the_reply),
		cmocka_unit_test(a_conversation_that_was_refused_is_left_alone),
		cmocka_unit_test(
			a_cache_that_reads_too_little_ends_the_rewriting),
		cmocka_unit_test(under_a_subscription_only_notes_are_added),
		cmocka_unit_test(a_rewound_talk_is_told_again),
		cmocka_unit_test(what_is_no_request_of_a_model_passes),
		cmocka_unit_test(paths_are_found_below_the_root),
		cmocka_unit_test(
			paths_are_those_of_where_the_agent_was_started),
		cmocka_unit_test(answers_are_given),
		cmocka_unit_test(what_the_client_does_begins_with_the_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
