/*
 * What the daemon's files share.
 *
 * One thread owns everything in struct tape unless a comment says otherwise:
 * the one that starts the tape, and then the loop's. The loop's work is cut
 * into slices of a few milliseconds; between two it answers questions. A
 * question that must wait, such as SYNC, is put off, and looked at again after
 * each slice.
 */
#ifndef STATETAPE_TAPE_DAEMON_I_H
#define STATETAPE_TAPE_DAEMON_I_H

#include <cjson/cJSON.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "graph/base/clock.h"
#include "graph/base/paths.h"
#include "graph/build/look.h"
#include "tape/content.h"
#include "tape/daemon.h"
#include "tape/fence.h"
#include "tape/query/answers.h"
#include "tape/store/entry.h"

struct ahead;
struct anchors;
struct apart;
struct bell_ear;
struct care;
struct check;
struct lang_readers;
struct graph;
struct journal_author;
struct journal_reader;
struct leftovers;
struct outside;
struct progress;
struct publish;
struct settle;
struct settled;
struct store;
struct sweep;
struct wire_question;
struct wire_server;

/* inotify reports changes through the mount, too: a path is looked at once for
   those of this time, unless SYNC was asked. */
#define GRACE_NS (100 * NS_PER_MS)

/* The work between two looks at the sockets. */
#define SLICE_NS (3 * NS_PER_MS)

/* File systems stamp by the tick of the kernel's clock: a change this soon
   after another may leave the same stamp. */
#define RACY_NS INT64_C(50000000)

enum {
	SLICE_LINES = 4096, /* journal lines read at a time */
	SLICE_NAMES = 128, /* names a sweep sees before it looks at the clock */
	SLICE_PATHS = 16,  /* settled paths applied before that */
	BATCH_MAX = 512,   /* entries in one transaction */
	DIRTY_MAX = 20000, /* paths that may wait to settle */
	PENDING_MAX = 200000, /* beyond this, the journal is not read on */
};

/* A file that marks a tape as begun, even one without entries of an empty
   repository. */
#define BEGUN_NAME "tape.begun"

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
	uint64_t number;      /* in the order in which they were noticed */
	uint64_t late_ns;     /* CLOCK_MONOTONIC: when a check last gave up; 0:
			       * none has */
	uint32_t tries;	      /* checks that found it changing */
	enum entry_origin origin;
	bool steady; /* the last two looks found the same */
	bool seen;   /* the last look found this stamp, which is not known: */
	struct tree_stamp stamp;
	uint64_t n; /* and the file's newest entry then was this, 0: none */
};

/* A path to look at, and why. */
struct tape_change {
	const char *path;
	const char *from; /* its former name; NULL or the same: none */
	const char *like; /* the file that it is a new name of, or NULL */
	enum entry_origin origin;
	const struct journal_author *author;
	/* Of a merged change all, in order; none: it is not merged. */
	const struct journal_author *const *authors;
	size_t authors_count;
	uint64_t first, last; /* journal lines, 0: none */
	int64_t at_ns;
	/* Enter it only if it has this stamp before and after reading; NULL:
	   whatever is there. */
	const struct tree_stamp *only;
	/*
	 * What the path held then, and whether its stamp may also be that of a
	 * change after; NULL: look at the file now.
	 */
	const struct look *is;
	bool racy;
	bool as_known; /* the name changed alone */
	bool moved;    /* the former name is gone, whatever is there now */
};

/* In the state directory: held by the one tape of the repository. */
#define TAPE_LOCK_NAME "tape.lock"

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): by meaning. */
struct tape {
	const struct tape_config *c;
	int lock_file;
	int64_t since_ns; /* CLOCK_REALTIME; constant */

	atomic_bool started; /* the starting thread has ended */
	bool ready;
	atomic_ullong head; /* newest entry; also read while it starts */
	int wake_fd;	    /* ends the loop's sleep */

