/* What a command does, by its name. Part of shell.c. */
#ifndef STATETAPE_MANAGER_RECORD_SHELL_VERB_H
#define STATETAPE_MANAGER_RECORD_SHELL_VERB_H

#include "manager/record/shell.h"
#include "manager/record/shell_print.h"

enum shell_verb {
	VERB_UNKNOWN,
	VERB_SILENT,
	VERB_CD,
	VERB_PRINT, /* plus an enum shell_printer */
	VERB_PRINT_LAST = VERB_PRINT + PRINT_BAT,
	VERB_SEARCH,
	VERB_FIND,
	VERB_RUN,
	VERB_WRITE,
	VERB_TEE,
	VERB_PATCH,
	VERB_OTHER,
	VERB_READER, /* prints something derived from files */
	VERB_GIT,
	VERB_INTERPRETER,
	VERB_SHELL,
	VERB_XARGS,
	VERB_TIMEOUT, /* this and the next three precede another command */
	VERB_PREFIX,
	VERB_RUNNER, /* "uv run", "poetry run" */
	VERB_KEYWORD,
	VERB_KEYWORD_ALONE,
};

enum shell_verb shell_verb(const struct shell_word *w);
/* Is `name` one of `names`, each of which is between two spaces? */
bool shell_is_one_of(const char *names, const char *name, size_t len);

#endif
