/*
 * How verbs ask the tape: the daemon if it runs, else the store itself, opened
 * for reading in this process. Whoever asks cannot tell which, but for the
 * questions that need what only a running tape has.
 */
#ifndef STATETAPE_TOOLS_VERB_TAPE_H
#define STATETAPE_TOOLS_VERB_TAPE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "tools/cli/repo.h"

struct answers;
struct client;
struct store;

struct tape_reader {
	struct state state;
	struct client *client; /* NULL: not running */
	struct store *store;   /* and then this */
	struct answers *answers;
	int root_fd;
	bool raw;
};

#define TAPE_NONE                                        \
	{                                                \
		.state = REPO_STATE_EMPTY, .root_fd = -1 \
	}

/*
 * The tape of the repository that `argument` means (repo.h), with all on it
 * that was done before. On failure, having complained, a negative errno.
 *
 * `raw`: answers are to be printed and not looked at. They come from the store
 * in any case, and their times (at_ns) keep every digit, which a double would
 * not.
 */
int tape_open(const char *argument, bool raw, struct tape_reader *ret);
void tape_release(struct tape_reader *t);

/* On failure, having complained, a negative errno. *ret: cJSON_Delete it. */
int tape_ask(struct tape_reader *t, const char *ask, const cJSON *question,
	     cJSON **ret);
/* The same, without a word; `why` (if given) is the sentence (free it). */
int tape_try(struct tape_reader *t, const char *ask, const cJSON *question,
	     cJSON **ret, char **why);

/*
 * The store alone, opened for reading, of a repository that was found. On
 * failure, having complained, a negative errno.
 */
int tape_store(const struct state *s, struct store **ret);

/* A content by its hash (free it); NULL: it is not kept. */
char *tape_content(struct tape_reader *t, const char *hash, size_t *ret_len);
/* "text" or "base64" of an answer (free it); NULL: neither. */
char *tape_text(const cJSON *answer, size_t *ret_len);

/*
 * What a person calls a file: as seen from the current directory if that is
 * in the repository, else from its root. Relative to the root (free it).
 */
char *tape_path(const struct tape_reader *t, const char *path);

#endif
