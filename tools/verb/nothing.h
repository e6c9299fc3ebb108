/*
 * The first time: a repository of which nothing was recorded is no mistake of
 * the user's, and every verb answers that in the same words.
 */
#ifndef STATETAPE_TOOLS_VERB_NOTHING_H
#define STATETAPE_TOOLS_VERB_NOTHING_H

#include <stdbool.h>

struct invocation;

#define NOTHING_RECORDED "Nothing recorded here yet: statetape run -- AGENT"

/*
 * Does this verb read what was recorded, and nothing was? Then says so (with
 * --json an empty list) and sets the exit code.
 */
bool nothing_recorded(const struct invocation *in, int *ret_code);

#endif
