/*
 * Names that come from a repository or a process, as part of a sentence of
 * ours: a model reads it, and must not take a name for our words.
 */
#ifndef STATETAPE_GRAPH_BASE_QUOTE_H
#define STATETAPE_GRAPH_BASE_QUOTE_H

#include <stddef.h>

/* What our sentences to a model begin with, up to the bracket that ends it. */
#define QUOTE_MARK "[statetape"

#define QUOTE_NAME_MAX	  512 /* bytes of a name; more are cut */
#define QUOTE_NAME_SIZE	  (4 * QUOTE_NAME_MAX + 8)
#define QUOTE_COMMAND_MAX 32

/*
 * A path or symbol. Letters, digits and the signs usual in paths stay; with
 * anything else (a space, a line break) it is put in double quotes, and what
 * could end the quotes or the line, or is our own mark, is escaped as \xNN.
 * Returns `out`, which is valid UTF-8.
 */
const char *quote_name(const char *name, char out[static QUOTE_NAME_SIZE]);

/*
 * The base name of an executable: letters, digits and "_.+-", anything else
 * becomes '_'; "a command" if nothing is left. Returns `out`.
 */
const char *quote_command(const char *name,
			  char out[static QUOTE_COMMAND_MAX + 1]);

/* Does our mark begin at `at`, in any case? */
int quote_is_mark(const char *at, size_t len);

#endif
