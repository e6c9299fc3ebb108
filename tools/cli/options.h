/*
 * Reads a command line by the table in verbs.h: `--name VALUE`,
 * `--name=VALUE`, `-n VALUE`, `-nVALUE`, letters in one word (`-fn20`),
 * options and arguments in any order, and `--`, after which nothing is an
 * option: the rest are arguments or, for a verb that takes one, a command.
 * An option given twice counts as it was given last.
 */
#ifndef STATETAPE_TOOLS_CLI_OPTIONS_H
#define STATETAPE_TOOLS_CLI_OPTIONS_H

#include "tools/cli/verbs.h"

/*
 * Understand `argv` (NULL-terminated, without the verb's name) as `v`'s. On
 * -EINVAL *ret_why is a sentence (free it). With `--help` a missing argument
 * is no mistake.
 */
int options_parse(const struct verb *v, char **argv, struct invocation *ret,
		  char **ret_why);

/* "500M", "2G", "4096": bytes. -EINVAL, -ERANGE: no such size. */
int options_size(const char *text, uint64_t *ret);

/* The verb `name` may have been meant for, NULL if it is like none. */
const char *options_similar_verb(const char *name);

#endif
