/*
 * Where a mount goes: the repository and its mountpoint, checked, made
 * canonical, and held. Checks come in the order in which a person would make
 * them and fail with one sentence each. Nothing that hangs is touched before
 * the repository's lock is ours.
 */
#ifndef STATETAPE_FS_MOUNT_SITE_H
#define STATETAPE_FS_MOUNT_SITE_H

#include <stdbool.h>

#include "tape/wire/state.h"

struct site {
	struct state state; /* created and locked */
	char *mountpoint;   /* canonical; the repository's path if over it */
	int root_fd;	    /* the directory below */
	bool read_only, nosuid, nodev, noexec; /* as it is mounted now */
};

/*
 * `mountpoint` may be NULL. A dead mount of ours found there is taken away,
 * and *ret_note says so. On failure *ret_why says why. Free both.
 */
int site_init(const char *repo, const char *mountpoint, struct site *ret,
	      char **ret_note, char **ret_why);
void site_release(struct site *s);

/* False where the kernel shows itself: under a mount over /proc nobody, and we
   least of all, would find his way. */
bool site_has_files(const char *path);

/* Is absolute `path` the same as `top` or below it? */
bool site_inside(const char *path, const char *top);

#endif
