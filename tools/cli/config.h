/*
 * Defaults for all runs: the user's own file, a file in the repository, the
 * environment, each overriding the one before; options on the command line
 * override all.
 *
 * The files are a subset of TOML: tables, and keys with strings. An unknown key
 * or a value that is not allowed is an error that names file and line.
 *
 * The repository's file is not trusted: it may not set the address that
 * requests, and the keys in them, are sent to.
 */
#ifndef STATETAPE_TOOLS_CLI_CONFIG_H
#define STATETAPE_TOOLS_CLI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_REPO_FILE ".statetape.toml"

enum config_key {
	CONFIG_MODE,
	CONFIG_POLICY,
	CONFIG_MOUNT,
	CONFIG_PROMPTS,
	CONFIG_ANTHROPIC,
	CONFIG_OPENAI,
	CONFIG_CHATGPT,
	CONFIGS
};

/* The table of keys, for the manual and for lookups by name. */
struct config_row {
	const char *table, *key;
	const char *variable; /* the environment variable */
	const char *const
		*values; /* allowed values, NULL-terminated; NULL: an address */
	bool users;	 /* only the user's own file may set it */
	const char *text; /* its description, one sentence */
};
extern const struct config_row config_rows[CONFIGS];
extern const char
	config_description[]; /* the files and their order, in paragraphs */

struct config {
	char *values[CONFIGS]; /* NULL: not set */
};
void config_release(struct config *c);

/*
 * Parse a file's text. On -EINVAL *ret_why is a sentence that begins with
 * `name` (free it). `theirs`: it is the repository's file.
 */
int config_read(struct config *c, const char *name, const char *text,
		size_t len, bool theirs, char **ret_why);

/* Load both files and the environment. Missing files are no error. */
int config_load(struct config *c, const char *repo, char **ret_why);

/* Is `value` allowed for this key? */
bool config_allows(enum config_key key, const char *value);
/* A sentence that says why `value` is not allowed (free it). */
char *config_complaint(enum config_key key, const char *value);

#endif
