/*
 * Some steps must be done outside of the namespace by a process of the same
 * user: writing a map of ids that are not our own, and running fusermount3,
 * which in a user namespace has no rights. That process (struct outsider) is
 * forked before we enter, and waits until we have.
 *
 * fusermount3's mount is visible to all of the user's processes, at an empty
 * directory that nobody looks for, until it is bound to its place. Then the
 * outsider unmounts it there and removes the directory, which also detaches the
 * copy that our namespace has inherited and may not unmount.
 */
#include "fs/mount/private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/base/why.h"
#include "graph/base/cleanup.h"
#include "graph/base/debug.h"

#define MAP_MAX 4096 /* bytes; the kernel takes a page at most */

static int write_file(const char *path, const char *text)
{
	CLEANUP(close_p) int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

struct outsider {
	pid_t pid;
	int fd; /* a byte or its end: it acts */
};

/*
 * Fork a process that calls act(arg) when we say so, or when all processes that
 * have `o->fd` have ended: what was begun outside is cleaned up in any case.
 */
static int outsider_start(struct outsider *o, int (*act)(const void *),
			  const void *arg)
{
	int ends[2] = { -1, -1 };
	char byte;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	(void)fflush(NULL);
	o->pid = fork();
	if (o->pid == 0) {
		(void)close(ends[1]);
		while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
			continue;
		_exit(act(arg) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	(void)close(ends[0]);
	o->fd = ends[1];
	if (o->pid > 0)
		return 0;
	(void)close(ends[1]);
	return -EAGAIN;
}

/* Let it act, and wait for its end. */
static int outsider_act(struct outsider *o)
{
	int status = 0;

	(void)!write(o->fd, "", 1); /* others may have the descriptor too */
	close_p(&o->fd);
	o->fd = -1;
	while (waitpid(o->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

struct maps {
	pid_t pid; /* whose they are to be */
	char uids[MAP_MAX], gids[MAP_MAX];
};

/* The map in which each id that is mapped in ours is mapped to itself. */
static int identity_of(const char *path, char *map)
{
	CLEANUP(fclose_p) FILE *ours = fopen(path, "re");
	CLEANUP(free_p) char *line = NULL;
	size_t size = 0, len = 0;

	if (!ours)
		return -errno;
	while (getline(&line, &size, ours) > 0) {
		char *at = line;
		unsigned long first = strtoul(at, &at, 10);
		int n;

		(void)strtoul(at, &at, 10);
		n = snprintf(map + len, MAP_MAX - len, "%lu %lu %lu\n", first,
			     first, strtoul(at, NULL, 10));
		if (n < 0 || len + (size_t)n >= MAP_MAX)
			return -E2BIG;
		len += (size_t)n;
	}
	return len > 0 ? 0 : -ENODATA;
}

static int write_maps(const void *arg)
{
	const struct maps *m = arg;
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)m->pid);
	r = write_file(path, m->uids);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)m->pid);
	return write_file(path, m->gids);
}

/*
 * Map our user and group to themselves. The kernel lets an ordinary user map a
 * group only after setgroups(2) was denied.
 */
static int map_own_ids(uid_t uid, gid_t gid)
{
	char map[64];
	int r;

	(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	r = write_file("/proc/self/uid_map", map);
	if (r < 0 && r != -EPERM) /* EPERM: it may be there already */
		return r;
	(void)write_file("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	r = write_file("/proc/self/gid_map", map);
	/* Neither map may be missing. */
	return r == 0 && geteuid() != uid ? -EPERM : r;
}

static int new_user_namespace(char **ret_why)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0)
		return 0;
	return why(ret_why, errno,
		   "cannot make a user namespace: %s; the system may forbid "
		   "them (sysctl user.max_user_namespaces, "
		   "kernel.unprivileged_userns_clone, "
		   "kernel.apparmor_restrict_unprivileged_userns)",
		   strerrordesc_np(errno));
}

/*
 * Our mounts must not propagate to the parent namespace, but its unmounts must
 * propagate to us, or our copy would keep a mount alive for as long as the
 * command runs: slave, not private.
 */
static int take_mounts(char **ret_why)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0)
		return 0;
	return why(ret_why, errno,
		   "cannot make the mount namespace private: %s",
		   strerrordesc_np(errno));
}

/* Root writes a whole map if it has CAP_SETUID, CAP_SETGID, CAP_SETFCAP. */
static int enter_as_root(enum private_way *ret_way)
{
	struct maps maps = { .pid = getpid() };
	struct outsider mapper = { .fd = -1 };
	int r = identity_of("/proc/self/uid_map", maps.uids);

	if (r == 0)
		r = identity_of("/proc/self/gid_map", maps.gids);
	if (r == 0)
		r = outsider_start(&mapper, write_maps, &maps);
	if (r < 0)
		return r;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		r = -errno;
	if (outsider_act(&mapper) == 0 && r == 0)
		*ret_way = PRIVATE_ALL_IDS;
	return r;
}

