/*
 * How agents are pointed at the manager.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tests/support/scratch.h"
#include "tools/run/agent.h"
#include "tools/run/agent_files.h"

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
		"CLAUDE_CONFIG_DIR",
		"CLAUDE_CODE_USE_BEDROCK",
		"CODEX_HOME",
		"OPENCODE_CONFIG",
		"XDG_CONFIG_HOME",
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
	(void)setenv("HOME", "/nonexistent", 1);
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
	char *command[] = { must_strdup(program), NULL };
	CLEANUP(free_p) char *url = agent_upstream(command, api);

	free(command[0]);

	assert_string_equal(url, want);
}

static void assert_noted(const char *program, const char *want)
{
	char *command[] = { must_strdup(program), NULL };
	CLEANUP(free_p) char *note = agent_note(command);

	free(command[0]);

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

/* A file of the agent's own, in a directory that $variable names. */
static char *settings_dir(const char *variable, const char *name,
			  const char *text)
{
	char *dir = must_strdup("/tmp/st.agent.XXXXXX"), path[64];
	FILE *f;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	(void)fputs(text, f);
	(void)fclose(f);
	(void)setenv(variable, dir, 1);
	return dir;
}

static void forget_dir(char *dir, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	free(dir);
}

static void a_tool_search_of_the_users_own_stays(void **state)
{
	char name[] = "claude";

	(void)state;
	(void)setenv("ENABLE_TOOL_SEARCH", "auto:5", 1);
	prepare(name);
	assert_set("ENABLE_TOOL_SEARCH", "auto:5");
}

static void claudes_settings_are_overridden_by_a_file(void **state)
{
	char name[] = "claude", text[256] = "";
	char *command[] = { name, NULL };
	char *dir = settings_dir("CLAUDE_CONFIG_DIR", "settings.json",
				 "{ // mine\n\"env\": {\"ANTHROPIC_BASE_URL\": "
				 "\"https://gw.example/a\"}}");
	CLEANUP(free_p) char **argv = NULL;
	FILE *f;

	(void)state;
	assert_upstream(name, AGENT_ANTHROPIC, "https://gw.example/a");
	assert_upstream(name, AGENT_OPENAI, "https://api.openai.com");
	assert_noted(name, NULL);
	argv = agent_prepare(command, AT);
	assert_string_equal(argv[1], "--settings");
	f = fopen(argv[2], "re");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	assert_string_equal(text,
			    "{\"env\":{\"ANTHROPIC_BASE_URL\":\"" AT "\"}}");
	(void)fclose(f);
	assert_null(argv[3]);
	free(argv[1]);
	free(argv[2]);
	forget_dir(dir, "settings.json");
}

static void what_cannot_be_overridden_is_said(void **state)
{
	char name[] = "claude", flag[] = "--settings", file[] = "x";
	char *command[] = { name, flag, file, NULL };
	char *dir = settings_dir("CLAUDE_CONFIG_DIR", "settings.json",
				 "{\"env\":{\"ANTHROPIC_BASE_URL\":\"https://"
				 "gw.example\"}}");
	CLEANUP(free_p) char *note = agent_note(command);
	CLEANUP(free_p) char **argv = agent_prepare(command, AT);

	(void)state;
	assert_non_null(strstr(note, "--settings is in use"));
	assert_ptr_equal(argv[1], flag);
	forget_dir(dir, "settings.json");
	(void)setenv("CLAUDE_CODE_USE_BEDROCK", "1", 1);
	assert_noted(name, "bypass the manager");
}

#define CODEX_TOML                                                        \
	"model = \"m\"\nprofile = 'work' # mine\n[profiles.work]\n"       \
	"model_provider = \"gw\"\n[model_providers.\"gw\"]\nname = "      \
	"\"A gateway\"\nbase_url = \"https://gw.example/x\"\nwire_api = " \
	"\"responses\"\n[other]\nbase_url = \"no\"\n"

static void codexs_own_provider_is_pointed_at_us(void **state)
{
	char name[] = "codex", flag[] = "-c", key[] = "model_provider=openai";
	char *command[] = { name, NULL };
	char *back[] = { name, flag, key, NULL };
	char *dir = settings_dir("CODEX_HOME", "config.toml", CODEX_TOML);
	CLEANUP(free_p) char **argv = agent_prepare(command, AT);
	CLEANUP(free_p) char **other = agent_prepare(back, AT);
	CLEANUP(free_p) char *usual = agent_upstream(back, AGENT_OPENAI);

	(void)state;
	assert_upstream(name, AGENT_OPENAI, "https://gw.example/x");
	assert_noted(name, NULL);
	assert_string_equal(argv[1], "-c");
	assert_string_equal(argv[2], "model_providers.gw.base_url=\"" AT "\"");
	assert_null(argv[3]);
	assert_string_equal(other[2], "openai_base_url=\"" AT "/v1\"");
	assert_string_equal(usual, "https://api.openai.com");
	for (int i = 1; i < 3; i++) {
		free(argv[i]);
		free(other[i]);
	}
	forget_dir(dir, "config.toml");
}

static void a_provider_of_codex_without_an_address_is_said(void **state)
{
	char name[] = "codex";
	char *dir = settings_dir("CODEX_HOME", "config.toml",
				 "model_provider = \"oss\"\n");

	(void)state;
	assert_noted(name, "its provider 'oss'");
	prepare(name);
	forget_dir(dir, "config.toml");
}

