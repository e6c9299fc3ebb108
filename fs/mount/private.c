#include "fs/mount/private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "fs/base/why.h"
#include "graph/base/cleanup.h"

static int write_file(const char *path, const char *text)
{
	CLEANUP(close_p) int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

/*
 * Map our user and group to themselves. The kernel lets an ordinary user map a
 * group only after setgroups(2) was denied.
 */
static int map_ids(uid_t uid, gid_t gid)
{
	char map[64];
	int r;

	(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	r = write_file("/proc/self/uid_map", map);
	if (r < 0)
		return r;
	r = write_file("/proc/self/setgroups", "deny");
	if (r < 0)
		return r;
	(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return write_file("/proc/self/gid_map", map);
}

static int enter_as_user(char **ret_why)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return why(ret_why, errno,
			   "cannot make a user namespace: %s; the system may "
			   "forbid them (sysctl user.max_user_namespaces, "
			   "kernel.unprivileged_userns_clone, "
			   "kernel.apparmor_restrict_unprivileged_userns)",
			   strerrordesc_np(errno));
	r = map_ids(uid, gid);
	if (r < 0)
		return why(ret_why, -r,
			   "cannot map user %u in a user namespace: %s", uid,
			   strerrordesc_np(-r));
	return 0;
}

int private_enter(char **ret_why)
{
	int r = 0;

	if (unshare(CLONE_NEWNS) < 0) {
		if (errno != EPERM)
			return why(ret_why, errno,
				   "cannot make a mount namespace: %s",
				   strerrordesc_np(errno));
		r = enter_as_user(ret_why);
	}
	if (r < 0)
		return r;
	/*
	 * Our mounts must not propagate to the parent namespace, but its
	 * unmounts must propagate to us, or our copy would keep a mount alive
	 * for as long as the command runs: slave, not private.
	 */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return why(ret_why, errno,
			   "cannot make the mount namespace private: %s",
			   strerrordesc_np(errno));
	return 0;
}

void private_step_aside(const char *mountpoint)
{
	if (unshare(CLONE_NEWNS) == 0)
		(void)umount2(mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW);
}
