/*
 * What the daemon's files share.
 *
 * One lock guards everything in struct tape unless a comment says otherwise.
 * The loop takes it to work, and the thread that answers questions takes it to
 * answer: the holder owns graph, store and all the rest. Work is cut into
 * slices of a few milliseconds, and between two the loop lets a waiting
 * question pass.
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

/* A change noticed outside is not looked at before this: the journal's line
   about it may be on its way. */
#define GRACE_NS (100 * NS_PER_MS)

enum {
	SLICE_LINES = 4096, /* journal lines read in one slice */
	SLICE_NAMES = 512,  /* names seen by a sweep in one slice */
	SLICE_BASES = 16,   /* files whose first content one slice stores */
	BATCH_MAX = 512,    /* entries in one transaction */
	DIRTY_MAX = 20000,  /* paths that may wait to settle */
};

/* The store is checkpointed when nothing was written for this long. */
#define REST_NS (2000 * NS_PER_MS)

/* A file that exists, as of the newest entry. */
struct known_file {
	struct paths_node at; /* first */
	XXH128_hash_t hash;   /* zero until `hashed` */
	struct tree_stamp stamp;
	bool hashed;
	bool racy;     /* a change right after may leave the same stamp */
	uint32_t seen; /* number of the last sweep that saw it */
	uint64_t n;    /* the entry that made it so, 0: before the tape */
};

/* A path that may have changed without a line in the journal. */
struct suspect {
	struct paths_node at; /* first */
	uint64_t due_ns;      /* CLOCK_MONOTONIC */
	enum entry_origin origin;
	bool done;   /* it needs no further check */
	bool steady; /* the last two looks found the same */
	bool seen;   /* the last look found this stamp, which is not known: */
	struct tree_stamp stamp;
	uint64_t n; /* and the file's newest entry then was this, 0: none */
};

/* A path to look at, and why. */
struct tape_change {
	const char *path;
	const char *from; /* its former name; NULL or the same: none */
	enum entry_origin origin;
	const struct journal_author *author;
	uint64_t first, last; /* journal lines, 0: none */
	int64_t at_ns;
	/* Enter it only if it has this stamp before and after reading; NULL:
	   whatever is there. */
	const struct tree_stamp *only;
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): by meaning. */
struct tape {
	const struct tape_config *c;
	int lock_file;
	int64_t since_ns; /* CLOCK_REALTIME; constant */

	pthread_mutex_t lock;
	atomic_uint wanted; /* questions waiting for the lock; not under it */
	atomic_bool ready;
	atomic_ullong head; /* newest entry, for readers without the lock */
	int wake_fd;	    /* ends the loop's sleep */

	uint64_t asked_ns; /* when the current question arrived */

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
	ARRAY(char *) bases; /* paths whose first content is not stored yet */
	size_t unreadable;
	bool learning; /* the first start: files are taken as they are */

	/* The journal. */
	struct journal_reader *reader; /* NULL: there is none yet */
	struct bell_ear *ear;
	struct settle *settle;
	uint64_t line;	    /* newest line read */
	uint64_t gone;	    /* missing lines up to this one are entered */
	uint64_t read_here; /* lines read by this reader */
	uint64_t floor;	    /* oldest line being applied, 0: none */
	uint64_t markers;   /* entries with a marker, since the start */

	/* Outside. */
	struct outside *outside;
	struct table suspects;
	struct sweep *sweep;
	uint32_t sweep_number;
	bool sweep_whole;     /* files it does not see are gone */
	bool sweep_urgent;    /* SYNC must finish it: the journal has a gap */
	uint64_t sweep_at_ns; /* when to begin a whole one, 0: not planned */
	enum entry_origin sweep_origin; /* of files a whole one misses */
	uint64_t outside_at_ns; /* when to read inotify, 0: nothing came */

	/* The open transaction. */
	bool open;
	struct arena arena;
	ARRAY(void *) batch; /* struct entry */
	uint64_t rest_at_ns; /* when to checkpoint the store, 0: done */

	/* Retired by --keep. */
	uint64_t retire_at_ns; /* not before */
	uint64_t retired_times, retired_contents, retired_entries;

	atomic_int error; /* the store failed: the process must end; the loop
			   * reads it without the lock */
	bool stop;
};

void tape_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* apply.c: from changes to entries. False: its stamp is not `only`. */
bool apply_change(struct tape *t, const struct tape_change *c);
/* The journal lost the lines first..last. */
void apply_gap(struct tape *t, uint64_t first, uint64_t last);
/* Ends the transaction, if there is one, and publishes. */
void apply_commit(struct tape *t);
void apply_begin(struct tape *t);
/* Store the content of `k`, which was never hashed; `now` has read it. */
void apply_base(struct tape *t, struct known_file *k, const struct look *now);
void known_put(struct tape *t, const struct known_file *k);
struct known_file *known_find(const struct tape *t, const char *path);
struct known_file *known_add(struct tape *t, const char *path);
void known_drop(struct tape *t, struct known_file *k);

/* follow.c: the journal. */
int follow_start(struct tape *t, bool first);
void follow_stop(struct tape *t);
/* Read one slice of lines; stop behind the first that was written after
   `until_ns` (0: no bound). False: the end is reached. */
bool follow_read(struct tape *t, uint64_t until_ns);
/* Apply what has settled; `all`: everything dirty. */
void follow_apply(struct tape *t, bool all);
int follow_sync(void *ctx, struct answers_head *ret);
/* The newest line that a restart need not read again. */
uint64_t follow_position(const struct tape *t);

/* external.c: changes that did not pass through the mount. */
int external_start(struct tape *t);
void external_stop(struct tape *t);
struct suspect *external_suspect(struct tape *t, const char *path,
				 enum entry_origin origin, uint64_t due_ns);
/* Compare the stamps of all files with the known ones. `urgent`: SYNC must
   finish it. */
void external_sweep(struct tape *t, enum entry_origin origin, bool urgent);
/* The same below `dir` alone. */
void external_below(struct tape *t, const char *dir, enum entry_origin origin);
/* One slice of sweeping. False: nothing is left. */
bool external_step(struct tape *t);
/* Read all events of inotify. */
void external_hear(struct tape *t);
/* Look at suspects that are due; `all`: at all of them. */
void external_check(struct tape *t, bool all);
uint64_t external_due(const struct tape *t);

/* start.c: from nothing to ready. */
int start_all(struct tape *t);
bool start_bases(struct tape *t);

#endif
