/*
 * What agents' own configuration files say about where they send requests.
 * Files are only read; what cannot be read or parsed says nothing. All results
 * are allocated (free them); NULL: nothing is said.
 */
#ifndef STATETAPE_TOOLS_RUN_AGENT_FILES_H
#define STATETAPE_TOOLS_RUN_AGENT_FILES_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* A file of JSON, with comments allowed (delete it). */
cJSON *file_json(const char *path);
/* The string at these members, one inside the other; NULL ends them. */
const char *json_inside(const cJSON *from, const char *const *members);

/* A variable that Claude Code's settings set, which override the environment.
 */
char *claude_variable(const char *name);
/* The same from the administrator's settings, which override everything. */
char *claude_managed_variable(const char *name);
/* The same from settings in the current directory. */
char *claude_local_variable(const char *name);
bool claude_has_subscription(void);

/* The value of a dotted key in Codex's config.toml. */
char *codex_setting(const char *key);
bool codex_has_subscription(void);

/*
 * opencode's settings: the user's files, the project's from its root down to
 * the current directory, and the variable, merged (delete it).
 */
cJSON *opencode_settings(void);

/* The value of a TOML text's dotted key, if it is a string. */
char *toml_string(const char *text, const char *key);

#endif
