/*
 * Parses a command line by the table in verbs.h: `--name VALUE`,
 * `--name=VALUE`, `-n VALUE`, `-nVALUE`, combined letters (`-fn20`), options
 * and arguments in any order, and `--`, after which nothing is an option: the
 * rest are arguments or, for a verb that takes one, a command. If an option is
 * given twice, the last one counts.
 */
#ifndef STATETAPE_TOOLS_CLI_OPTIONS_H
#define STATETAPE_TOOLS_CLI_OPTIONS_H

#include "tools/cli/verbs.h"

/*
 * Parse `argv` (NULL-terminated, without the verb's name) for verb `v`. On
 * -EINVAL *ret_why is a sentence (free it). With `--help` a missing argument is
 * no error.
 */
int options_parse(const struct verb *v, char **argv, struct invocation *ret,
		  char **ret_why);

/* Parse "500M", "2G", "4096" as bytes. -EINVAL: no size; -ERANGE: too large. */
int options_size(const char *text, uint64_t *ret);
/*
 * Parse "30" (days), "2G" (a size, which has a unit) or "30/2G". -EINVAL: it is
 * none of these. Sets only what the text has.
 */
int options_keep(const char *text, uint64_t *ret_days, uint64_t *ret_bytes);

/* The verb most similar to `name`; NULL: none is similar. */
const char *options_similar_verb(const char *name);

#endif
