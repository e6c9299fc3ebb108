/*
 * See agent.h. What each of them reads was seen by running it.
 */
#include "tools/agent.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "tools/say.h"

#define VARIABLES_MAX 6

/* "%u" in a value is the port. */
struct agent {
	const char *program; /* NULL: any other */
	struct {
		const char *name, *value;
	} variables[VARIABLES_MAX];
	const char *words[2]; /* put before the user's own */
	void (*more)(unsigned port);
};

#define PLAIN "http://127.0.0.1:%u"
#define V1    "http://127.0.0.1:%u/v1"

/* An address of its own for each of the two, in what he has settled. */
static void point_opencode(unsigned port)
{
	static const char name[] = "OPENCODE_CONFIG_CONTENT";
	static const char *const providers[] = { "anthropic", "openai" };
	CLEANUP(free_p) char *url = sentence(V1, port);
	CLEANUP(free_p) char *text = NULL;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *old = getenv(name);
	cJSON *root = old ? cJSON_Parse(old) : NULL;

	if (!cJSON_IsObject(root)) {
		cJSON_Delete(root);
		root = cJSON_CreateObject();
	}
	for (size_t i = 0; i < 2; i++) {
		const char *path[] = { "provider", providers[i], "options" };
		cJSON *at = root;

		for (size_t k = 0; k < 3; k++) {
			cJSON *in = cJSON_GetObjectItem(at, path[k]);

			at = in ? in : cJSON_AddObjectToObject(at, path[k]);
		}
		cJSON_DeleteItemFromObject(at, "baseURL");
		(void)cJSON_AddStringToObject(at, "baseURL", url);
	}
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	(void)setenv(name, must(text), 1);
}

static const struct agent agents[] = {
	{ "claude",
	  { { "ANTHROPIC_BASE_URL", PLAIN }, { "ENABLE_TOOL_SEARCH", "true" } },
	  { NULL },
	  NULL },
	/* It does not read OPENAI_BASE_URL. */
	{ "codex",
	  { { NULL, NULL } },
	  { "-c", "openai_base_url=\"" V1 "\"" },
	  NULL },
	{ "opencode", { { NULL, NULL } }, { NULL }, point_opencode },
	{ "qwen",
	  { { "OPENAI_BASE_URL", V1 }, { "ANTHROPIC_BASE_URL", PLAIN } },
	  { NULL },
	  NULL },
	{ "copilot",
	  { { "COPILOT_PROVIDER_BASE_URL", PLAIN } },
	  { NULL },
	  NULL },
	{ "grok", { { "GROK_BASE_URL", V1 } }, { NULL }, NULL },
	/* The demonstration's. */
	{ "statetape", { { "ANTHROPIC_BASE_URL", PLAIN } }, { NULL }, NULL },
	{ NULL,
	  { { "ANTHROPIC_BASE_URL", PLAIN },
	    { "ANTHROPIC_API_BASE", PLAIN },
	    { "OPENAI_BASE_URL", V1 },
	    { "OPENAI_API_BASE", V1 } },
	  { NULL },
	  NULL },
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

/* `form` with the port in it; it is one of the table's. (Free it.) */
static char *filled(const char *form, unsigned port)
{
	const char *at = strstr(form, "%u");

	if (!at)
		return must(strdup(form));
	return sentence("%.*s%u%s", (int)(at - form), form, port, at + 2);
}

bool agent_is_known(const char *program)
{
	return find(program)->program != NULL;
}

char **agent_prepare(char **command, unsigned port)
{
	const struct agent *c = find(command[0]);
	size_t n = 0, to = 0;
	char **argv;

	for (size_t i = 0; i < VARIABLES_MAX && c->variables[i].name; i++) {
		CLEANUP(free_p)
		char *value = filled(c->variables[i].value, port);

		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
		(void)setenv(c->variables[i].name, value, 1);
	}
	if (c->more)
		c->more(port);
	while (command[n])
		n++;
	argv = must(calloc(n + 3, sizeof(*argv)));
	argv[to++] = command[0];
	for (size_t i = 0; i < 2 && c->words[i]; i++)
		argv[to++] = filled(c->words[i], port);
	memcpy(argv + to, command + 1, (n - 1) * sizeof(*argv));
	return argv;
}
