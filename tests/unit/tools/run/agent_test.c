/*
 * How agents are pointed at the manager.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tools/run/agent.h"

#define AT "http://127.0.0.1:80/secret"

/* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread. */

static int clear(void **state)
{
	static const char *const names[] = {
		"ANTHROPIC_BASE_URL",
		"ANTHROPIC_API_BASE",
		"OPENAI_BASE_URL",
		"OPENAI_API_BASE",
		"OPENCODE_CONFIG_CONTENT",
		"ENABLE_TOOL_SEARCH",
		"COPILOT_PROVIDER_BASE_URL",
		"COPILOT_PROVIDER_TYPE",
		"COPILOT_PROVIDER_TRANSPORT",
		"GROK_BASE_URL",
		"GOOGLE_GEMINI_BASE_URL",
		"http_proxy",
		"HTTP_PROXY",
		"all_proxy",
		"ALL_PROXY",
		"no_proxy",
		"NO_PROXY",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		(void)unsetenv(names[i]);
	return 0;
}

/* Prepared for port 80, from a command without arguments. */
static void prepare(char *name)
{
	char *command[] = { name, NULL };
	CLEANUP(free_p) char **argv = agent_prepare(command, AT);

	assert_ptr_equal(argv[0], name);
	assert_null(argv[1]);
}

static void assert_set(const char *name, const char *want)
{
	const char *value = getenv(name);

	if (!want)
		assert_null(value);
	else
		assert_string_equal(value ? value : "(not set)", want);
}

static void assert_upstream(const char *program, enum agent_api api,
			    const char *want)
{
	CLEANUP(free_p) char *url = agent_upstream(program, api);

	assert_string_equal(url, want);
}

static void assert_noted(const char *program, const char *want)
{
	CLEANUP(free_p) char *note = agent_note(program);

	if (!want)
		assert_null(note);
	else
		assert_non_null(strstr(note ? note : "", want));
}

static void one_that_reads_the_environment_gets_its_variable(void **state)
{
	char name[] = "/opt/bin/claude", word[] = "-p";
	char *command[] = { name, word, NULL };
	CLEANUP(free_p) char **argv = agent_prepare(command, AT);

	(void)state;
	assert_noted(name, NULL);
	assert_string_equal(getenv("ANTHROPIC_BASE_URL"),
			    "http://127.0.0.1:80/secret");
	assert_null(getenv("OPENAI_BASE_URL"));
	assert_ptr_equal(argv[0], name);
	assert_ptr_equal(argv[1], word);
	assert_null(argv[2]);
}

static void one_that_does_not_gets_words_before_its_own(void **state)
{
	char name[] = "codex", word[] = "exec";
	char *command[] = { name, word, NULL };
	CLEANUP(free_p) char **argv = agent_prepare(command, AT);

	(void)state;
	assert_noted(name, NULL);
	assert_string_equal(argv[1], "-c");
	assert_string_equal(
		argv[2], "openai_base_url=\"http://127.0.0.1:80/secret/v1\"");
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
	argv = agent_prepare(command, AT);
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
			    "http://127.0.0.1:80/secret/v1");
	cJSON_Delete(root);
}

static void any_other_gets_the_usual_variables(void **state)
{
	char name[] = "myagent";
	char *command[] = { name, NULL };
	CLEANUP(free_p) char **argv = agent_prepare(command, AT);

	(void)state;
	assert_noted(name, "'myagent' is not an agent we know");
	assert_ptr_equal(argv[0], name);
	assert_string_equal(getenv("ANTHROPIC_BASE_URL"),
			    "http://127.0.0.1:80/secret");
	assert_string_equal(getenv("OPENAI_BASE_URL"),
			    "http://127.0.0.1:80/secret/v1");
}