static void put_opencode(const char *dir, const char *name, const char *url)
{
	CLEANUP(free_p) char *path = NULL;
	CLEANUP(fclose_p) FILE *f = NULL;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fprintf(f,
			    "{\"provider\":{\"anthropic\":{\"options\":"
			    "{\"baseURL\":\"%s\"}}}}",
			    url) > 0);
}

/* Those of the project's folders, the innermost last, up to the repository. */
static void opencodes_file_in_the_project_counts(void **state)
{
	char *above = scratch_new(), name[] = "opencode";
	CLEANUP(free_p) char *root = NULL;
	CLEANUP(free_p) char *sub = NULL;
	CLEANUP(free_p) char *git = NULL;
	CLEANUP(close_p) int back = open(".", O_PATH | O_CLOEXEC);

	(void)state;
	assert_non_null(above);
	assert_true(asprintf(&root, "%s/repo", above) > 0);
	assert_true(asprintf(&sub, "%s/sub", root) > 0);
	assert_true(asprintf(&git, "%s/.git", root) > 0);
	assert_int_equal(
		mkdir(root, 0700) | mkdir(sub, 0700) | mkdir(git, 0700), 0);
	put_opencode(above, "opencode.json", "https://not-ours/v1");
	assert_int_equal(chdir(sub), 0);
	assert_upstream(name, AGENT_ANTHROPIC, "https://api.anthropic.com");
	put_opencode(root, "opencode.json", "https://root/v1");
	assert_upstream(name, AGENT_ANTHROPIC, "https://root/v1");
	put_opencode(sub, "opencode.json", "https://sub/v1");
	assert_upstream(name, AGENT_ANTHROPIC, "https://sub/v1");
	assert_int_equal(fchdir(back), 0);
	scratch_free(above);
}

static void opencodes_own_provider_is_pointed_at_us(void **state)
{
	char name[] = "opencode", flag[] = "-m", model[] = "gw/big";
	char *command[] = { name, flag, model, NULL };
	char *dir = settings_dir(
		"XDG_CONFIG_HOME", "o.json",
		"{\"provider\":{\"gw\":{\"npm\":\"@ai-sdk/openai-compatible\","
		"\"options\":{\"baseURL\":\"https://gw.example/v1\"}},"
		"\"anthropic\":{\"options\":{\"baseURL\":\"https://a/v1\"}}}}");
	CLEANUP(free_p) char *file = NULL;
	CLEANUP(free_p) char *url = NULL;
	CLEANUP(free_p) char **argv = NULL;
	const char *said;

	(void)state;
	assert_true(asprintf(&file, "%s/o.json", dir) > 0);
	(void)setenv("OPENCODE_CONFIG", file, 1);
	url = agent_upstream(command, AGENT_OPENAI);
	assert_string_equal(url, "https://gw.example/v1");
	assert_upstream(name, AGENT_ANTHROPIC, "https://a/v1");
	/* Another model's: it would bypass us, and that is said. */
	assert_noted(name, "opencode's provider 'gw'");
	argv = agent_prepare(command, AT);
	said = getenv("OPENCODE_CONFIG_CONTENT");
	assert_non_null(strstr(said, "\"gw\":{\"options\":{\"baseURL\":\"" AT
				     "/v1\"}}"));
	assert_non_null(strstr(said, "\"anthropic\""));
	/* OpenAI's own key is not sent to the gateway. */
	assert_null(strstr(said, "\"openai\""));
	forget_dir(dir, "o.json");
}

static void strings_are_found_in_toml(void **state)
{
	static const char text[] = "a = 1\nb=\"x\" # c = \"no\"\n[t.'u v']\n"
				   "  c.d = 'y'\nb = \"esc\\n\"\n# b = \"z\"\n"
				   "[[list]]\nb = \"l\"\n";
	static const char *const want[][2] = {
		{ "a", NULL },	     { "b", "x" },  { "t.u v.c.d", "y" },
		{ "t.u v.b", NULL }, { "c", NULL }, { "list.b", "l" },
		{ "nothing", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		CLEANUP(free_p) char *value = toml_string(text, want[i][0]);

		if (!want[i][1])
			assert_null(value);
		else
			assert_string_equal(value ? value : "(none)",
					    want[i][1]);
	}
	assert_null(toml_string("a = \"never closed", "a"));
	assert_null(toml_string("", "a"));
}

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
		cmocka_unit_test_setup(a_tool_search_of_the_users_own_stays,
				       clear),
		cmocka_unit_test_setup(
			claudes_settings_are_overridden_by_a_file, clear),
		cmocka_unit_test_setup(what_cannot_be_overridden_is_said,
				       clear),
		cmocka_unit_test_setup(codexs_own_provider_is_pointed_at_us,
				       clear),
		cmocka_unit_test_setup(
			a_provider_of_codex_without_an_address_is_said, clear),
		cmocka_unit_test_setup(opencodes_file_in_the_project_counts,
				       clear),
		cmocka_unit_test_setup(opencodes_own_provider_is_pointed_at_us,
				       clear),
		cmocka_unit_test_setup(strings_are_found_in_toml, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
