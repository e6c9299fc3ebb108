/*
 * A mount in a mount namespace of our own: only we and our children see it.
 * There are four ways, and the first that is permitted is taken:
 *
 *	DIRECT	  root with CAP_SYS_ADMIN needs a mount namespace and no more
 *	ASIDE	  an ordinary user: fusermount3 mounts at a directory aside,
 *		  and that mount is bound to its place in a user namespace.
 *		  It belongs to the system's user namespace, so files keep all
 *		  owners and groups
 *	ALL_IDS	  root without CAP_SYS_ADMIN, as in a container: the mount
 *		  belongs to a user namespace that maps every id to itself
 *	OWN_IDS	  the same, where only our own user and group may be mapped.
 *		  The kernel refuses to write a file whose owner or group has no
 *		  mapping, even where its mode permits it
 *
 * In a user namespace owners that are not mapped show as "nobody", and
 * set-user-id programs gain nothing (with ALL_IDS they do). A program that is
 * run there has no capability that it would not have had outside.
 */
#ifndef STATETAPE_FS_MOUNT_PRIVATE_H
#define STATETAPE_FS_MOUNT_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/mount/mount.h"

enum private_way {
	PRIVATE_DIRECT,
	PRIVATE_ASIDE,
	PRIVATE_ALL_IDS,
	PRIVATE_OWN_IDS,
};

/* Starts the process that serves `fuse_fd`. 0 or a negative errno. */
typedef int private_server(void *context, int fuse_fd, enum private_way way,
			   char **ret_why);

/*
 * Enter a namespace of our own with the mount in it. `serve` is called once,
 * with PRIVATE_ASIDE before we enter it. The calling process must have one
 * thread; descriptors and the current directory stay valid. On failure *ret_why
 * says why (free it), and the process may be half way and should exit.
 */
int private_mount(const struct mount_options *o, private_server *serve,
		  void *context, char **ret_why);

/* Will it be PRIVATE_DIRECT, which changes nothing for anyone's files? */
bool private_is_direct(void);

/*
 * For the process that serves the mount: move into a copy of the namespace
 * without the mount at `mountpoint`. A namespace lives as long as any process
 * in it, so the server would keep its own mount alive after the last user has
 * left. Best effort. With PRIVATE_ASIDE it was never in there.
 */
void private_step_aside(const char *mountpoint);

/*
 * Entering a user namespace gives all capabilities in it. `private_bounds`
 * before and `private_limit` after let programs that are run from then on have
 * those of before at most; this process keeps its own.
 */
uint64_t private_bounds(void);
void private_limit(uint64_t bounds);

#endif
