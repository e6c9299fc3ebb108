/*
 * The process that stands over the file system process. It mounts, starts the
 * one that serves, and waits; it touches no file of the mount itself, so it is
 * still there to take the mount away when the other one dies, and absolute
 * paths lead to the plain directory again.
 *
 *	statetape mount ── the guard ─┬─ statetape-fs: serves
 *	                              └─ COMMAND, if one was given
 *
 * If the guard is killed the file system goes on being served and `statetape
 * umount` ends it.
 */
#ifndef STATETAPE_FS_MOUNT_GUARD_H
#define STATETAPE_FS_MOUNT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct guard_options {
	const char *repo;
	const char *mountpoint; /* NULL: over the repository itself */
	char **command; /* run while mounted, NULL-terminated; NULL: none */
	bool foreground;
	bool private;	       /* in a namespace of its own; without a command
				* $SHELL is run */
	bool allow_other;      /* root's mounts always do */
	bool journal;	       /* write it */
	bool watch;	       /* follow changes made below */
	bool rings;	       /* io_uring where the kernel offers it */
	bool awake;	       /* processors stay so while requests come */
	bool lend_root;	       /* the command gets the directory below, as a
				* descriptor named in GUARD_ROOT */
	uint64_t journal_keep; /* bytes; 0: default */
};

#define GUARD_ROOT "STATETAPE_ROOT_FD" /* environment: its number */

/* Beside the command's own codes, and 128 + N if signal N ended it. */
enum {
	GUARD_FAILED = 125,	/* the command was never run */
	GUARD_CANNOT_RUN = 126, /* it is there and cannot be run */
	GUARD_NOT_FOUND = 127,
};

/*
 * Mount and stand by until it ends; unless a command is to be run or
 * `foreground` is set, do so in the background and return when it is served.
 * Talks on stdout and stderr. Returns the process's exit code. The calling
 * process must have one thread.
 *
 * Ancestor chains in the journal end at the process that ran `statetape
 * mount`: the guard itself if it runs a command, its parent otherwise.
 */
int guard_mount(const struct guard_options *o);

#endif
