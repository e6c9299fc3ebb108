/* See agent.h. The table records what each agent was seen to read. */
#include "tools/run/agent.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/run/agent_files.h"

#define VARIABLES_MAX 4
#define WORDS_MAX     2

/* "%s" in a value is the manager's address. */
struct agent {
	const char *program; /* NULL: any other agent */
	/* Variables that name its model's API; the first that is set counts. */
	struct {
		const char *name, *value;
		enum agent_api api;
	} variables[VARIABLES_MAX];
	const char *usual;    /* its default API; NULL: the public one */
	const char *settings; /* its own file names the API; we do not change
				 that file */
	void (*point)(char *const *command, const char *address);
	/* Words to put before the user's own arguments: how many. */
	size_t (*words)(char *const *command, const char *address,
			char *ret[WORDS_MAX]);
	char *(*find)(char *const *command, enum agent_api api);
	char *(*note)(char *const *command);
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

/* Does the address end in "/v1"? Then ours does, too. */
static char *ours_for(const char *theirs, const char *address)
{
	size_t len = strlen(theirs);

	while (len && theirs[len - 1] == '/')
		len--;
	if (len >= 3 && strncmp(theirs + len - 3, "/v1", 3) == 0)
		return format_text(V1, address);
	return must_strdup(address);
}

/*
 * The value of an option, as "--name value" or "--name=value"; of several the
 * last; NULL: it is not given.
 */
static const char *option(char *const *command, const char *name)
{
	const char *value = NULL;
	size_t len = strlen(name);

	for (; *command; command++) {
		if (strcmp(*command, name) == 0 && command[1])
			value = command[1];
		else if (strncmp(*command, name, len) == 0 &&
			 (*command)[len] == '=')
			value = *command + len + 1;
	}
	return value;
}

/*
 * Claude Code: variables in its settings override those of the environment, and
 * settings named on the command line override both.
 */

#define CLAUDE_URL "ANTHROPIC_BASE_URL"

static char *find_claude(char *const *command, enum agent_api api)
{
	(void)command;
	return api == AGENT_ANTHROPIC ? claude_variable(CLAUDE_URL) : NULL;
}

/* Does a file of settings say where to send requests? */
static bool claude_is_set(void)
{
	CLEANUP(free_p) char *users = claude_variable(CLAUDE_URL);
	CLEANUP(free_p) char *local = claude_local_variable(CLAUDE_URL);

	return users || local;
}

/* The settings are in memory that only the agent's processes inherit. */
static size_t words_claude(char *const *command, const char *address,
			   char *ret[WORDS_MAX])
{
	CLEANUP(free_p) char *text = NULL;
	ssize_t len;
	int fd;

	if (!claude_is_set() || option(command, "--settings"))
		return 0;
	text = format_text("{\"env\":{\"" CLAUDE_URL "\":\"%s\"}}", address);
	len = (ssize_t)strlen(text);
	fd = memfd_create("settings", 0);
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		return 0;
	ret[0] = must_strdup("--settings");
	ret[1] = format_text("/proc/self/fd/%d", fd);
	return 2;
}

/* Other clouds that it talks to by their own protocols. */
static const char *claude_cloud(void)
{
	static const char *const names[] = { "CLAUDE_CODE_USE_BEDROCK",
					     "CLAUDE_CODE_USE_VERTEX",
					     "CLAUDE_CODE_USE_FOUNDRY" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CLEANUP(free_p) char *said = claude_variable(names[i]);
		const char *value = said ? said : setting(names[i]);

		if (value && strcmp(value, "0") != 0 &&
		    strcmp(value, "false") != 0)
			return names[i];
	}
	return NULL;
}

static char *note_claude(char *const *command)
{
	CLEANUP(free_p) char *managed = claude_managed_variable(CLAUDE_URL);
	CLEANUP(free_p) char *local = claude_local_variable(CLAUDE_URL);
	const char *cloud = claude_cloud();

	if (cloud)
		return format_text("claude is set to another cloud's service "
				   "by %s: its requests bypass the manager",
				   cloud);
	if (managed)
		return format_text("claude's managed settings name its model's "
				   "address, which cannot be overridden: its "
				   "requests bypass the manager");
	if (claude_is_set() && option(command, "--settings"))
		return format_text(
			"claude's settings name its model's "
			"address, and --settings is in use: its "
			"requests may bypass the manager; set " CLAUDE_URL
			" in the environment instead");
	if (local)
		return format_text("the repository's .claude settings name a "
				   "model's address; it is not used, since a "
				   "repository is not trusted with keys: name "
				   "it as upstream if you trust it");
	return NULL;
}

/* Codex: it reads no variable, and a provider of the user's own may be set. */

/* The value that "-c key=value" gives a key (free it). */
static char *codex_flag(char *const *command, const char *key)
{
	char *value = NULL;

	for (; *command; command++) {
		bool flag = strcmp(*command, "-c") == 0 ||
			    strcmp(*command, "--config") == 0;
		size_t len = strlen(key);
		const char *at = flag ? command[1] : NULL;

		if (!at || strncmp(at, key, len) != 0 || at[len] != '=')
			continue;
		free(value);
		at += len + 1;
		len = strlen(at);
		if (len >= 2 && (*at == '"' || *at == '\''))
			value = must_have(strndup(at + 1, len - 2));
		else
			value = must_strdup(at);
	}
	return value;
}

static char *codex_key(char *const *command, const char *key)
{
	char *value = codex_flag(command, key);

	return value ? value : codex_setting(key);
}

/* The provider in use (free it). */
static char *codex_provider(char *const *command)
{
	const char *said = option(command, "--profile");
	const char *brief = said ? said : option(command, "-p");
	CLEANUP(free_p)
	char *profile = brief ? must_strdup(brief) : codex_setting("profile");
	CLEANUP(free_p) char *key = NULL;
	char *found = codex_flag(command, "model_provider");

	if (!found && profile) {
		key = format_text("profiles.%s.model_provider", profile);
		found = codex_setting(key);
	}
	if (!found)
		found = codex_setting("model_provider");
	return found ? found : must_strdup("openai");
}

static char *codex_url_key(const char *provider)
{
	if (strcmp(provider, "openai") == 0)
		return must_strdup("openai_base_url");
	return format_text("model_providers.%s.base_url", provider);
}

static char *find_codex(char *const *command, enum agent_api api)
{
	CLEANUP(free_p) char *provider = codex_provider(command);
	CLEANUP(free_p) char *key = codex_url_key(provider);

	return api == AGENT_OPENAI ? codex_key(command, key) : NULL;
}

static size_t words_codex(char *const *command, const char *address,
			  char *ret[WORDS_MAX])
{
	CLEANUP(free_p) char *provider = codex_provider(command);
	CLEANUP(free_p) char *key = codex_url_key(provider);
	CLEANUP(free_p) char *theirs = codex_key(command, key);
	CLEANUP(free_p) char *ours = NULL;

	if (strcmp(provider, "openai") != 0 && !theirs)
		return 0;
	ours = ours_for(theirs ? theirs : "/v1", address);
	ret[0] = must_strdup("-c");
	ret[1] = format_text("%s=\"%s\"", key, ours);
	return 2;
}

static char *note_codex(char *const *command)
{
	CLEANUP(free_p) char *provider = codex_provider(command);
	CLEANUP(free_p) char *key = codex_url_key(provider);
	CLEANUP(free_p) char *flag = codex_flag(command, key);
	CLEANUP(free_p) char *theirs = codex_setting(key);

	if (flag)
		return format_text("codex is given %s on its command line: its "
				   "requests bypass the manager; put it into "
				   "its config.toml instead",
				   key);
	if (strcmp(provider, "openai") != 0 && !theirs)
		return format_text("codex uses its provider '%s', whose "
				   "address is not in its config.toml: its "
				   "requests bypass the manager",
				   provider);
	return NULL;
}

/* opencode: settings as JSON, in files and in a variable that overrides them.
 */

#define OPENCODE "OPENCODE_CONFIG_CONTENT"

/* The variable's own settings; an empty object if there are none. */
static cJSON *opencode_variable(void)
{
	const char *text = setting(OPENCODE);
	cJSON *root = text ? cJSON_Parse(text) : NULL;

	if (cJSON_IsObject(root))
		return root;
	cJSON_Delete(root);
	return must_have(cJSON_CreateObject());
}

static const char *opencode_url(const cJSON *root, const char *provider)
{
	const char *const path[] = { "provider", provider, "options", "baseURL",
				     NULL };
	const char *url = json_inside(root, path);

	return url && *url ? url : NULL;
}

static bool opencode_is_ours(const char *provider)
{
	return strcmp(provider, api_names[AGENT_ANTHROPIC]) == 0 ||
	       strcmp(provider, api_names[AGENT_OPENAI]) == 0;
}

/*
 * The provider of the model in use, if the user has defined it with an address
 * (free it); its protocol follows from its package. NULL: none.
 */
static char *opencode_own(char *const *command, const cJSON *root,
			  enum agent_api *ret_api)
{
	static const char *const model[] = { "model", NULL };
	const char *said = option(command, "--model");
	const char *brief = said ? said : option(command, "-m");
	const char *name = brief ? brief : json_inside(root, model);
	CLEANUP(free_p)
	char *provider =
		name ? must_have(strndup(name, strcspn(name, "/"))) : NULL;
	const char *const path[] = { "provider", provider, "npm", NULL };
	const char *package;

