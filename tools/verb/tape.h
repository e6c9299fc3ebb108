/*
 * How verbs ask the tape: the daemon if it runs, else the store, opened
 * read-only in this process. Callers see no difference, except for questions
 * that only a running tape can answer.
 */
#ifndef STATETAPE_TOOLS_VERB_TAPE_H
#define STATETAPE_TOOLS_VERB_TAPE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/cli/repo.h"

struct answers;
struct client;
struct invocation;
struct store;
struct where;

struct tape_reader {
	struct state state;
	struct client *client; /* NULL: not running */
	struct store *store;   /* used when it is not running */
	struct answers *answers;
	int root_fd;
	bool raw;
};

#define TAPE_NONE                                        \
	{                                                \
		.state = REPO_STATE_EMPTY, .root_fd = -1 \
	}

/*
 * Open the tape of the repository that `argument` names (repo.h), with all
 * earlier changes on it. On failure prints a message and returns a negative
 * errno.
 *
 * `raw`: answers are only printed. They come from the store in any case, and
 * times (at_ns) keep all digits, which a double would lose.
 */
int tape_open(const char *argument, bool raw, struct tape_reader *ret);
/*
 * The same from a store that is damaged or was set aside: what can be read of
 * it. tape_release() says how many entries were left out.
 */
int tape_open_store(const char *file, bool raw, struct tape_reader *ret);
/*
 * The store that --store names; else as tape_open(), with a message about
 * stores that were set aside.
 */
int tape_open_for(const struct invocation *in, const char *argument, bool raw,
		  struct tape_reader *ret);
/*
 * Open the store again if answers come from it: the tape may have set it aside
 * and begun another. Without a message.
 */
int tape_reopen(struct tape_reader *t);
/* A message for each store that was set aside. */
void tape_tell_asides(const struct state *s);

/* The path of its database (free it). */
char *tape_store_path(const struct state *s);

void tape_release(struct tape_reader *t);

/*
 * On failure prints a message and returns a negative errno. *ret: cJSON_Delete
 * it.
 */
int tape_ask(struct tape_reader *t, const char *ask, const cJSON *question,
	     cJSON **ret);
/* The same without a message; `why` (if given) is the sentence (free it). */
int tape_try(struct tape_reader *t, const char *ask, const cJSON *question,
	     cJSON **ret, char **why);

/*
 * Visit the entries after `n`, oldest first; a visitor's result other than 0
 * ends that and is returned. Otherwise as tape_ask().
 */
typedef int tape_visit(cJSON *entry, void *arg);
int tape_each(struct tape_reader *t, uint64_t n, tape_visit *visit, void *arg);

/*
 * Have a running tape enter now what was changed until now, before others
 * change it again. Best effort.
 */
void tape_settle(struct tape_reader *t);

/*
 * Open the store alone, read-only, of a repository that was found. On failure
 * prints a message and returns a negative errno.
 */
int tape_store(const struct state *s, struct store **ret);

/* A content by its hash (free it); NULL: the tape does not have it. */
char *tape_content(struct tape_reader *t, const char *hash, size_t *ret_len);
/* The "text" or "base64" of an answer (free it); NULL: neither. */
char *tape_text(const cJSON *answer, size_t *ret_len);

/* Where the current directory is in its repository or the mount of it. */
void tape_where(const struct tape_reader *t, struct where *ret);
/*
 * where_path() of a path that a user typed. NULL, after a message: it lies
 * outside of the repository.
 */
char *tape_path(const struct tape_reader *t, const char *typed);

#endif