/* *ret_way: what could be mapped. */
static int enter_user_namespace(enum private_way *ret_way, char **ret_why)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	uint64_t bounds = private_bounds();
	int r = -EPERM;

	*ret_way = PRIVATE_OWN_IDS;
	if (uid == 0)
		r = enter_as_root(ret_way);
	if (r < 0)
		r = new_user_namespace(ret_why);
	if (r == 0 && *ret_way == PRIVATE_OWN_IDS) {
		r = map_own_ids(uid, gid);
		if (r < 0)
			return why(ret_why, -r,
				   "cannot map user %u in a user namespace: %s",
				   uid, strerrordesc_np(-r));
	}
	if (r < 0)
		return r;
	private_limit(bounds);
	return take_mounts(ret_why);
}

static int remove_aside(const void *arg)
{
	int r = mount_detach(arg, true, NULL);

	(void)rmdir(arg);
	return r;
}

/* An empty directory that is no part of any repository. (Free it.) */
static char *make_aside(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *run = getenv("XDG_RUNTIME_DIR");
	const char *const places[] = { run, "/tmp" };
	char *path = NULL;

	for (int i = 0; i < 2; i++) {
		if (!places[i] || places[i][0] != '/')
			continue;
		if (asprintf(&path, "%s/statetape.XXXXXX", places[i]) < 0)
			return NULL;
		if (mkdtemp(path))
			return path;
		free(path);
	}
	return NULL;
}

/* In our namespace: put the mount where it belongs. */
static int bind_aside(const char *aside, const char *mountpoint, char **ret_why)
{
	enum private_way way;
	int r = enter_user_namespace(&way, ret_why);

	if (r == 0 && mount(aside, mountpoint, NULL, MS_BIND, NULL) < 0)
		r = why(ret_why, errno, "cannot mount at '%s': %s", mountpoint,
			strerrordesc_np(errno));
	return r;
}

/* -EOPNOTSUPP: the helper cannot mount; nothing has happened yet. */
static int mount_aside(const struct mount_options *o, private_server *serve,
		       void *context, char **ret_why)
{
	CLEANUP(free_p) char *aside = make_aside();
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(close_p) int fuse_fd = -1;
	struct mount_options there = *o;
	struct outsider remover = { .fd = -1 };
	int r, removed;

	if (!aside)
		return -EOPNOTSUPP;
	there.mountpoint = aside;
	there.allow_other = false;
	r = mount_by_helper(&there, &fuse_fd, &text);
	DEBUG(DEBUG_FS, "mount aside at '%s': %s", aside, text ? text : "done");
	if (r < 0 || outsider_start(&remover, remove_aside, aside) < 0) {
		(void)remove_aside(aside);
		return -EOPNOTSUPP;
	}
	r = serve(context, fuse_fd, PRIVATE_ASIDE, ret_why);
	if (r == 0)
		r = bind_aside(aside, o->mountpoint, ret_why);
	removed = outsider_act(&remover);
	return r == 0 && removed < 0 ? why(ret_why, -removed,
					   "cannot unmount '%s' again", aside)
				     : r;
}

int private_mount(const struct mount_options *o, private_server *serve,
		  void *context, char **ret_why)
{
	enum private_way way = PRIVATE_DIRECT;
	CLEANUP(close_p) int fuse_fd = -1;
	int r;

	if (unshare(CLONE_NEWNS) == 0) {
		r = take_mounts(ret_why);
	} else if (errno != EPERM) {
		return why(ret_why, errno, "cannot make a mount namespace: %s",
			   strerrordesc_np(errno));
	} else {
		r = geteuid() == 0 ? -EOPNOTSUPP
				   : mount_aside(o, serve, context, ret_why);
		if (r != -EOPNOTSUPP)
			return r;
		r = enter_user_namespace(&way, ret_why);
	}
	if (r == 0)
		r = mount_fuse(o, &fuse_fd, ret_why);
	return r < 0 ? r : serve(context, fuse_fd, way, ret_why);
}

bool private_is_direct(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };

	return syscall(SYS_capget, &head, data) == 0 &&
	       data[0].effective & 1u << CAP_SYS_ADMIN;
}

void private_step_aside(const char *mountpoint)
{
	if (unshare(CLONE_NEWNS) == 0)
		(void)umount2(mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW);
}

uint64_t private_bounds(void)
{
	uint64_t bounds = 0;

	for (unsigned long cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap) == 1)
			bounds |= UINT64_C(1) << cap;
	return bounds;
}

void private_limit(uint64_t bounds)
{
	for (unsigned long cap = 0; cap < 64; cap++)
		if (!(bounds & UINT64_C(1) << cap))
			(void)prctl(PR_CAPBSET_DROP, cap);
}
