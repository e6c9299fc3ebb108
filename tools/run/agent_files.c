/*
 * Of TOML as much as is needed: tables, dotted and quoted keys, strings on one
 * line. Anything else is skipped.
 */
#include "tools/run/agent_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"

#define FILE_MOST (1u << 20)
#define KEY_MAX	  256

static const char *env(const char *name)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static char *slurp(const char *path)
{
	CLEANUP(fclose_p) FILE *f = fopen(path, "re");
	CLEANUP(free_p) char *text = NULL;
	size_t len;

	if (!f)
		return NULL;
	text = must_alloc(FILE_MOST + 1);
	len = fread(text, 1, FILE_MOST, f);
	if (ferror(f) || len == FILE_MOST)
		return NULL;
	text[len] = '\0';
	return TAKE(text);
}

/* $VARIABLE/name, or ~/otherwise/name. */
static char *below(const char *variable, const char *otherwise,
		   const char *name)
{
	const char *dir = env(variable), *home = env("HOME");

	if (dir)
		return format_text("%s/%s", dir, name);
	return format_text("%s/%s/%s", home ? home : "", otherwise, name);
}

cJSON *file_json(const char *path)
{
	CLEANUP(free_p) char *text = slurp(path);

	if (!text)
		return NULL;
	cJSON_Minify(text); /* it drops comments, too */
	return cJSON_Parse(text);
}

const char *json_inside(const cJSON *from, const char *const *members)
{
	for (; *members; members++)
		from = cJSON_GetObjectItemCaseSensitive(from, *members);
	return cJSON_GetStringValue(from);
}

/* Claude Code. */

static char *claude_env(const char *path, const char *name)
{
	CLEANUP(json_p) cJSON *root = file_json(path);
	const char *const members[] = { "env", name, NULL };
	const char *value = json_inside(root, members);

	return value && *value ? must_strdup(value) : NULL;
}

char *claude_variable(const char *name)
{
	CLEANUP(free_p)
	char *path = below("CLAUDE_CONFIG_DIR", ".claude", "settings.json");

	return claude_env(path, name);
}

char *claude_managed_variable(const char *name)
{
	return claude_env("/etc/claude-code/managed-settings.json", name);
}

char *claude_local_variable(const char *name)
{
	char *value = claude_env(".claude/settings.local.json", name);

	return value ? value : claude_env(".claude/settings.json", name);
}

bool claude_has_subscription(void)
{
	CLEANUP(free_p)
	char *path = below("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json");
	CLEANUP(json_p) cJSON *root = file_json(path);

	return cJSON_GetObjectItem(root, "claudeAiOauth") &&
	       !env("ANTHROPIC_API_KEY") && !env("ANTHROPIC_AUTH_TOKEN");
}

/* Codex. */

/* Append a key's parts to `path`; returns what follows it. */
static const char *add_key(const char *at, char path[static KEY_MAX])
{
	size_t len = strlen(path);

	for (;; at++) {
		char quote = (char)(*at == '"' || *at == '\'' ? *at : 0);

		if (len && len + 1 < KEY_MAX)
			path[len++] = '.';
		at += quote != '\0';
		while (*at && *at != '\n' &&
		       (quote ? *at != quote : !strchr(" \t.=]", *at))) {
			if (len + 1 < KEY_MAX)
				path[len++] = *at;
			at++;
		}
		at += quote && *at == quote;
		at += strspn(at, " \t");
		path[len] = '\0';
		if (*at != '.')
			return at;
		at += strspn(at + 1, " \t");
	}
}

/* The string that begins at `at`, without escapes. */
static char *string_at(const char *at)
{
	char quote = *at;
	const char *end;

	if (quote != '"' && quote != '\'')
		return NULL;
	end = strchr(at + 1, quote);
	if (!end || memchr(at, '\n', (size_t)(end - at)) ||
	    (quote == '"' && memchr(at, '\\', (size_t)(end - at))))
		return NULL;
	return must_have(strndup(at + 1, (size_t)(end - at - 1)));
}