	if (!provider || opencode_is_ours(provider) ||
	    !opencode_url(root, provider))
		return NULL;
	package = json_inside(root, path);
	*ret_api = package && strstr(package, "anthropic") ? AGENT_ANTHROPIC
							   : AGENT_OPENAI;
	return TAKE(provider);
}

static char *find_opencode(char *const *command, enum agent_api api)
{
	CLEANUP(json_p) cJSON *root = opencode_settings();
	enum agent_api own_api = AGENT_APIS;
	CLEANUP(free_p) char *own = opencode_own(command, root, &own_api);
	const char *url =
		opencode_url(root, own_api == api ? own : api_names[api]);

	if (!url)
		url = setting(api == AGENT_OPENAI ? "OPENAI_BASE_URL"
						  : "ANTHROPIC_BASE_URL");
	return url ? must_strdup(url) : NULL;
}

static void opencode_set(cJSON *root, const char *provider, const char *url)
{
	const char *const path[] = { "provider", provider, "options" };
	cJSON *at = root;

	for (size_t k = 0; k < 3; k++) {
		cJSON *in = cJSON_GetObjectItem(at, path[k]);

		at = in ? in : cJSON_AddObjectToObject(at, path[k]);
	}
	cJSON_DeleteItemFromObject(at, "baseURL");
	(void)cJSON_AddStringToObject(at, "baseURL", url);
}

/* A key for one service is never sent to another: one provider per API. */
static void point_opencode(char *const *command, const char *address)
{
	CLEANUP(json_p) cJSON *all = opencode_settings();
	CLEANUP(json_p) cJSON *root = opencode_variable();
	enum agent_api own_api = AGENT_APIS;
	CLEANUP(free_p) char *own = opencode_own(command, all, &own_api);
	CLEANUP(free_p) char *v1 = format_text(V1, address);
	CLEANUP(free_p) char *text = NULL;

	for (int api = 0; api < AGENT_APIS; api++)
		if ((enum agent_api)api != own_api)
			opencode_set(root, api_names[api], v1);
	if (own) {
		CLEANUP(free_p)
		char *url = ours_for(opencode_url(all, own), address);

		opencode_set(root, own, url);
	}
	text = must_have(cJSON_PrintUnformatted(root));
	set(OPENCODE, text);
}

static char *note_opencode(char *const *command)
{
	CLEANUP(json_p) cJSON *root = opencode_settings();
	enum agent_api own_api = AGENT_APIS;
	CLEANUP(free_p) char *own = opencode_own(command, root, &own_api);
	const cJSON *p;

	cJSON_ArrayForEach (p, cJSON_GetObjectItem(root, "provider"))
		if (!opencode_is_ours(p->string) &&
		    opencode_url(root, p->string) &&
		    (!own || strcmp(own, p->string) != 0))
			return format_text("opencode's provider '%s' keeps its "
					   "address: what is sent to it "
					   "bypasses the manager",
					   p->string);
	return NULL;
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

static char *find_copilot(char *const *command, enum agent_api api)
{
	const char *url = setting(COPILOT);

	(void)command;
	return url && copilot_speaks(api) ? must_have(strdup(url)) : NULL;
}

static bool copilot_can_be_pointed(void)
{
	return setting(COPILOT) && (copilot_speaks(AGENT_ANTHROPIC) ||
				    copilot_speaks(AGENT_OPENAI));
}

static void point_copilot(char *const *command, const char *address)
{
	CLEANUP(free_p) char *plain = format_text(PLAIN, address);
	CLEANUP(free_p) char *v1 = format_text(V1, address);

	(void)command;
	if (!copilot_can_be_pointed())
		return;
	set(COPILOT, copilot_speaks(AGENT_ANTHROPIC) ? plain : v1);
	/* Transcripts sent over a websocket cannot be rewritten. */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	(void)unsetenv("COPILOT_PROVIDER_TRANSPORT");
}

static char *note_copilot(char *const *command)
{
	(void)command;
	if (copilot_can_be_pointed())
		return NULL;
	return format_text(
		"copilot sends its requests to a service of GitHub's own, not "
		"through the manager; to change that, set " COPILOT
		" to a provider of type openai or anthropic");
}

static char *note_gemini(char *const *command)
{
	(void)command;
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
			 { "ENABLE_TOOL_SEARCH", "true", AGENT_APIS } },
	  .words = words_claude,
	  .find = find_claude,
	  .note = note_claude },
	{ .program = "codex",
	  .words = words_codex,
	  .find = find_codex,
	  .note = note_codex },
	{ .program = "opencode",
	  .point = point_opencode,
	  .find = find_opencode,
	  .note = note_opencode },
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

char *agent_upstream(char *const *command, enum agent_api api)
{
	static const char *const public_apis[AGENT_APIS] = {
		[AGENT_ANTHROPIC] = "https://api.anthropic.com",
		[AGENT_OPENAI] = "https://api.openai.com",
	};
	const struct agent *c = find(command[0]);
	char *found = c->find ? c->find(command, api) : NULL;

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

char *agent_note(char *const *command)
{
	const struct agent *c = find(command[0]);

	if (c->note)
		return c->note(command);
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
			   command[0]);
}

char *agent_login_note(const char *program)
{
	const struct agent *c = find(program);
	bool claude = c->program && strcmp(c->program, "claude") == 0;
	bool codex = c->program && strcmp(c->program, "codex") == 0;

	if (!(claude && claude_has_subscription()) &&
	    !(codex && codex_has_subscription()))
		return NULL;
	return format_text("%s has a subscription login: the manager adds "
			   "notes to its requests and replaces nothing in "
			   "them; with an API key it would also refresh and "
			   "remove stale text where that pays",
			   c->program);
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
	char *words[WORDS_MAX];
	size_t n = 0, to = 0, more = 0;
	char **argv;

	assert(strncmp(address, "http://127.0.0.1:", 17) == 0);
	avoid_proxies();
	for (size_t i = 0; i < VARIABLES_MAX && c->variables[i].name; i++) {
		const char *name = c->variables[i].name;
		CLEANUP(free_p)
		char *value = filled(c->variables[i].value, address);

		/* What is no address stays as the user has set it. */
		if (c->variables[i].api < AGENT_APIS || !setting(name))
			set(name, value);
	}
	if (c->words)
		more = c->words(command, address, words);
	if (c->point)
		c->point(command, address);
	while (command[n])
		n++;
	argv = must_have(calloc(n + WORDS_MAX + 1, sizeof(*argv)));
	argv[to++] = command[0];
	for (size_t i = 0; i < more; i++)
		argv[to++] = words[i];
	assert(to <= 1 + WORDS_MAX && n > 0);
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
