/*
 * Runs git, without a shell, and returns what it printed.
 */
#ifndef STATETAPE_TOOLS_VERB_NOTES_GIT_H
#define STATETAPE_TOOLS_VERB_NOTES_GIT_H

#include <stdbool.h>
#include <stddef.h>

struct git {
	const char *root; /* the repository */
	bool quiet;	  /* git's own messages are thrown away */
};

/*
 * Run `git -C ROOT ARGV...`, with `input` (NULL: nothing) on its standard
 * input. Returns its exit code or a negative errno. *ret (if given; free it) is
 * its output, with a zero byte behind it.
 */
int git_run(const struct git *g, const char *const *argv, const char *input,
	    size_t input_len, char **ret, size_t *ret_len);

#endif
