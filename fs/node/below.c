#include "fs/node/below.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "fs/node/fs.h"

bool below_kernel_at_least(unsigned long major, unsigned long minor)
{
	struct utsname name;
	unsigned long has_major, has_minor = 0;
	char *end;

	if (uname(&name) < 0)
		return false;
	has_major = strtoul(name.release, &end, 10);
	if (*end == '.')
		has_minor = strtoul(end + 1, NULL, 10);
	return has_major > major || (has_major == major && has_minor >= minor);
}

bool below_has_acl(int fd)
{
	struct fs_fd_name root;

	fs_fd_name(fd, &root);
	return getxattr(root.path, "system.posix_acl_access", NULL, 0) >= 0 ||
	       errno != EOPNOTSUPP;
}

#define KIND_UNKNOWN 0

/* The type of the file system of `fd`, as in linux/magic.h. */
static long kind(int fd)
{
	struct statfs st;

	return fstatfs(fd, &st) < 0 ? KIND_UNKNOWN : (long)st.f_type;
}

bool below_is_remote(int fd)
{
	switch (kind(fd)) {
	case KIND_UNKNOWN:
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case AFS_SUPER_MAGIC:
	case V9FS_MAGIC:
	case FUSE_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

bool below_is_stacked(int fd)
{
	switch (kind(fd)) {
	case OVERLAYFS_SUPER_MAGIC:
	case ECRYPTFS_SUPER_MAGIC:
	case FUSE_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

bool below_positions_last(int fd)
{
	switch (kind(fd)) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
		return true;
	case TMPFS_MAGIC:
		return below_kernel_at_least(6, 6); /* numbers its entries */
	default:
		return false;
	}
}

bool below_times_fine(int fd)
{
	if (!below_kernel_at_least(6, 13))
		return false;
	switch (kind(fd)) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
		return true;
	default:
		return false;
	}
}