	uint64_t slice_ns;		/* when the current slice is over */
	struct wire_question *question; /* being answered, or NULL */
	ARRAY(void *) calls; /* struct wire_call, of questions put off */

	struct store *store;
	bool renews; /* it is to be set aside at once */
	char *aside; /* a sentence about the store that was set aside, or NULL
		      */
	struct answers *answers;
	struct graph *graph;
	struct lang_readers *facts;
	struct publish *publish;
	struct wire_server *wire;
	struct care *care;
	struct ahead *ahead;
	struct apart *apart;
	bool at_once;		 /* large files are parsed here and now */
	struct anchors *anchors; /* NULL: none */
	uint64_t anchored;	 /* the newest entry handed to them */

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
	uint64_t line;	  /* newest line read */
	uint64_t read_ns; /* every line was read of a call that returned
			   * before this (CLOCK_MONOTONIC) */
	uint64_t wanted;  /* lines up to this one are to be applied soon */
	uint64_t gone;	  /* missing lines up to this one are entered */
	uint64_t removed_first, removed_last; /* lost with a removed state
						 directory; 0: none */
	uint64_t read_here;		      /* lines read by this reader */
	uint64_t floor;	  /* oldest line being applied, 0: none */
	uint64_t markers; /* entries with a marker, since the start */
	uint64_t again; /* lines up to this one are read after a restart, too */
	struct table applied; /* and of these: struct contents_path */

	/* Contents of versions. */
	struct content_pool contents;
	uint64_t published_ns; /* CLOCK_MONOTONIC, when some were read last */
	int kept_fd;	       /* JOURNAL_KEPT, -1: not open */
	struct leftovers *leftovers;
	bool linked; /* some file has several names */

	/* Outside. */
	struct outside *outside;
	struct table suspects;
	uint64_t suspect_number;  /* the newest one's */
	uint64_t suspects_wanted; /* up to this one they are checked soon */
	struct check *check;
	struct progress *progress;
	struct fence fence;
	struct sweep *sweep;
	uint32_t sweep_number;
	bool sweep_whole;     /* files it does not see are gone */
	bool sweep_urgent;    /* SYNC must finish it: the journal has a gap */
	bool outside_lost;    /* inotify's queue ran over since the last one */
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

