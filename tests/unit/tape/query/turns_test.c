#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tests/support/tape_asks.h"

/* Two agents, a command of the first, and a person's shell. */
static struct journal_author root = { .pid = 1, .cmdline = "init" };
static struct journal_author one = {
	.pid = 100, .start = 7, .cmdline = "claude", .parent = &root
};
static struct journal_author two = {
	.pid = 200, .start = 8, .cmdline = "claude", .parent = &root
};
static struct journal_author bash = { .pid = 101,
				      .start = 9,
				      .cmdline = "bash -c sed -i s/a/b/ x",
				      .parent = &one };
static struct journal_author sed = {
	.pid = 102, .start = 9, .cmdline = "sed -i s/a/b/ x", .parent = &bash
};
static struct journal_author person = {
	.pid = 300, .start = 9, .cmdline = "vim x", .parent = &root
};

/* The time of the entry that is written next. */
static long long now(const struct tape_world *w)
{
	return (long long)w->now_ns;
}

/* A request of an agent in its conversation `key`, and the reply's calls. */
static void step(struct tape_world *w, const struct journal_author *agent,
		 const char *key, const char *turn, const char *results,
		 const char *calls)
{
	CLEANUP(free_p) char *q = NULL;

	w->now_ns += 10000000;
	assert_true(asprintf(&q,
			     "{\"conversation\":\"%s\",\"turn\":\"%s\","
			     "\"client\":\"claude-code\",\"model\":\"m-1\","
			     "\"prompt\":\"do %s\",\"pid\":%u,\"start\":%u,"
			     "\"at_ns\":%lld,\"calls_ns\":%lld,"
			     "\"results\":[%s],\"calls\":[%s]}",
			     key, turn, turn, agent->pid,
			     (unsigned)agent->start, now(w) - 1000000,
			     now(w) - 500000, results, calls) > 0);
	cJSON_Delete(ask(w, "TURN", q));
}

/* "CONVERSATION ORDINAL CALL" of the entry that `author` makes now. */
static void expect_turn(struct tape_world *w, const char *path,
			const struct journal_author *author, const char *want)
{
	static int texts;
	CLEANUP(json_p) cJSON *answer = NULL;
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(free_p) char *got = NULL;
	CLEANUP(free_p) char *q = NULL;
	const cJSON *turn;

	assert_true(asprintf(&text, "text %d\n", texts++) > 0);
	assert_true(asprintf(&q, "{\"n\":%u}",
			     (unsigned)tape_write(w, path, text, author)) > 0);
	answer = ask(w, "SHOW", q);
	turn = json_member(json_member(answer, "entry"), "turn");
	assert_true(asprintf(&got, "%s %u %s",
			     json_string_or(turn, "conversation", "-"),
			     (unsigned)json_number(turn, "ordinal", 0),
			     json_string_or(turn, "call", "-")) > 0);
	assert_string_equal(got, want);
}

#define SED  "{\"id\":\"c1\",\"tool\":\"Bash\",\"command\":\"sed -i s/a/b/ x\"}"
#define EDIT "{\"id\":\"c2\",\"tool\":\"Edit\",\"paths\":[\"y\"]}"

static void an_entry_is_of_the_call_that_made_it(void **state)
{
	struct tape_world *w = *state;

	expect_turn(w, "x", &sed, "- 0 -");
	step(w, &one, "k", "first", "", SED "," EDIT);
	expect_turn(w, "x", &sed, "k 1 c1");
	expect_turn(w, "y", &one, "k 1 c2");
	expect_turn(w, "z", &one, "k 1 -");
	step(w, &one, "k", "first", "\"c1\",\"c2\"", "");
	expect_turn(w, "y", &one, "k 1 -");
	/* What goes on is known by its command line. */
	expect_turn(w, "x", &sed, "k 1 c1");
	step(w, &one, "k", "second", "", "");
	expect_turn(w, "y", &one, "k 2 -");
}

static void other_processes_are_not_the_turns(void **state)
{
	struct tape_world *w = *state;

	step(w, &one, "k", "first", "", SED "," EDIT);
	expect_turn(w, "x", &person, "- 0 -");
	expect_turn(w, "y", &two, "- 0 -");
	expect_turn(w, "y", NULL, "- 0 -");
}

static void two_agents_are_told_apart(void **state)
{
	struct tape_world *w = *state;

	step(w, &one, "k", "first", "", EDIT);
	step(w, &two, "l", "first", "",
	     "{\"id\":\"d\",\"tool\":\"Edit\",\"paths\":[\"y\"]}");
	expect_turn(w, "y", &two, "l 1 d");
	expect_turn(w, "y", &one, "k 1 c2");
}

static void a_subagents_calls_are_its_conversations(void **state)
{
	struct tape_world *w = *state;

	step(w, &one, "k", "first", "", "");
	step(w, &one, "sub", "task", "", SED);
	expect_turn(w, "x", &sed, "sub 1 c1");
	step(w, &one, "k", "first", "", EDIT);
	expect_turn(w, "x", &sed, "sub 1 c1");
	expect_turn(w, "y", &one, "k 1 c2");
	step(w, &one, "sub", "task", "\"c1\"", "");
	step(w, &one, "k", "first", "\"c2\"", "");
	expect_turn(w, "q", &one, "k 1 -");
}

static void a_step_twice_changes_nothing(void **state)
{
	struct tape_world *w = *state;
	CLEANUP(json_p) cJSON *answer = NULL;

	step(w, &one, "k", "first", "", EDIT);
	step(w, &one, "k", "first", "", EDIT);
	expect_turn(w, "y", &one, "k 1 c2");
	step(w, &one, "k", "second", "", "");
	step(w, &one, "k", "first", "", "");
	expect_turn(w, "y", &one, "k 1 -");
	answer = ask(w, "LOG", "{\"limit\":1}");
	assert_string_equal(
		json_string(json_member(json_member(answer, "entries")->child,
					"turn"),
			    "prompt"),
		"do first");
}

static void a_new_prompt_ends_the_calls_before(void **state)
{
	struct tape_world *w = *state;

	step(w, &one, "k", "first", "", EDIT);
	step(w, &one, "k", "second", "", "");
	expect_turn(w, "y", &one, "k 2 -");
}

static void wrong_questions_are_refused(void **state)
{
	struct tape_world *w = *state;

	refused(w, "TURN", "{\"turn\":\"x\",\"at_ns\":1}",
		"TURN wants \"conversation\", a string.");
	refused(w, "TURN",
		"{\"conversation\":\"k\",\"turn\":\"x\",\"at_ns\":1,"
		"\"calls\":[{\"paths\":7}]}",
		"\"paths\" of a call must be a list of strings, escaped.");
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, tape_setup, tape_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_entry_is_of_the_call_that_made_it),
		TEST(other_processes_are_not_the_turns),
		TEST(two_agents_are_told_apart),
		TEST(a_subagents_calls_are_its_conversations),
		TEST(a_step_twice_changes_nothing),
		TEST(a_new_prompt_ends_the_calls_before),
		TEST(wrong_questions_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
