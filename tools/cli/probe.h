/*
 * Finds out what this kernel can do for a FUSE file system, by trying it in a
 * child whose namespaces end with it. Nothing is guessed from a version number,
 * and nothing outside the child changes.
 */
#ifndef STATETAPE_TOOLS_CLI_PROBE_H
#define STATETAPE_TOOLS_CLI_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/* Flags of FUSE_INIT that older <linux/fuse.h> do not define. */
#define PROBE_FUSE_PASSTHROUGH	 (UINT64_C(1) << 37)
#define PROBE_FUSE_OVER_IO_URING (UINT64_C(1) << 41)

struct probe_fuse {
	uint32_t major, minor; /* protocol version */
	uint64_t flags;	       /* FUSE_... flags that the kernel offers */
};

/* Can unshare(2) be called with `flags` (CLONE_NEW...)? 0 or -errno. */
int probe_unshare(int flags);

/*
 * Mount an empty file system in a child's own mount namespace (with
 * `user_namespace` also its own user namespace), and read the kernel's
 * FUSE_INIT. 0 or -errno: -ENOENT: no /dev/fuse, -EPERM: not permitted,
 * -ENODEV: the kernel has no FUSE.
 */
int probe_fuse(bool user_namespace, struct probe_fuse *ret);

#endif
