/*
 * Many processes do the same random things to a mount and to a plain
 * directory, its twin, and compare every answer. twin.c starts them, the
 * deeds are in twin_names.c and twin_files.c (one at a time on a path or a
 * file) and twin_crowd.c (all at once on the same files), and twin_tree.c
 * compares both trees in the end.
 *
 * A process works in zones: directories of the same name on both sides. Its
 * own zone is used by no other; a shared one has a lock outside of both trees,
 * held while a deed is done on both sides, so that both see the same order.
 */
#ifndef STATETAPE_TESTS_PROP_FS_TWIN_H
#define STATETAPE_TESTS_PROP_FS_TWIN_H

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/prop/fs/dice.h"

enum side { PLAIN, MOUNT, SIDES };

#define ZONES	   5 /* one's own and the shared ones */
#define SLOTS	   8 /* pairs of files a process keeps open */
#define STORY	   60
#define STORY_LINE 200
#define OFF_MAX	   (256 << 10)
#define LEN_MAX	   (32 << 10)

/* Times set on purpose are older than this; the clock's are not. */
#define LONG_AGO 1000000000

struct zone {
	char name[16];
	int top[SIDES];
	int lock; /* -1: not shared */
};

struct slot {
	int fd[SIDES]; /* -1: nothing open */
	const struct zone *zone;
	int flags;
};

/* One process. */
struct twin {
	struct dice dice;
	int number;
	bool tmpfile;	 /* both sides know O_TMPFILE */
	bool privileged; /* we were started by root, and so was the mount */
	const char *root[SIDES];
	struct zone zones[ZONES];
	const struct zone *zone; /* where the present deed is done */
	struct slot slots[SLOTS];
	int crowd[SIDES];  /* directory where all work at once */
	size_t grown;	   /* bytes of my share of "grows" I have written */
	FILE *log;	   /* what was done and must be in the journal */
	atomic_bool *stop; /* shared by all: a process failed */

	uint64_t op;
	char story[STORY][STORY_LINE];
	unsigned char data[SIDES][LEN_MAX];
};

/* What a call answered on each side: a value, or a negative errno. */
struct pair {
	long long got[SIDES];
};

static inline long long outcome(long long r)
{
	return r < 0 ? -errno : r;
}

/* Describe the next deed, for the report of a failure. */
__attribute__((format(printf, 2, 3))) void twin_say(struct twin *t,
						    const char *format, ...);

/* The sides differ: print the report and end the process. */
__attribute__((noreturn, format(printf, 2, 3))) void
twin_fail(struct twin *t, const char *format, ...);

/* Both answers are the same, or the process ends. True: a success. */
bool twin_agree(struct twin *t, const struct pair *p);

/* Both have the same status at `path` in the zone, or the process ends. */
void twin_same_at(struct twin *t, const char *path);
void twin_same_stat(struct twin *t, const struct stat st[SIDES]);

/*
 * Log a deed: `op` as the journal names it, and what identifies it there. The
 * log has one line per deed: op, inode, offset, length, path, path2, with TABs
 * between them; 0, -1 and "" where they do not matter.
 */
void twin_log(struct twin *t, const char *op, uint64_t ino, long long off,
	      long long len);
void twin_log_paths(struct twin *t, const char *op, const char *path,
		    const char *path2);

/*
 * Where `path` in the zone leads, relative to the root: its directory without
 * symbolic links, and its last name. False: nowhere.
 */
bool twin_resolve(struct twin *t, const char *path, char out[PATH_MAX]);

/* A random path in a zone: existing or not, of any kind. */
void twin_path(struct twin *t, char out[PATH_MAX]);

/* Do something random; twin_names.c, twin_files.c, twin_crowd.c. */
void twin_do_name(struct twin *t);
void twin_do_file(struct twin *t);
void twin_do_crowd(struct twin *t);
void twin_close_slots(struct twin *t);
int twin_crowd_make(const char *root, int procs);

/*
 * 0 if the trees are alike in everything but inode numbers and clock times.
 * Prints the differences. The crowd's log is compared as a set.
 */
int twin_compare(const char *plain, const char *other);

#endif