static void each_gets_what_it_reads_and_nothing_else(void **state)
{
	static const char plain[] = "http://127.0.0.1:80/secret";
	static const char v1[] = "http://127.0.0.1:80/secret/v1";
	static const struct {
		const char *program, *anthropic, *openai, *grok;
	} rows[] = {
		{ "claude", plain, NULL, NULL },
		{ "qwen", plain, v1, NULL },
		{ "aider", plain, v1, NULL },
		{ "grok", NULL, NULL, v1 },
		{ "gemini", NULL, NULL, NULL },
		{ "copilot", NULL, NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(free_p) char *name = strdup(rows[i].program);

		(void)clear(state);
		prepare(name);
		assert_set("ANTHROPIC_BASE_URL", rows[i].anthropic);
		assert_set("OPENAI_BASE_URL", rows[i].openai);
		assert_set("GROK_BASE_URL", rows[i].grok);
		assert_set("COPILOT_PROVIDER_BASE_URL", NULL);
		assert_set("GOOGLE_GEMINI_BASE_URL", NULL);
	}
}

/*
 * Setting a provider that the user did not name would disable the user's login.
 */
static void copilot_keeps_its_login_or_the_provider_it_has(void **state)
{
	char name[] = "copilot";

	assert_noted(name, "a service of GitHub's own");
	(void)setenv("COPILOT_PROVIDER_BASE_URL", "https://p/v1", 1);
	(void)setenv("COPILOT_PROVIDER_TRANSPORT", "websockets", 1);
	assert_noted(name, NULL);
	assert_upstream(name, AGENT_OPENAI, "https://p/v1");
	assert_upstream(name, AGENT_ANTHROPIC, "https://api.anthropic.com");
	prepare(name);
	assert_set("COPILOT_PROVIDER_BASE_URL",
		   "http://127.0.0.1:80/secret/v1");
	assert_set("COPILOT_PROVIDER_TRANSPORT", NULL);
	(void)clear(state);
	(void)setenv("COPILOT_PROVIDER_BASE_URL", "https://p", 1);
	(void)setenv("COPILOT_PROVIDER_TYPE", "anthropic", 1);
	assert_upstream(name, AGENT_ANTHROPIC, "https://p");
	assert_upstream(name, AGENT_OPENAI, "https://api.openai.com");
	prepare(name);
	assert_set("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:80/secret");
	assert_set("COPILOT_PROVIDER_TYPE", "anthropic");
	(void)clear(state);
	(void)setenv("COPILOT_PROVIDER_BASE_URL", "https://p", 1);
	(void)setenv("COPILOT_PROVIDER_TYPE", "azure", 1);
	assert_noted(name, "of type openai or anthropic");
	prepare(name);
	assert_set("COPILOT_PROVIDER_BASE_URL", "https://p");
}

/* A key is sent only to the address that would get it without us. */
static void requests_go_where_they_went_before(void **state)
{
	(void)state;
	assert_upstream("claude", AGENT_ANTHROPIC, "https://api.anthropic.com");
	assert_upstream("codex", AGENT_OPENAI, "https://api.openai.com");
	assert_upstream("grok", AGENT_OPENAI, "https://api.x.ai/v1");
	assert_upstream("myagent", AGENT_OPENAI, "https://api.openai.com");
	(void)setenv("ANTHROPIC_BASE_URL", "https://a", 1);
	(void)setenv("OPENAI_BASE_URL", "", 1);
	(void)setenv("OPENAI_API_BASE", "https://o/v4", 1);
	(void)setenv("GROK_BASE_URL", "https://g/v1", 1);
	assert_upstream("/usr/bin/claude", AGENT_ANTHROPIC, "https://a");
	assert_upstream("aider", AGENT_OPENAI, "https://o/v4");
	assert_upstream("myagent", AGENT_OPENAI, "https://o/v4");
	assert_upstream("codex", AGENT_OPENAI, "https://api.openai.com");
	assert_upstream("grok", AGENT_OPENAI, "https://g/v1");
	(void)setenv("OPENCODE_CONFIG_CONTENT",
		     "{\"provider\":{\"openai\":{\"options\":{\"baseURL\":"
		     "\"https://c/v1\"}}}}",
		     1);
	assert_upstream("opencode", AGENT_OPENAI, "https://c/v1");
	assert_upstream("opencode", AGENT_ANTHROPIC, "https://a");
}

static void no_proxy_comes_between(void **state)
{
	char name[] = "claude";

	prepare(name);
	assert_set("no_proxy", NULL);
	(void)setenv("HTTP_PROXY", "http://p:1", 1);
	prepare(name);
	assert_set("no_proxy", "127.0.0.1");
	assert_set("NO_PROXY", "127.0.0.1");
	(void)clear(state);
	(void)setenv("all_proxy", "http://p:1", 1);
	(void)setenv("NO_PROXY", "a.org,.b.org", 1);
	prepare(name);
	assert_set("no_proxy", "a.org,.b.org,127.0.0.1");
	assert_set("HTTP_PROXY", NULL);
	(void)setenv("no_proxy", "*", 1);
	prepare(name);
	assert_set("no_proxy", "*");
}

static void those_that_read_a_file_are_told_of(void **state)
{
	(void)state;
	assert_noted("pi", "~/.pi/agent/models.json");
	assert_noted("droid", "--port N");
	assert_noted("gemini", "not supported");
}

/* git compares a repository's owner with the user: root's is foreign here. */
static void git_is_told_of_an_owner_that_only_we_changed(void **state)
{
	CLEANUP(free_p) char *dir = strdup("/tmp/agent_test.XXXXXX");

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	(void)setenv("GIT_CONFIG_COUNT", "1", 1);
	(void)unsetenv("SUDO_UID");
	agent_keep_git(dir, 0); /* it is ours, as before */
	assert_set("GIT_CONFIG_COUNT", "1");
	assert_int_equal(chown(dir, 4200, 4200), 0);
	agent_keep_git(dir, 4200); /* git refused it before */
	assert_set("GIT_CONFIG_COUNT", "1");
	agent_keep_git(dir, 0);
	assert_set("GIT_CONFIG_COUNT", "2");
	assert_set("GIT_CONFIG_KEY_1", "safe.directory");
	assert_set("GIT_CONFIG_VALUE_1", dir);
	assert_int_equal(rmdir(dir), 0);
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
		cmocka_unit_test_setup(each_gets_what_it_reads_and_nothing_else,
				       clear),
		cmocka_unit_test_setup(
			copilot_keeps_its_login_or_the_provider_it_has, clear),
		cmocka_unit_test_setup(requests_go_where_they_went_before,
				       clear),
		cmocka_unit_test_setup(no_proxy_comes_between, clear),
		cmocka_unit_test_setup(those_that_read_a_file_are_told_of,
				       clear),
		cmocka_unit_test(git_is_told_of_an_owner_that_only_we_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