char *toml_string(const char *text, const char *key)
{
	char table[KEY_MAX] = "";

	for (const char *line = text; line;) {
		const char *at = line + strspn(line, " \t");
		char path[KEY_MAX];

		if (*at == '[') {
			table[0] = '\0';
			at++;
			(void)add_key(at + strspn(at, " \t["), table);
		} else if (*at && !strchr("#\r\n", *at)) {
			memcpy(path, table, sizeof(path));
			at = add_key(at, path);
			if (*at == '=' && strcmp(path, key) == 0)
				return string_at(at + 1 +
						 strspn(at + 1, " \t"));
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return NULL;
}

char *codex_setting(const char *key)
{
	CLEANUP(free_p)
	char *path = below("CODEX_HOME", ".codex", "config.toml");
	CLEANUP(free_p) char *text = slurp(path);

	return text ? toml_string(text, key) : NULL;
}

bool codex_has_subscription(void)
{
	CLEANUP(free_p) char *path = below("CODEX_HOME", ".codex", "auth.json");
	CLEANUP(json_p) cJSON *root = file_json(path);

	return cJSON_IsObject(cJSON_GetObjectItem(root, "tokens")) &&
	       !env("CODEX_API_KEY") && !env("OPENAI_API_KEY");
}

/* opencode. */

/* Objects are merged, anything else replaces what was there. */
static void merge(cJSON *into, cJSON *from)
{
	while (from && from->child) {
		cJSON *item = cJSON_DetachItemViaPointer(from, from->child);
		cJSON *was =
			cJSON_GetObjectItemCaseSensitive(into, item->string);

		if (cJSON_IsObject(was) && cJSON_IsObject(item)) {
			merge(was, item);
			cJSON_Delete(item);
			continue;
		}
		if (was)
			cJSON_DeleteItemFromObjectCaseSensitive(into,
								item->string);
		(void)cJSON_AddItemToObject(into, item->string, item);
	}
}

static void merge_file(cJSON *into, const char *path)
{
	CLEANUP(json_p) cJSON *root = file_json(path);

	if (cJSON_IsObject(root))
		merge(into, root);
}

/* The length of `cwd` up to its project's root: the repository, else "/". */
static size_t project_root(const char *cwd)
{
	size_t len = strlen(cwd);

	while (len > 0) {
		CLEANUP(free_p)
		char *git = format_text("%.*s/.git", (int)len, cwd);

		if (access(git, F_OK) == 0)
			break;
		while (len > 0 && cwd[--len] != '/')
			;
	}
	return len;
}

/* The project's files of that name, from its root down to `cwd`. */
static void merge_project(cJSON *into, const char *cwd, const char *name)
{
	size_t len = project_root(cwd);

	for (;;) {
		CLEANUP(free_p)
		char *path = format_text("%.*s/%s", (int)len, cwd, name);

		merge_file(into, path);
		if (!cwd[len])
			return;
		len += 1 + strcspn(cwd + len + 1, "/");
	}
}

cJSON *opencode_settings(void)
{
	static const char *const names[] = { "opencode/config.json",
					     "opencode/opencode.json",
					     "opencode/opencode.jsonc" };
	static const char *const projects[] = { "opencode.jsonc",
						"opencode.json",
						".opencode/opencode.jsonc",
						".opencode/opencode.json" };
	CLEANUP(free_p) char *cwd = getcwd(NULL, 0);
	const char *content = env("OPENCODE_CONFIG_CONTENT");
	const char *file = env("OPENCODE_CONFIG");
	cJSON *all = must_have(cJSON_CreateObject());
	CLEANUP(json_p) cJSON *last = content ? cJSON_Parse(content) : NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CLEANUP(free_p)
		char *path = below("XDG_CONFIG_HOME", ".config", names[i]);

		merge_file(all, path);
	}
	if (file)
		merge_file(all, file);
	for (size_t i = 0; cwd && i < sizeof(projects) / sizeof(projects[0]);
	     i++)
		merge_project(all, cwd, projects[i]);
	if (cJSON_IsObject(last))
		merge(all, last);
	return all;
}
