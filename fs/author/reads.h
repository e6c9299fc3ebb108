/*
 * What each process read and what it looked for in vain, so that one can ask
 * later which files a test run really depended on. Kept in memory only, one
 * entry per process and path however often it was opened, bounded by
 * READS_BYTES_MAX in all: beyond it the processes heard of least recently are
 * forgotten first, exited ones before living ones, and an answer says so.
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
 * True if (kind, key) is already noted for `a`: the hot path, asked before a
 * path is built. `key` identifies the file (an inode's unique number) or, for
 * READS_MISSED, hashes the directory and the name.
 */
bool reads_known(struct reads *r, struct actor *a, enum reads_kind kind,
		 uint64_t key);

/* Note it, with its path relative to the root (copied). */
void reads_note(struct reads *r, struct actor *a, enum reads_kind kind,
		uint64_t key, const char *path);

/* Whom to tell of. Zeroed: all. */
struct reads_question {
	pid_t pid;	 /* 0: all */
	bool tree;	 /* and its descendants */
	int64_t from_ns; /* CLOCK_REALTIME, both included: processes that ... */
	int64_t to_ns;	 /* ... read something in between; 0: no bound */
};

/*
 * Fill `answer` with "processes": one object per process {pid, start, comm,
 * cmdline, ppid, first_ns, last_ns, opened:[paths], listed:[paths],
 * missed:[paths]} and "forgotten": how many entries the bound cost. A process
 * is asked for as a whole: it read first at first_ns, last at last_ns, what
 * it had read before and read again included. Paths that are not UTF-8 are
 * escaped as in the journal (journal.h).
 */
int reads_answer(struct reads *r, const struct reads_question *q,
		 cJSON *answer);

struct reads_stats {
	uint64_t processes; /* with anything noted */
	uint64_t entries;   /* held now */
	uint64_t forgotten; /* given up to stay in bounds */
};
void reads_stat(struct reads *r, struct reads_stats *ret);

#endif
