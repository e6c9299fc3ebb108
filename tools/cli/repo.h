/*
 * Finds the repository that a command is about. Users name it by its path, by
 * its mountpoint, or not at all: then it is the nearest directory, from the
 * current one upwards, that was mounted or has a tape, as git finds its own.
 */
#ifndef STATETAPE_TOOLS_CLI_REPO_H
#define STATETAPE_TOOLS_CLI_REPO_H

#include <cjson/cJSON.h>

#include "tape/wire/state.h"

#define REPO_ASK_MS 5000

/* The initial value for CLEANUP(state_release). */
#define REPO_STATE_EMPTY                    \
	{                                   \
		.dir_fd = -1, .lock_fd = -1 \
	}

/*
 * Find the repository that `argument` (NULL: not given) names. A repository
 * that is named but has no state yet is found too: then ret->dir_fd is -1. On
 * failure prints a message and returns a negative errno.
 */
int repo_find(const char *argument, struct state *ret);
/* The same for the repository we are in, without a message. */
int repo_find_here(struct state *ret);

/*
 * The path of the repository's n-th manager's socket (".sock") or address file
 * (".json") (free it).
 */
#define MANAGERS_MAX 64
char *manager_path(const struct state *s, unsigned n, const char *end);

/*
 * Ask the file system process of `s`. -ECONNREFUSED, without a message: nothing
 * is mounted. After any other failure, which is printed, another negative
 * errno.
 */
int repo_ask(const struct state *s, const char *ask, const cJSON *question,
	     cJSON **ret);

/*
 * What keeps the repository's state from being written or its processes from
 * being asked, as a sentence (free it): its directories were removed, or the
 * disk is full. NULL: nothing.
 */
char *repo_trouble(const struct state *s);

#endif
