/*
 * The place of a mount: repository and mountpoint, checked, made canonical and
 * locked. Each check fails with one sentence. No request is sent to a file
 * system that may hang before we hold the repository's lock.
 */
#ifndef STATETAPE_FS_MOUNT_SITE_H
#define STATETAPE_FS_MOUNT_SITE_H

#include <stdbool.h>

#include "tape/wire/state.h"

struct site {
	struct state state; /* created and locked */
	char *mountpoint;   /* canonical; the repository's path if over it */
	int root_fd;	    /* the directory below */
	bool read_only, nosuid, nodev, noexec; /* flags of its own mount */
};

/*
 * `mountpoint` NULL: over the repository. A dead mount of ours found there is
 * unmounted, and *ret_note says so. On failure *ret_why says why. Free both.
 */
int site_init(const char *repo, const char *mountpoint, struct site *ret,
	      char **ret_note, char **ret_why);
void site_release(struct site *s);

/* False for kernel file systems: a mount over /proc would break every process,
   ours included. */
bool site_has_files(const char *path);

/* Is the absolute path `path` equal to `top` or below it? */
bool site_inside(const char *path, const char *top);

#endif
