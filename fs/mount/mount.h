/*
 * Putting the file system into the tree and taking it out again: mount(2)
 * where we may (root, or a user namespace of our own), fusermount3 otherwise.
 * Knows nothing of what is served. Functions that fail leave a sentence in
 * *ret_why (if given; free it).
 */
#ifndef STATETAPE_FS_MOUNT_MOUNT_H
#define STATETAPE_FS_MOUNT_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#define MOUNT_FSTYPE "fuse.statetape"
#define MOUNT_SOURCE "statetape#" /* and the repository's id */

struct mount_options {
	const char *mountpoint; /* canonical, absolute */
	const char *source;	/* shown in the mount table: "statetape#<id>" */
	bool allow_other;	/* others than us may use it */
	bool read_only;
	bool nosuid, nodev, noexec; /* as the directory below has them */
};

/* Open /dev/fuse and mount. *ret_fd is the session's descriptor. */
int mount_fuse(const struct mount_options *o, int *ret_fd, char **ret_why);

/* fusermount3 mounts anywhere, but unmounts only what it finds in /etc/mtab,
   which a bare chroot does not have. */
bool mount_helper_can_unmount(void);

/*
 * Unmount. -EBUSY: somebody uses it; with `lazy` that is no obstacle: names
 * lead to the plain directory again and open files live on until closed.
 */
int mount_detach(const char *mountpoint, bool lazy, char **ret_why);

/* A mount of ours as the mount table of this namespace shows it. */
struct mount_entry {
	char *mountpoint;
	char *id;     /* repository id, from the source field */
	dev_t dev;    /* what stat(2) says of each file in it */
	bool covered; /* its mountpoint leads to another mount by now */
};

/*
 * The statetape mount that `path` (canonical, absolute) leads to, being its
 * mountpoint; or, if `path` is NULL, the one with that `id`, rather one that
 * is not covered. -ENOENT: none. Asks the kernel alone, so a file system that
 * hangs or is gone does no harm.
 */
int mount_find(const char *path, const char *id, struct mount_entry *ret);
void mount_entry_release(struct mount_entry *e);

/*
 * Process `pid` sees no mount with that `id`: it was unmounted, or is not made
 * yet. Not known is not gone.
 */
bool mount_is_gone(pid_t pid, const char *id);

/*
 * Nobody serves it any more: its process is gone. This asks the file system
 * and waits for its answer.
 */
bool mount_is_dead(const char *mountpoint);
/* This errno is what such a mount gives. */
bool mount_error_is_death(int error);

#endif
