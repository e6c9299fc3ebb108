/* See agent.h. The table records what each agent was seen to read. */
#include "tools/run/agent.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

#define VARIABLES_MAX 4

/* "%s" in a value is the manager's address. */
struct agent {
	const char *program; /* NULL: any other agent */
	/* Variables that name its model's API; the first that is set counts. */
	struct {
		const char *name, *value;
		enum agent_api api;
	} variables[VARIABLES_MAX];
	const char *usual;    /* its default API; NULL: the public one */
	const char *words[2]; /* put before the user's own arguments */
	const char *settings; /* its own file names the API; we do not change
				 that file */
	void (*point)(const char *address);
	char *(*find)(enum agent_api api);
	char *(*note)(void);
};

#define PLAIN "%s"
#define V1    "%s/v1"

/* What opencode and copilot call the two APIs. */
static const char *const api_names[AGENT_APIS] = {
	[AGENT_ANTHROPIC] = "anthropic",
	[AGENT_OPENAI] = "openai",
};

/* The variable's value; NULL: unset or empty. */
static const char *setting(const char *name)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static void set(const char *name, const char *value)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	(void)setenv(name, value, 1);
}

/* opencode: settings as JSON, in a variable. */

#define OPENCODE "OPENCODE_CONFIG_CONTENT"

/* The user's own settings; an empty object if there are none. */
static cJSON *opencode_settings(void)
{
	const char *text = setting(OPENCODE);
	cJSON *root = text ? cJSON_Parse(text) : NULL;

	if (cJSON_IsObject(root))
		return root;
	cJSON_Delete(root);
	return must_have(cJSON_CreateObject());
}

/* The options of one provider, created if missing. */
static cJSON *opencode_options(cJSON *root, enum agent_api api)
{
	const char *path[] = { "provider", api_names[api], "options" };
	cJSON *at = root;

	for (size_t k = 0; k < 3; k++) {
		cJSON *in = cJSON_GetObjectItem(at, path[k]);

		at = in ? in : cJSON_AddObjectToObject(at, path[k]);
	}
	return at;
}

static char *find_opencode(enum agent_api api)
{
	cJSON *root = opencode_settings();
	const char *url = cJSON_GetStringValue(
		cJSON_GetObjectItem(opencode_options(root, api), "baseURL"));
	char *copy = url && *url ? must_have(strdup(url)) : NULL;

	cJSON_Delete(root);
	url = setting(api == AGENT_OPENAI ? "OPENAI_BASE_URL"
					  : "ANTHROPIC_BASE_URL");
	return copy || !url ? copy : must_have(strdup(url));
}

static void point_opencode(const char *address)
{
	CLEANUP(free_p) char *url = format_text(V1, address);
	CLEANUP(free_p) char *text = NULL;
	cJSON *root = opencode_settings();

	for (int api = 0; api < AGENT_APIS; api++) {
		cJSON *at = opencode_options(root, (enum agent_api)api);

		cJSON_DeleteItemFromObject(at, "baseURL");
		(void)cJSON_AddStringToObject(at, "baseURL", url);
	}
	text = must_have(cJSON_PrintUnformatted(root));
	cJSON_Delete(root);
	set(OPENCODE, text);
}

/*
 * copilot uses GitHub's own service with its own login unless the user has
 * named a provider. Naming one for the user would disable that login.
 */

#define COPILOT "COPILOT_PROVIDER_BASE_URL"

static bool copilot_speaks(enum agent_api api)
{
	const char *type = setting("COPILOT_PROVIDER_TYPE");

	return strcmp(type ? type : "openai", api_names[api]) == 0;
}

static char *find_copilot(enum agent_api api)
{
	const char *url = setting(COPILOT);

	return url && copilot_speaks(api) ? must_have(strdup(url)) : NULL;
}

static bool copilot_can_be_pointed(void)
{
	return setting(COPILOT) && (copilot_speaks(AGENT_ANTHROPIC) ||
				    copilot_speaks(AGENT_OPENAI));
}

