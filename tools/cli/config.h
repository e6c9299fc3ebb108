/*
 * What a user has settled once for all runs: a file of his own, a file in the
 * repository, the environment, in rising order; flags stand above all.
 *
 * The files are TOML, as much of it as there is a use for: tables, and keys
 * with strings. A key that is not known, or a value that is not allowed, is a
 * mistake with its file and line, never passed over.
 *
 * A repository is somebody else's word: its file may not say where requests
 * (and the keys in them) are sent.
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
	CONFIG_ANTHROPIC,
	CONFIG_OPENAI,
	CONFIG_CHATGPT,
	CONFIGS
};

/* For the manual, and for those who look for a key by name. */
struct config_row {
	const char *table, *key;
	const char *variable;	   /* of the environment */
	const char *const *values; /* NULL-terminated; NULL: an address */
	bool users;		   /* only the user may set it */
	const char *text;	   /* what it does, one sentence */
};
extern const struct config_row config_rows[CONFIGS];
extern const char config_description[]; /* where they are, in paragraphs */

struct config {
	char *values[CONFIGS]; /* NULL: not settled */
};
void config_release(struct config *c);

/*
 * Read a file's text; `name` is for the sentence in *ret_why (free it) when
 * this returns -EINVAL. `theirs`: it is the repository's.
 */
int config_read(struct config *c, const char *name, const char *text,
		size_t len, bool theirs, char **ret_why);

/* Both files and the environment. Files that are not there are no mistake. */
int config_load(struct config *c, const char *repo, char **ret_why);

/* Is `value` allowed for it? */
bool config_allows(enum config_key key, const char *value);
/* If not: what is wrong with it, a sentence. (Free it.) */
char *config_complaint(enum config_key key, const char *value);

#endif
