/*
 * Asks this machine's kernel what it can do for a file system in user space,
 * by trying it in a child whose namespaces vanish with it. Nothing here is
 * guessed from a version number, and nothing outside the child changes.
 */
#ifndef STATETAPE_TOOLS_CLI_PROBE_H
#define STATETAPE_TOOLS_CLI_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/* Bits of the kernel's offer that older <linux/fuse.h> do not name. */
#define PROBE_FUSE_PASSTHROUGH	 (UINT64_C(1) << 37)
#define PROBE_FUSE_OVER_IO_URING (UINT64_C(1) << 41)

struct probe_fuse {
	uint32_t major, minor; /* protocol */
	uint64_t flags;	       /* what the kernel offers: FUSE_... */
};

/* Can unshare(2) be called with `flags` (CLONE_NEW...)? 0 or -errno. */
int probe_unshare(int flags);

/*
 * Mount an empty file system in a mount namespace, and with `user_namespace`
 * also a user namespace, of a child's own, and read the kernel's opening
 * offer. 0 or -errno: -ENOENT no /dev/fuse, -EPERM not allowed, -ENODEV the
 * kernel has no fuse.
 */
int probe_fuse(bool user_namespace, struct probe_fuse *ret);

#endif
