/*
 * Runs git, without a shell, and returns what it printed.
 */
#ifndef STATETAPE_TOOLS_VERB_NOTES_GIT_H
#define STATETAPE_TOOLS_VERB_NOTES_GIT_H

#include <stddef.h>

/* Both have a zero byte behind them. Release it with git_output_release(). */
struct git_output {
	char *text; /* stdout */
	size_t len;
	char *said; /* stderr */
};

/*
 * Run `git -C ROOT ARGV...`, with `input` (NULL: nothing) on its standard
 * input. Returns its exit code or a negative errno; *ret is set in both cases.
 */
int git_run(const char *root, const char *const *argv, const char *input,
	    size_t input_len, struct git_output *ret);
void git_output_release(struct git_output *o);

/*
 * Print that git cannot do `what`, after git_run() returned `r`. Returns a
 * negative errno.
 */
int git_failed(int r, const struct git_output *o, const char *what);

#endif
