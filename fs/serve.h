/*
 * The file system process: serves one mounted FUSE session over one directory
 * until it is unmounted or a signal stops it. It contains no parser and no
 * network code; each change is in the journal before its caller is answered.
 */
#ifndef STATETAPE_FS_SERVE_H
#define STATETAPE_FS_SERVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fs_config {
	int root_fd;	  /* the directory below, opened before mounting */
	int fuse_fd;	  /* from mount_fuse() */
	int state_fd;	  /* state directory; the journal lives there */
	const char *repo; /* canonical path, for messages only */
	const char *mountpoint;	 /* for messages only */
	const char *fs_socket;	 /* where questions are answered */
	const char *bell_socket; /* notifies readers of new journal lines */
	pid_t session_root;	 /* ancestor chains end here; 0: at init */
	bool journal;		 /* off only to measure its cost */
	uint64_t journal_keep;	 /* bytes of journal kept; 0: default */
	bool watch;		 /* follow changes made below the mount */
	bool rings;		 /* io_uring where the kernel offers it */
	bool awake;		 /* keep processors awake under load */
	int ready_fd; /* gets one byte when serving, then closed; -1: none */
};

/*
 * Takes over root_fd and fuse_fd. Returns 0 after an orderly end; otherwise
 * logs the reason on stderr and returns a negative errno.
 */
int fs_serve(const struct fs_config *config);

#endif