	int error; /* the store failed: the process must end */
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

/* The sooner of two times; 0: never. */
static inline uint64_t sooner(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a ? a : b;
	return a < b ? a : b;
}

/* loop.c */
struct loop;
/* Takes the signals: call it before any thread is started. */
struct loop *loop_new(struct tape *t);
void loop_free(struct loop *l);
/* Start the tape, and run until a signal or an error ends it. */
int loop_run(struct loop *l);
void slice_begin(struct tape *t);
/* Is it time to look at the sockets, or did the store fail? */
bool slice_over(const struct tape *t);

/* questions.c: answering them, first from the store alone. */
int questions_answers(struct tape *t);
int questions_open(struct tape *t);
void questions_close(struct tape *t);

/* sync.c: the barrier. */
struct sync;
struct sync *sync_new(const struct tape *t, int64_t asked_ns,
		      const struct answers_wish *wish);
void sync_free(struct sync *s);
/* True: it is done, or the time is over. */
bool sync_step(struct tape *t, struct sync *s);
void sync_head(struct tape *t, struct sync *s, struct answers_head *ret);
/* anchoring.c: checkpoints. */
int anchoring_open(struct tape *t);
void anchoring_close(struct tape *t);
/* Hand over a checkpoint of the newest entry, unless that was done. */
void anchoring_put(struct tape *t);
/* The same, if enough entries came since the last one. */
void anchoring_step(struct tape *t);
int anchoring_ask(void *ctx, cJSON *answer);
void anchoring_status(struct tape *t, cJSON *answer);

/* renew.c: a store that cannot be gone on with. */
bool renew_helps(int error);
/* Set the store at `path` aside; `why` is a sentence. */
int renew_store(struct tape *t, const char *path, int error, const char *why);

/* follow.c: the journal. */
int follow_start(struct tape *t, bool first);
void follow_stop(struct tape *t);
/* Read lines for a while. False: the end is reached. */
bool follow_read(struct tape *t);
/* Apply what has settled, and what is wanted, until the slice is over. True:
   there is more. */
bool follow_apply(struct tape *t);
/* Apply all that is dirty, however long it takes. */
void follow_apply_all(struct tape *t);
/* Apply what is dirty of one path, settled or not. */
bool follow_apply_path(struct tape *t, const char *path);
/* The newest line that a restart need not read again. */
uint64_t follow_position(const struct tape *t);

/* contents.c: what versions contained. */
void contents_start(struct tape *t);
void contents_stop(struct tape *t);
/* Read what is to be read of versions finished, settled, or with a line up to
   `upto`, and tell the file system. True: then read the journal on. */
bool contents_read(struct tape *t, uint64_t upto);
bool contents_read_path(struct tape *t, const char *path);
/* Fill in what the version contained: `look` is what `c` refers to. False: it
   was kept, and a tape before this one used the copy up, so the version is on
   the tape. */
bool contents_of(struct tape *t, const struct settled *s, struct look *look,
		 struct tape_change *c);
/* What the version of a path with a language contained, if it is large;
   -ENOENT: it is none. */
int contents_look(struct tape *t, const char *path, const struct content *c,
		  struct look *ret);
/* Is this copy, said to be from outside, a content that is known or was read?
 */
bool contents_have(struct tape *t, const char *path, const char *kept);
/* Remove copies that no entry to come needs. Not in a transaction. */
void contents_clean(struct tape *t);
/* Was a version of the path with this line, or a later one, entered before the
   tape was restarted? */
bool contents_applied(const struct tape *t, const char *path, uint64_t line);

/* apply.c: can the change be entered without parsing much? If not, another
   thread begins to. */
bool apply_is_ready(struct tape *t, const char *path, const struct look *now);

/* leftovers.c: copies that no entry will need. */
struct leftovers *leftovers_new(void);
void leftovers_free(struct leftovers *x);
/* Look for them, if nothing is dirty and it was not done lately. */
void leftovers_begin(struct tape *t, struct leftovers *x);
bool leftovers_busy(const struct leftovers *x);
/* A line that settles names this copy. */
void leftovers_named(struct leftovers *x, const char *name);
/* Until the slice is over, or it has to wait. */
void leftovers_step(struct tape *t, struct leftovers *x);
/* When there is work; 0: none. */
uint64_t leftovers_due(const struct leftovers *x);

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
/* Sweep until the slice is over. False: nothing is left. */
bool external_step(struct tape *t);
/* Read some events of inotify. False: there are no more. */
bool external_hear(struct tape *t);
/* Check suspects that are due or wanted, until the slice is over or the check
   has to wait. */
void external_check(struct tape *t);
/* When there is work; 0: none. */
uint64_t external_due(const struct tape *t);
/* The number of the newest entry of a file that exists; 0: none. */
uint64_t external_entry(const struct tape *t, const char *path);

/* check.c: are suspects changes from outside? */
struct check *check_new(void);
void check_free(struct check *c);
bool check_busy(const struct check *c);
uint64_t check_due(const struct check *c);
/* Begin with the suspects that are due, and those up to number `upto`. */
void check_begin(struct tape *t, struct check *c, uint64_t upto);
/* Begin with those of these paths, and apply what is dirty of them. */
void check_begin_paths(struct tape *t, struct check *c,
		       const char *const *paths, size_t count);
void check_step(struct tape *t, struct check *c);
/* Is the file as the tape knows it, so that it needs no entry? */
bool check_is_known(struct tape *t, const char *path);

/* start.c: from nothing to ready. */
int start_all(struct tape *t);
bool start_bases(struct tape *t);

#endif
