/*
 * Which repository is meant. A person names it by its path, by the path of its
 * mountpoint, or not at all: then it is the nearest directory, from the
 * current one upwards, that has been mounted before, as git finds its own.
 */
#ifndef STATETAPE_TOOLS_CLI_REPO_H
#define STATETAPE_TOOLS_CLI_REPO_H

#include <cjson/cJSON.h>

#include "tape/wire/state.h"

#define REPO_ASK_MS 5000

/* For CLEANUP(state_release) before anything is found. */
#define REPO_STATE_EMPTY                    \
	{                                   \
		.dir_fd = -1, .lock_fd = -1 \
	}

/*
 * The state of the repository that `argument` (NULL: not given) means. A
 * repository that has no state yet is found all the same if it was named:
 * then ret->dir_fd is -1. On failure, having complained, a negative errno.
 */
int repo_find(const char *argument, struct state *ret);

/*
 * A path of the repository's managers, of which there may be several: the
 * n-th's socket (".sock"), or where it listens (".json"). (Free it.)
 */
#define MANAGERS_MAX 64
char *manager_path(const struct state *s, unsigned n, const char *end);

/*
 * Ask the file system process of `s`. -ECONNREFUSED, of which nothing is
 * said, means that nothing is mounted; after another failure, which is
 * complained about, a different negative errno.
 */
int repo_ask(const struct state *s, const char *ask, const cJSON *question,
	     cJSON **ret);

#endif