static void point_copilot(const char *address)
{
	CLEANUP(free_p) char *plain = format_text(PLAIN, address);
	CLEANUP(free_p) char *v1 = format_text(V1, address);

	if (!copilot_can_be_pointed())
		return;
	set(COPILOT, copilot_speaks(AGENT_ANTHROPIC) ? plain : v1);
	/* Transcripts sent over a websocket cannot be rewritten. */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	(void)unsetenv("COPILOT_PROVIDER_TRANSPORT");
}

static char *note_copilot(void)
{
	if (copilot_can_be_pointed())
		return NULL;
	return format_text(
		"copilot sends its requests to a service of GitHub's own, not "
		"through the manager; to change that, set " COPILOT
		" to a provider of type openai or anthropic");
}

static char *note_gemini(void)
{
	return format_text("gemini's protocol is not supported: its requests "
			   "are not changed");
}

/* All agents. */

#define ANTHROPIC(name)                      \
	{                                    \
		name, PLAIN, AGENT_ANTHROPIC \
	}
#define OPENAI(name)                   \
	{                              \
		name, V1, AGENT_OPENAI \
	}
#define MOST                                                                 \
	{                                                                    \
		ANTHROPIC("ANTHROPIC_BASE_URL"),                             \
			ANTHROPIC("ANTHROPIC_API_BASE"),                     \
			OPENAI("OPENAI_BASE_URL"), OPENAI("OPENAI_API_BASE") \
	}

static const struct agent agents[] = {
	{ .program = "claude",
	  .variables = { ANTHROPIC("ANTHROPIC_BASE_URL"),
			 { "ENABLE_TOOL_SEARCH", "true", AGENT_APIS } } },
	/* It does not read OPENAI_BASE_URL. */
	{ .program = "codex", .words = { "-c", "openai_base_url=\"" V1 "\"" } },
	{ .program = "opencode",
	  .point = point_opencode,
	  .find = find_opencode },
	{ .program = "qwen",
	  .variables = { OPENAI("OPENAI_BASE_URL"),
			 ANTHROPIC("ANTHROPIC_BASE_URL") } },
	{ .program = "aider", .variables = MOST },
	{ .program = "copilot",
	  .point = point_copilot,
	  .find = find_copilot,
	  .note = note_copilot },
	{ .program = "grok",
	  .variables = { OPENAI("GROK_BASE_URL") },
	  .usual = "https://api.x.ai/v1" },
	{ .program = "gemini", .note = note_gemini },
	{ .program = "pi", .settings = "~/.pi/agent/models.json" },
	{ .program = "droid", .settings = "~/.factory/settings.json" },
	{ .program = "cline", .settings = "what 'cline auth' has set" },
	{ .program = "cn", .settings = "its config.yaml" },
	/* The demo's own agent. */
	{ .program = "statetape",
	  .variables = { ANTHROPIC("ANTHROPIC_BASE_URL") } },
	{ .variables = MOST },
};

static const struct agent *find(const char *word)
{
	const char *slash = strrchr(word, '/');
	const char *program = slash ? slash + 1 : word;
	const struct agent *c = agents;

	while (c->program && strcmp(c->program, program) != 0)
		c++;
	return c;
}

/* `form`, one of the table's, with the address filled in (free it). */
static char *filled(const char *form, const char *address)
{
	const char *at = strstr(form, "%s");

	if (!at)
		return must_have(strdup(form));
	return format_text("%.*s%s%s", (int)(at - form), form, address, at + 2);
}

char *agent_upstream(const char *program, enum agent_api api)
{
	static const char *const public_apis[AGENT_APIS] = {
		[AGENT_ANTHROPIC] = "https://api.anthropic.com",
		[AGENT_OPENAI] = "https://api.openai.com",
	};
	const struct agent *c = find(program);
	char *found = c->find ? c->find(api) : NULL;

	assert(api < AGENT_APIS);
	for (size_t i = 0; !found && i < VARIABLES_MAX; i++) {
		const char *name = c->variables[i].name;

		if (name && c->variables[i].api == api && setting(name))
			found = must_have(strdup(setting(name)));
	}
	if (found)
		return found;
	return must_have(strdup(c->usual ? c->usual : public_apis[api]));
}

