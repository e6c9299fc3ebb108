/*
 * Defaults for all runs: the user's own file, a file in the repository, the
 * environment, each overriding the one before; options on the command line
 * override all.
 *
 * The files are a subset of TOML: tables, and keys with strings or lists of
 * strings. An unknown key or a value that is not allowed is an error that names
 * file and line.
 *
 * The repository's file is not trusted, for an agent may write it. It may not
 * set addresses (requests, and the keys in them, are sent there), anchors (they
 * are commands), or how long the tape is kept: such keys are refused and the
 * rest of the file counts. What it makes less of is said when a run starts.
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
	CONFIG_KEEP,
	CONFIG_ANCHOR,
	CONFIG_ANCHOR_EVERY,
	CONFIGS
};

enum config_kind {
	CONFIG_IS_CHOICE,  /* one of `values` */
	CONFIG_IS_ADDRESS, /* of a model's API */
	CONFIG_IS_KEEP,	   /* DAYS/SIZE: options_keep() */
	CONFIG_IS_ANCHORS, /* one per line; in a file a string or a list */
	CONFIG_IS_COUNT,   /* a number from 1 on */
};

/* The table of keys, for the manual and for lookups by name. */
struct config_row {
	const char *table, *key;
	const char *variable; /* the environment variable */
	enum config_kind kind;
	bool users;		   /* only the user's own file may set it */
	const char *const *values; /* of a choice; ends with NULL */
	const char *const *weak;   /* those by which less is done; or NULL */
	const char *text;	   /* its description, one sentence */
};
extern const struct config_row config_rows[CONFIGS];
extern const char
	config_description[]; /* the files and their order, in paragraphs */

struct config {
	char *values[CONFIGS]; /* NULL: not set */
	/* The repository's file set it, and it was not so already. */
	bool theirs[CONFIGS];
	/*
	 * What was wrong with keys of the repository's file that only the user
	 * may set: a sentence each; they are ignored. NULL: nothing.
	 */
	char *refused[CONFIGS];
};
void config_release(struct config *c);

/*
 * Parse a file's text. On -EINVAL *ret_why is a sentence that begins with
 * `name` (free it). `theirs`: it is the repository's file.
 */
int config_read(struct config *c, const char *name, const char *text,
		size_t len, bool theirs, char **ret_why);

/*
 * Load both files and the environment. Missing files are no error. `repo` NULL:
 * the user's file alone.
 */
int config_load(struct config *c, const char *repo, char **ret_why);
/* Set a value that is allowed, as if by an option. */
void config_set(struct config *c, enum config_key key, const char *value);
/*
 * What the repository's file takes from this run, as one sentence (free it);
 * NULL: nothing.
 */
char *config_weakened(const struct config *c, const char *repo);

/* Is `value` allowed for this key? */
bool config_allows(enum config_key key, const char *value);
/* A sentence that says why `value` is not allowed (free it). */
char *config_complaint(enum config_key key, const char *value);

#endif
