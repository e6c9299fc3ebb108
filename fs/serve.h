/*
 * The file system process: serves one mounted FUSE session over one directory
 * until it is unmounted or told to stop. Contains no parser and no network;
 * what it reports goes to the journal before the caller is answered.
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
	const char *repo; /* canonical path, for texts only */
	const char *mountpoint;	 /* for texts only */
	const char *fs_socket;	 /* questions are answered here */
	const char *bell_socket; /* the journal's bell */
	pid_t session_root;	 /* ancestor chains end here; 0: at init */
	bool journal;		 /* off only to measure what it costs */
	uint64_t journal_keep;	 /* bytes of journal kept; 0: default */
	bool watch;		 /* follow changes made below the mount */
	bool rings;		 /* io_uring where the kernel offers it */
	bool awake;		 /* processors stay so while requests come */
	int ready_fd; /* one byte when serving; then closed. -1: none */
};

/*
 * Takes over root_fd and fuse_fd. Returns 0 after an orderly end, a negative
 * errno otherwise, having logged why on stderr.
 */
int fs_serve(const struct fs_config *config);

#endif
