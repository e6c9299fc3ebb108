/*
 * What the daemon's files share.
 *
 * One lock guards everything in struct tape that no comment excepts. The loop
 * takes it to work, and the thread that answers questions takes it to answer:
 * whoever holds it owns graph, store and all the rest. Work is cut into slices
 * of a few milliseconds, and between two the loop lets a question pass.
 */
#ifndef STATETAPE_TAPE_DAEMON_I_H
#define STATETAPE_TAPE_DAEMON_I_H

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "graph/base/clock.h"
#include "graph/base/paths.h"
#include "graph/build/look.h"
#include "tape/daemon.h"
#include "tape/query/answers.h"
#include "tape/store/entry.h"

struct ahead;
struct bell_ear;
struct care;
struct lang_readers;
struct graph;
struct journal_author;
struct journal_reader;
struct outside;
struct publish;
struct settle;
struct store;
struct sweep;
struct wire_server;

/* A change noticed outside is left alone for so long: the journal's line about
   it may be on its way. */
#define GRACE_NS (100 * NS_PER_MS)

enum {
	SLICE_LINES = 4096, /* of the journal */
	SLICE_NAMES = 512,  /* of a sweep */
	SLICE_BASES = 16,   /* files whose first content is kept */
	BATCH_MAX = 512,    /* entries in one transaction */
	DIRTY_MAX = 20000,  /* paths that may wait to settle */
};

/* The store rests when nothing was written for so long. */
#define REST_NS (2000 * NS_PER_MS)

/* What the tape knows of a file that is there, as of the newest entry. */
struct known_file {
	struct paths_node at; /* first */
	XXH128_hash_t hash;   /* zero until `hashed` */
	struct tree_stamp stamp;
	bool hashed;
	bool racy;     /* a change right after would have the same stamp */
	uint32_t seen; /* by the sweep of this number */
	uint64_t n;    /* the entry that made it so, 0: before the tape */
};

/* A path that may have changed without the journal's knowledge. */
struct suspect {
	struct paths_node at; /* first */
	uint64_t due_ns;      /* CLOCK_MONOTONIC */
	enum entry_origin origin;
	bool done;   /* it is none any more */
	bool steady; /* when it was last looked at, it was as before */
	bool seen;   /* it was not as known, and had this stamp: */
	struct tree_stamp stamp;
	uint64_t n; /* and known by this entry, 0: by none */
};

/* A path that is to be looked at, and why. */
struct tape_change {
	const char *path;
	const char *from; /* its former name; NULL or the same: none */
	enum entry_origin origin;
	const struct journal_author *author;
	uint64_t first, last; /* journal lines, 0: none */
	int64_t at_ns;
	/* Only if it had this stamp all along; NULL: whatever is there. */
	const struct tree_stamp *only;
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): by meaning. */
struct tape {
	const struct tape_config *c;
	int lock_file;
	int64_t since_ns; /* CLOCK_REALTIME; constant */

	pthread_mutex_t lock;
	atomic_uint wanted; /* how many wait for the lock; not under it */
	atomic_bool ready;
	atomic_ullong head; /* newest entry, for who has not the lock */
	int wake_fd;	    /* ends the loop's sleep */

	uint64_t asked_ns; /* when the question being answered came */

	struct store *store;
	struct answers *answers;
	struct graph *graph;
	struct lang_readers *facts;
	struct publish *publish;
	struct wire_server *wire;
	struct care *care;
	struct ahead *ahead;

	/* Files. */
	struct table known;
	struct buf text, more_text; /* scratch */
	ARRAY(char *) bases; /* paths whose first content is to be kept */
	size_t unreadable;
	bool learning; /* the first start: files are as they are */

	/* The journal. */
	struct journal_reader *reader; /* NULL: there is none yet */
	struct bell_ear *ear;
	struct settle *settle;
	uint64_t line;	    /* newest read */
	uint64_t gone;	    /* up to this one it is known what is missing */
	uint64_t read_here; /* lines read by this reader */
	uint64_t floor;	    /* oldest line of what is being applied, 0: none */
	uint64_t markers;   /* entries with one, since the start */

	/* Outside. */
	struct outside *outside;
	struct table suspects;
	struct sweep *sweep;
	uint32_t sweep_number;
	bool sweep_whole;     /* what it does not see is not there */
	bool sweep_urgent;    /* the journal has a gap */
	uint64_t sweep_at_ns; /* when to begin a whole one, 0: not at all */
	enum entry_origin sweep_origin; /* of what a whole one misses */
	uint64_t outside_at_ns; /* when to hear what happened, 0: not yet */

	/* A transaction under way. */
	bool open;
	struct arena arena;
	ARRAY(void *) batch; /* struct entry */
	uint64_t rest_at_ns; /* when the store may rest, 0: it does */

	/* What was given up, as the configuration wants it. */
	uint64_t retire_at_ns; /* not before */
	uint64_t retired_times, retired_contents, retired_entries;

	atomic_int error; /* the store failed: the process must end; the loop
			   * looks at it without the lock */
	bool stop;
};

void tape_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* apply.c: from changes to entries. False: it is not as `only` says. */
bool apply_change(struct tape *t, const struct tape_change *c);
/* The journal lost the lines first..last. */
void apply_gap(struct tape *t, uint64_t first, uint64_t last);
/* Ends the transaction, if there is one, and publishes. */
void apply_commit(struct tape *t);
void apply_begin(struct tape *t);
/* The content of `k`, which was never hashed, is what `now` says. */
void apply_base(struct tape *t, struct known_file *k, const struct look *now);
void known_put(struct tape *t, const struct known_file *k);
struct known_file *known_find(const struct tape *t, const char *path);
struct known_file *known_add(struct tape *t, const char *path);
void known_drop(struct tape *t, struct known_file *k);

/* follow.c: the journal. */
int follow_start(struct tape *t, bool first);
void follow_stop(struct tape *t);
/* Read on; nothing that was written after `until_ns` (0: no bound). False:
   the end is reached. */
bool follow_read(struct tape *t, uint64_t until_ns);
/* Apply what has settled; `all`: what is dirty. */
void follow_apply(struct tape *t, bool all);
int follow_sync(void *ctx, struct answers_head *ret);
/* The newest line that need not be read again. */
uint64_t follow_position(const struct tape *t);

/* external.c: what happens outside. */
int external_start(struct tape *t);
void external_stop(struct tape *t);
struct suspect *external_suspect(struct tape *t, const char *path,
				 enum entry_origin origin, uint64_t due_ns);
/* Look at every file, and below `dir` ("": all) by stamps first. */
void external_sweep(struct tape *t, enum entry_origin origin, bool urgent);
void external_below(struct tape *t, const char *dir, enum entry_origin origin);
/* One slice of sweeping. False: nothing is left. */
bool external_step(struct tape *t);
void external_hear(struct tape *t);
/* Look at suspects whose time has come; `all`: at all of them. */
void external_check(struct tape *t, bool all);
uint64_t external_due(const struct tape *t);

/* start.c: from nothing to ready. */
int start_all(struct tape *t);
bool start_bases(struct tape *t);

#endif
