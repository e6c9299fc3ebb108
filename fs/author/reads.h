/*
 * Read sets: which files each process opened and which names it looked for and
 * missed, to answer later on which files a test run depended. Kept in memory
 * only, one entry per process and path, bounded by READS_BYTES_MAX in all:
 * beyond it the sets used least recently are evicted, exited processes' before
 * living ones', and an answer says how many entries that cost.
 *
 * Any thread may call any function here. Noting never fails: when memory is
 * short the entry is dropped and counted.
 */
#ifndef STATETAPE_FS_AUTHOR_READS_H
#define STATETAPE_FS_AUTHOR_READS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/author/actor.h"

enum reads_kind {
	READS_OPENED, /* a file, for reading or execution */
	READS_LISTED, /* a directory */
	READS_MISSED, /* a name that was not there */
};

struct reads;

int reads_new(struct reads **ret);
void reads_free(struct reads *r);

/*
 * True if (kind, key) is already noted for `a`: the hot path, which saves
 * building a path. `key` is an inode's unique id or, for READS_MISSED, a hash
 * of the directory and the name.
 */
bool reads_known(struct reads *r, struct actor *a, enum reads_kind kind,
		 uint64_t key);

/* Note it, with its path relative to the root (copied). */
void reads_note(struct reads *r, struct actor *a, enum reads_kind kind,
		uint64_t key, const char *path);

/* Which processes to report. Zeroed: all. */
struct reads_question {
	pid_t pid;	 /* 0: all */
	bool tree;	 /* and its descendants */
	int64_t from_ns; /* CLOCK_REALTIME, inclusive: only processes that */
	int64_t to_ns;	 /* read something in this time; 0: no bound */
};

/*
 * Fill `answer` with "processes": one object per process {pid, start, comm,
 * cmdline, ppid, first_ns, last_ns, opened:[paths], listed:[paths],
 * missed:[paths]} and "forgotten": the number of entries lost to the bound. A
 * process is reported with all its paths; first_ns and last_ns are its first
 * and last read, repeated reads included. Paths that are not UTF-8 are escaped
 * as in the journal (journal.h).
 */
int reads_answer(struct reads *r, const struct reads_question *q,
		 cJSON *answer);

struct reads_stats {
	uint64_t processes; /* with anything noted */
	uint64_t entries;   /* held now */
	uint64_t forgotten; /* evicted or dropped */
};
void reads_stat(struct reads *r, struct reads_stats *ret);

#endif
