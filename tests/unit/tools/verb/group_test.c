#include "tools/verb/log/group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "graph/base/json.h"

/* A process as an entry has it. */
#define P(pid, exe, line)                          \
	"\"pid\":" #pid ",\"start\":" #pid         \
	",\"comm\":\"\",\"exe\":\"/bin/" exe "\"," \
	"\"cmdline\":\"" line "\""
#define OF(author, ...)                            \
	"\"author\":{\"origin\":\"mount\"," author \
	",\"ancestors\":[" __VA_ARGS__ "]}"
#define ABOVE(process) "{" process "}"

#define LOGIN ABOVE(P(10, "bash", "-bash")) "," ABOVE(P(1, "init", "init"))
#define AGENT ABOVE(P(50, "node", "node /usr/bin/claude")) "," LOGIN

static cJSON *entry(uint64_t n, double second, const char *members)
{
	CLEANUP(free_p) char *text = NULL;
	cJSON *e;

	assert_true(asprintf(&text,
			     "{\"n\":%u,\"at_ns\":%.0f,\"kind\":\"edit\",%s}",
			     (unsigned)n, second * 1e9, members) > 0);
	e = cJSON_Parse(text);
	assert_non_null(e);
	return e;
}

static void expect_key(const char *members, const char *want)
{
	CLEANUP(json_p) cJSON *e = entry(7, 1, members);
	CLEANUP(free_p) char *key = group_key(e);

	assert_string_equal(key, want);
}

static void a_command_is_what_the_shell_started(void **state)
{
	(void)state;
	expect_key(OF(P(20, "git", "git checkout x"), LOGIN), "process 20 20");
	expect_key(OF(P(31, "sed", "sed -i s/a/b/ x"),
		      ABOVE(P(30, "sh", "sh -c make")) "," ABOVE(
			      P(20, "make", "make")) "," LOGIN),
		   "process 20 20");
	expect_key(OF(P(31, "sed", "sed -i s/a/b/ x"),
		      ABOVE(P(30, "bash", "bash ./fix.sh")) "," LOGIN),
		   "process 30 30");
	/* What a shell at its prompt writes itself is its own. */
	expect_key(OF(P(10, "bash", "bash -i"), ABOVE(P(1, "init", "init"))),
		   "entry 7");
}

static void a_command_of_an_agent_is_what_it_started(void **state)
{
	(void)state;
	expect_key(OF(P(61, "sed", "sed -i s/a/b/ x"),
		      ABOVE(P(60, "bash", "bash -c 'sed; make'")) "," AGENT),
		   "process 60 60");
	expect_key(OF(P(50, "node", "node /usr/bin/claude"), LOGIN), "entry 7");
	/* The tape knows the agent, even one whose name says nothing. */
	expect_key("\"turn\":{\"pid\":20}," OF(
			   P(31, "sed", "sed"),
			   ABOVE(P(30, "sh", "sh -c x")) "," ABOVE(
				   P(20, "mine", "mine")) "," LOGIN),
		   "process 30 30");
	expect_key("\"turn\":{\"pid\":20,\"conversation\":\"k\","
		   "\"call\":\"c\"}," OF(P(20, "mine", "mine"), LOGIN),
		   "call k c");
}

static void without_a_session_the_top_is_one(void **state)
{
	(void)state;
	expect_key(OF(P(31, "sed", "sed"),
		      ABOVE(P(30, "sh", "sh -c x")) "," ABOVE(
			      P(20, "python3", "python3 test.py"))),
		   "process 30 30");
	expect_key(OF(P(31, "sed", "sed"), ABOVE(P(30, "sh", "sh x"))),
		   "process 31 31");
	expect_key(OF(P(31, "sed", "sed")), "process 31 31");
	expect_key("\"author\":{\"origin\":\"outside\"}", "outside");
}

#define GIT(pid) OF(P(pid, "git", "git checkout x"), LOGIN)

/* "5,4 3 2,1": the groups of these entries, which are all there are. */
static void expect_groups(cJSON *const *newest_first, size_t count,
			  const char *want)
{
	struct groups all = { .taken = 0 };
	struct group *g;
	char got[128] = "";

	for (size_t i = 0; i < count; i++)
		groups_add(&all, newest_first[i]);
	while ((g = groups_next(&all, true))) {
		for (uint32_t i = 0; i < g->entries.count; i++) {
			size_t len = strlen(got);

			(void)snprintf(got + len, sizeof(got) - len, "%s%u",
				       i     ? ","
				       : len ? " "
					     : "",
				       (unsigned)json_number(g->entries.at[i],
							     "n", 0));
		}
		group_free(g);
	}
	groups_release(&all);
	assert_string_equal(got, want);
}

static void entries_of_one_command_are_a_group(void **state)
{
	cJSON *all[] = { entry(5, 6, GIT(21)), entry(4, 5, GIT(20)),
			 entry(3, 4, GIT(21)), entry(2, 3, GIT(20)),
			 entry(1, 1, GIT(22)) };

	(void)state;
	expect_groups(all, 5, "5,3 4,2 1");
}

static void a_rest_ends_a_command(void **state)
{
	cJSON *all[] = { entry(4, 60, GIT(20)), entry(3, 50.5, GIT(20)),
			 entry(2, 40, GIT(20)), entry(1, 39, GIT(20)) };

	(void)state;
	expect_groups(all, 4, "4,3 2,1");
}

static void a_group_comes_when_it_is_complete(void **state)
{
	struct groups all = { .taken = 0 };
	struct group *g;

	(void)state;
	groups_add(&all, entry(3, 100, GIT(20)));
	groups_add(&all, entry(2, 91, GIT(21)));
	assert_null(groups_next(&all, false));
	groups_add(&all, entry(1, 89, GIT(22)));
	g = groups_next(&all, false);
	assert_non_null(g);
	assert_int_equal(g->entries.count, 1);
	group_free(g);
	assert_null(groups_next(&all, false));
	groups_release(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_what_the_shell_started),
		cmocka_unit_test(a_command_of_an_agent_is_what_it_started),
		cmocka_unit_test(without_a_session_the_top_is_one),
		cmocka_unit_test(entries_of_one_command_are_a_group),
		cmocka_unit_test(a_rest_ends_a_command),
		cmocka_unit_test(a_group_comes_when_it_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
