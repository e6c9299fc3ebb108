/*
 * How agents are pointed at the manager.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tools/agent.h"

/* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread. */

static int clear(void **state)
{
	static const char *const names[] = {
		"ANTHROPIC_BASE_URL",	     "OPENAI_BASE_URL",
		"OPENCODE_CONFIG_CONTENT",   "OPENAI_API_BASE",
		"COPILOT_PROVIDER_BASE_URL", "ENABLE_TOOL_SEARCH",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		(void)unsetenv(names[i]);
	return 0;
}

static void one_that_reads_the_environment_gets_its_variable(void **state)
{
	char name[] = "/opt/bin/claude", word[] = "-p";
	char *command[] = { name, word, NULL };
	CLEANUP(free_p) char **argv = agent_prepare(command, 4711);

	(void)state;
	assert_true(agent_is_known(name));
	assert_string_equal(getenv("ANTHROPIC_BASE_URL"),
			    "http://127.0.0.1:4711");
	assert_null(getenv("OPENAI_BASE_URL"));
	assert_ptr_equal(argv[0], name);
	assert_ptr_equal(argv[1], word);
	assert_null(argv[2]);
}

static void one_that_does_not_gets_words_before_its_own(void **state)
{
	char name[] = "codex", word[] = "exec";
	char *command[] = { name, word, NULL };
	CLEANUP(free_p) char **argv = agent_prepare(command, 80);

	(void)state;
	assert_true(agent_is_known(name));
	assert_string_equal(argv[1], "-c");
	assert_string_equal(argv[2],
			    "openai_base_url=\"http://127.0.0.1:80/v1\"");
	assert_string_equal(argv[3], "exec");
	assert_null(argv[4]);
	free(argv[1]);
	free(argv[2]);
}

static void settings_that_are_there_already_are_kept(void **state)
{
	char name[] = "opencode";
	char *command[] = { name, NULL };
	CLEANUP(free_p) char **argv = NULL;
	cJSON *root, *openai;

	(void)state;
	(void)setenv("OPENCODE_CONFIG_CONTENT",
		     "{\"share\":\"off\",\"provider\":{\"openai\":{\"options\":"
		     "{\"timeout\":5,\"baseURL\":\"x\"}}}}",
		     1);
	argv = agent_prepare(command, 80);
	assert_ptr_equal(argv[0], name);
	root = cJSON_Parse(getenv("OPENCODE_CONFIG_CONTENT"));
	openai = cJSON_GetObjectItem(
		cJSON_GetObjectItem(cJSON_GetObjectItem(root, "provider"),
				    "openai"),
		"options");
	assert_string_equal(cJSON_GetObjectItem(root, "share")->valuestring,
			    "off");
	assert_int_equal(cJSON_GetObjectItem(openai, "timeout")->valueint, 5);
	assert_string_equal(cJSON_GetObjectItem(openai, "baseURL")->valuestring,
			    "http://127.0.0.1:80/v1");
	cJSON_Delete(root);
}

static void any_other_gets_the_usual_variables(void **state)
{
	char name[] = "myagent";
	char *command[] = { name, NULL };
	CLEANUP(free_p) char **argv = agent_prepare(command, 81);

	(void)state;
	assert_false(agent_is_known(name));
	assert_ptr_equal(argv[0], name);
	assert_string_equal(getenv("ANTHROPIC_BASE_URL"),
			    "http://127.0.0.1:81");
	assert_string_equal(getenv("OPENAI_BASE_URL"),
			    "http://127.0.0.1:81/v1");
}

/* NOLINTEND(concurrency-mt-unsafe) */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			one_that_reads_the_environment_gets_its_variable,
			clear),
		cmocka_unit_test_setup(
			one_that_does_not_gets_words_before_its_own, clear),
		cmocka_unit_test_setup(settings_that_are_there_already_are_kept,
				       clear),
		cmocka_unit_test_setup(any_other_gets_the_usual_variables,
				       clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
