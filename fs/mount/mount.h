/*
 * Mounts and unmounts: mount(2) where we may (root, or a user namespace of our
 * own), fusermount3 otherwise; and finds our mounts in the mount table.
 * Functions that fail put a sentence into *ret_why (if given; free it).
 */
#ifndef STATETAPE_FS_MOUNT_MOUNT_H
#define STATETAPE_FS_MOUNT_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#define MOUNT_FSTYPE "fuse.statetape"
#define MOUNT_SOURCE "statetape#" /* followed by the repository's id */

struct mount_options {
	const char *mountpoint; /* canonical, absolute */
	const char *source;	/* shown in the mount table: "statetape#<id>" */
	bool allow_other;	/* other users may use it */
	bool read_only;
	bool nosuid, nodev, noexec; /* as the directory below has them */
};

/* Open /dev/fuse and mount. *ret_fd is the session's descriptor. */
int mount_fuse(const struct mount_options *o, int *ret_fd, char **ret_why);
/* The same, by fusermount3 in any case. */
int mount_by_helper(const struct mount_options *o, int *ret_fd, char **ret_why);

/* fusermount3 unmounts only what it finds in /etc/mtab, which a bare chroot
   does not have. */
bool mount_helper_can_unmount(void);

/*
 * Unmount. -EBUSY: it is in use. With `lazy` it is unmounted all the same:
 * paths lead to the plain directory again, and open files work until closed.
 */
int mount_detach(const char *mountpoint, bool lazy, char **ret_why);

/* A mount of ours as the mount table of this namespace shows it. */
struct mount_entry {
	char *mountpoint;
	char *id;     /* repository id, from the source field */
	dev_t dev;    /* st_dev of its files */
	bool covered; /* another mount hides it */
};

/*
 * The statetape mount whose mountpoint is `path` (canonical, absolute) and to
 * which `path` leads; or, if `path` is NULL, the one with that `id`,
 * preferably not covered. -ENOENT: none. Sends no request to the file system,
 * which may hang or be dead.
 */
int mount_find(const char *path, const char *id, struct mount_entry *ret);
void mount_entry_release(struct mount_entry *e);

/*
 * True if the mount table of process `pid` has a mount with that `id`. False if
 * it was unmounted or does not exist yet, and if the table cannot be read: an
 * ending process has none any more.
 */
bool mount_is_held(pid_t pid, const char *id);

/*
 * True if the process that served the mount is gone. Sends a request to the
 * file system and waits for the answer.
 */
bool mount_is_dead(const char *mountpoint);
/* Is this an errno that a dead mount returns? */
bool mount_error_is_death(int error);

#endif