bool agent_is_known(const char *program)
{
	const struct agent *c = find(program);

	/* Our own program is an agent only in the demo. */
	return c->program && strcmp(c->program, "statetape") != 0;
}

char *agent_note(const char *program)
{
	const struct agent *c = find(program);

	if (c->note)
		return c->note();
	if (c->settings)
		return format_text(
			"%s reads its model's address from %s: set it to "
			"http://127.0.0.1:N/SECRET there, use --port N, and "
			"set " MANAGER_SECRET " to the secret (32 letters and "
			"digits of your choice), or its requests bypass the "
			"manager",
			c->program, c->settings);
	if (c->program)
		return NULL;
	return format_text("'%s' is not an agent we know; it is pointed at the "
			   "manager by ANTHROPIC_BASE_URL and OPENAI_BASE_URL",
			   program);
}

/* Set `name` to `old` plus our address. */
static void except_us(const char *name, const char *old)
{
	CLEANUP(free_p)
	char *new =
		format_text("%s%s127.0.0.1", old ? old : "", old ? "," : "");

	if (!old || strcmp(old, "*") != 0)
		set(name, new);
}

/*
 * Exempt 127.0.0.1 from any HTTP proxy, which could not reach our port.
 * Programs read either the upper-case or the lower-case variable, so set both.
 */
static void avoid_proxies(void)
{
	static const char *const proxies[] = { "http_proxy", "HTTP_PROXY",
					       "all_proxy", "ALL_PROXY" };
	const char *small = setting("no_proxy"), *big = setting("NO_PROXY");
	CLEANUP(free_p) char *kept = small ? must_have(strdup(small)) : NULL;
	bool any = false;

	for (size_t i = 0; i < sizeof(proxies) / sizeof(*proxies); i++)
		any = any || setting(proxies[i]);
	if (!any)
		return;
	except_us("no_proxy", small ? small : big);
	except_us("NO_PROXY", big ? big : kept);
}

char **agent_prepare(char **command, const char *address)
{
	const struct agent *c = find(command[0]);
	size_t n = 0, to = 0;
	char **argv;

	assert(strncmp(address, "http://127.0.0.1:", 17) == 0);
	avoid_proxies();
	for (size_t i = 0; i < VARIABLES_MAX && c->variables[i].name; i++) {
		CLEANUP(free_p)
		char *value = filled(c->variables[i].value, address);

		set(c->variables[i].name, value);
	}
	if (c->point)
		c->point(address);
	while (command[n])
		n++;
	argv = must_have(calloc(n + 3, sizeof(*argv)));
	argv[to++] = command[0];
	for (size_t i = 0; i < 2 && c->words[i]; i++)
		argv[to++] = filled(c->words[i], address);
	assert(to <= 3 && n > 0);
	memcpy(argv + to, command + 1, (n - 1) * sizeof(*argv));
	return argv;
}

/* git's own rule: ours, or root's who was the user SUDO_UID before. */
static bool git_takes(uid_t owner)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *sudo = geteuid() == 0 ? getenv("SUDO_UID") : NULL;

	return owner == geteuid() ||
	       (sudo && *sudo && strtoul(sudo, NULL, 10) == owner);
}

void agent_keep_git(const char *repo, uid_t owner)
{
	/* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread. */
	const char *had = getenv("GIT_CONFIG_COUNT");
	unsigned long n = had ? strtoul(had, NULL, 10) : 0;
	CLEANUP(free_p) char *key = format_text("GIT_CONFIG_KEY_%lu", n);
	CLEANUP(free_p) char *value = format_text("GIT_CONFIG_VALUE_%lu", n);
	CLEANUP(free_p) char *count = format_text("%lu", n + 1);
	struct stat st;

	if (stat(repo, &st) < 0 || !git_takes(owner) || git_takes(st.st_uid))
		return;
	(void)setenv(key, "safe.directory", 1);
	(void)setenv(value, repo, 1);
	(void)setenv("GIT_CONFIG_COUNT", count, 1);
	/* NOLINTEND(concurrency-mt-unsafe) */
}
