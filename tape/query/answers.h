/*
 * The tape's questions: what statetape-tape(5) lists, answered from the store,
 * the graph and the files. The handler fits tape/wire/wire.h; the daemon serves
 * it on its socket, and a verb that finds no daemon calls it in its own
 * process, with a store opened for reading and no graph. Questions that need
 * what is not there are answered with "The tape is not running."
 *
 * One thread's at a time: whoever changes the store or the graph does not ask
 * meanwhile.
 */
#ifndef STATETAPE_TAPE_QUERY_ANSWERS_H
#define STATETAPE_TAPE_QUERY_ANSWERS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "tape/store/entry.h"

struct answers;
struct graph;
struct store;
struct store_retired;

/* How far the tape has come. */
struct answers_head {
	uint64_t n;	  /* newest entry */
	uint64_t journal; /* newest line applied */
	bool ready;	  /* the graph is built */
};

struct answers_config {
	struct store *store;   /* not NULL; must outlive the answers */
	int root_fd;	       /* the files as they are; -1: not known */
	const char *fs_socket; /* whom to ask what was read; NULL: nobody.
				  Copied */

	/* The daemon's part; NULL in a process that only reads. */

	/*
	 * Drain the journal, apply it, and say how far that led: the barrier.
	 * It may append entries, and tell of them by answers_entry().
	 */
	int (*sync)(void *ctx, struct answers_head *ret);
	/*
	 * Add what the daemon alone knows to a STATUS answer: journal, ready,
	 * pending, skipped, subscribers, gaps, pid, repo, since.
	 */
	int (*status)(void *ctx, cJSON *answer);
	void *ctx;
};

/*
 * Fills the index of what drifted last from the store at the first question
 * that needs it, or at answers_fill(). Memory that cannot be had ends the
 * process.
 */
struct answers *answers_new(const struct answers_config *c);
void answers_free(struct answers *a);

/* The graph to ask, settled and as of the newest entry; NULL: none (yet). */
void answers_graph(struct answers *a, const struct graph *g);

/*
 * Fill the index now, from what the store holds. Then every entry appended
 * afterwards must be told of, in order, once its commit went well; entries
 * told before the index is filled are found in the store.
 */
int answers_fill(struct answers *a);
void answers_entry(struct answers *a, const struct entry *e);

/*
 * The oldest entry somebody holds (HOLD) whose time has not passed;
 * UINT64_MAX: nobody holds any.
 */
uint64_t answers_held(const struct answers *a);
/* Who held when the process before ended holds on. */
int answers_load_holds(struct answers *a);
/*
 * Give up what is older than `days` (0: no bound), and then the oldest until
 * the store has at most `bytes` (0: no bound), but nothing that is held: see
 * store_retire().
 */
int answers_retire(struct answers *a, uint64_t days, uint64_t bytes,
		   struct store_retired *ret);

/* A wire_handler; `answers` is the struct. */
int answers_ask(void *answers, const char *ask, const cJSON *q, cJSON *answer);

/*
 * An entry as it is published, and as answers have it (cJSON_Delete it).
 * Never NULL: memory that cannot be had ends the process.
 */
cJSON *entry_json(const struct entry *e);
/* "edit", "function": of enum entry_kind, of enum symbol_kind. */
const char *entry_kind_name(enum entry_kind kind);
const char *symbol_kind_name(unsigned kind);

#endif
