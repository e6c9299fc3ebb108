/*
 * The process that supervises the file system process. It mounts, starts the
 * process that serves, and waits. It uses no file of the mount itself, so it
 * can unmount when the other process dies; absolute paths then lead to the
 * plain directory again.
 *
 *	statetape mount ── the guard ─┬─ statetape-fs: serves
 *	                              └─ COMMAND, if one was given
 *
 * If the guard is killed, the file system is still served, and `statetape
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
	bool awake;	       /* keep processors awake under load */
	bool lend_root;	       /* the command inherits the directory below as
				* a descriptor, its number in GUARD_ROOT */
	uint64_t journal_keep; /* bytes; 0: default */
};

#define GUARD_ROOT "STATETAPE_ROOT_FD" /* environment variable */

/* Besides the command's own codes, and 128 + N if signal N ended it. */
enum {
	GUARD_FAILED = 125,	/* the command was never run */
	GUARD_CANNOT_RUN = 126, /* the command exists but cannot be run */
	GUARD_NOT_FOUND = 127,
};

/*
 * Mount and supervise until the mount ends. Without a command and without
 * `foreground` a background process does that, and this returns when the mount
 * is served. Prints on stdout and stderr. Returns the process's exit code. The
 * calling process must have one thread.
 *
 * Ancestor chains in the journal end at the process that ran `statetape
 * mount`: the guard itself if it runs a command, its parent otherwise.
 */
int guard_mount(const struct guard_options *o);

#endif
