/*
 * Answers the questions that statetape-tape(5) lists, from the store, the graph
 * and the files. answers_ask() is a handler for tape/wire/wire.h: the daemon
 * serves it on its socket. A verb that finds no daemon calls it in its own
 * process, with a store opened for reading and without a graph; questions that
 * need more are refused with "The tape is not running."
 *
 * One thread at a time, the one that owns store and graph: neither may change
 * during a call.
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

/* What a SYNC question asks for. */
struct answers_wish {
	bool everything; /* else: */
	const char *const *paths;
	size_t count;
	int within_ms; /* to wait at most; -1: no limit */
};

/* Position of the tape. */
struct answers_head {
	uint64_t n;	  /* newest entry */
	uint64_t journal; /* newest line read */
	bool ready;	  /* the graph is built */
	uint64_t pending; /* changed paths that are not on the tape yet */
	bool unread;	  /* the journal up to the question, or the queue */
	/* Of the paths asked for, by their numbers; the callee's. */
	const uint32_t *open;
	size_t open_count;
};

/* From the functions below: the answer follows. The question is to be asked
   again (WIRE_LATER). */
#define ANSWERS_LATER 1

struct answers_config {
	struct store *store; /* not NULL; must outlive the answers */
	int root_fd;	     /* the files as of now; -1: none */

	/* Set by the daemon; NULL in a process that only reads. */

	/* Is the question that is being answered asked again? */
	bool (*again)(void *ctx);
	/*
	 * SYNC: drain and apply the journal, and return the position reached.
	 * May append entries, which it reports with answers_entry(). A question
	 * that is asked again has no wish: the first one holds.
	 */
	int (*sync)(void *ctx, const struct answers_wish *wish,
		    struct answers_head *ret);
	/*
	 * Was `path` changed, or if `below` a path in that directory ("": the
	 * root), without being on the tape yet?
	 */
	bool (*pending)(void *ctx, const char *path, bool below);
	/* READSET: ask the file system's READS. As wire_ask(). */
	int (*reads)(void *ctx, const cJSON *question, cJSON **ret);
	/*
	 * Add the members of a STATUS answer that only the daemon knows:
	 * journal, ready, pending, skipped, subscribers, gaps, pid, repo,
	 * since.
	 */
	int (*status)(void *ctx, cJSON *answer);
	/* ANCHOR: hand a checkpoint of the newest entry to the anchors. */
	int (*anchor)(void *ctx, cJSON *answer);
	void *ctx;
};

/*
 * The drift index is filled from the store by the first question that needs it,
 * or by answers_fill(). Running out of memory ends the process.
 */
struct answers *answers_new(const struct answers_config *c);
void answers_free(struct answers *a);

/* Set the graph, settled and as of the newest entry; NULL: none (yet). */
void answers_graph(struct answers *a, const struct graph *g);

/*
 * Fill the drift index from the store now. From then on the daemon must call
 * answers_entry() for every entry it appends, in order, after its commit
 * succeeded. Calls before the index is filled have no effect: filling reads
 * those entries from the store.
 */
int answers_fill(struct answers *a);
void answers_entry(struct answers *a, const struct entry *e);

/*
 * The oldest entry under a hold (HOLD) that has not expired; UINT64_MAX: none.
 */
uint64_t answers_held(const struct answers *a);
/* Load the holds that the store has from an earlier process. */
int answers_load_holds(struct answers *a);
/*
 * Delete what is older than `days` (0: no bound), then the oldest until the
 * store has at most `bytes` (0: no bound), but nothing that is held: see
 * store_retire().
 */
int answers_retire(struct answers *a, uint64_t days, uint64_t bytes,
		   struct store_retired *ret);

/*
 * Check the store: adds the members of an answer to VERIFY to `ret`, with the
 * first finding of each kind and how many there are, or `all` of them. Returns
 * their number, or a negative errno.
 */
int answers_verify(struct store *s, bool all, cJSON *ret);

/* A wire_handler; `answers` is a struct answers. */
int answers_ask(void *answers, const char *ask, const cJSON *q, cJSON *answer);

/*
 * An entry as JSON, as it is published and as answers contain it (cJSON_Delete
 * it). Never NULL: running out of memory ends the process.
 */
cJSON *entry_json(const struct entry *e);
/* Move those members of an entry's JSON that say who wrote it. */
void entry_json_who(cJSON *entry, cJSON *to);
/* "edit", "function"... for an enum entry_kind, an enum symbol_kind. */
const char *entry_kind_name(enum entry_kind kind);
const char *symbol_kind_name(unsigned kind);

#endif
