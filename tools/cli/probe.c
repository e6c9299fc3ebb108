#include "tools/cli/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/base/cleanup.h"

#define OFFER_WAIT_MS 2000

/* The child's result, through a pipe; a short read means that it died. */
struct finding {
	int error; /* 0 or a negative errno */
	struct probe_fuse fuse;
};

typedef void (*experiment)(int argument, struct finding *ret);

static void run_child(int to, experiment try, int argument)
{
	struct finding found = { 0 };

	try(argument, &found);
	if (write(to, &found, sizeof(found)) != (ssize_t)sizeof(found))
		_exit(1);
	_exit(0);
}

/* Run `try` in a child and return its result. */
static int in_child(experiment try, int argument, struct finding *ret)
{
	CLEANUP(close_p) int from = -1;
	CLEANUP(close_p) int to = -1;
	int ends[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		run_child(to, try, argument);
	close_p(&to);
	to = -1;
	do
		n = read(from, ret, sizeof(*ret));
	while (n < 0 && errno == EINTR);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return n == (ssize_t)sizeof(*ret) ? ret->error : -EIO;
}

static void try_unshare(int flags, struct finding *ret)
{
	ret->error = unshare(flags) < 0 ? -errno : 0;
}

int probe_unshare(int flags)
{
	struct finding found;

	return in_child(try_unshare, flags, &found);
}

static int write_file(const char *path, const char *text)
{
	CLEANUP(close_p) int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Become root of a user namespace with our own ids only. */
static int map_ids(uid_t uid, gid_t gid)
{
	char map[64];
	int r;

	r = write_file("/proc/self/setgroups", "deny");
	if (r < 0 && r != -ENOENT)
		return r;
	(void)snprintf(map, sizeof(map), "0 %u 1", gid);
	r = write_file("/proc/self/gid_map", map);
	if (r < 0)
		return r;
	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	return write_file("/proc/self/uid_map", map);
}

static int enter_namespaces(bool user_namespace)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r = 0;

	if (unshare(CLONE_NEWNS | (user_namespace ? CLONE_NEWUSER : 0)) < 0)
		return -errno;
	if (user_namespace)
		r = map_ids(uid, gid);
	if (r < 0)
		return r;
	/* Keep the mount from propagating to the namespace we came from. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	return 0;
}

/* The kernel sends the first message: FUSE_INIT, with its flags. */
static int read_offer(int fuse_fd, struct probe_fuse *ret)
{
	struct pollfd ready = { .fd = fuse_fd, .events = POLLIN };
	union {
		struct fuse_in_header head;
		char bytes[FUSE_MIN_READ_BUFFER];
	} request;
	struct fuse_init_in offer = { 0 };
	size_t len;
	ssize_t n;

	if (poll(&ready, 1, OFFER_WAIT_MS) <= 0)
		return -ETIMEDOUT;
	n = read(fuse_fd, &request, sizeof(request));
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(request.head) ||
	    request.head.opcode != FUSE_INIT)
		return -EBADMSG;
	/* Older kernels send a shorter message, without the second flags. */
	len = (size_t)n - sizeof(request.head);
	if (len > sizeof(offer))
		len = sizeof(offer);
	memcpy(&offer, request.bytes + sizeof(request.head), len);
	ret->major = offer.major;
	ret->minor = offer.minor;
	ret->flags = offer.flags;
	if (offer.flags & FUSE_INIT_EXT)
		ret->flags |= (uint64_t)offer.flags2 << 32;
	return 0;
}

static int mount_and_read(bool user_namespace, struct probe_fuse *ret)
{
	CLEANUP(close_p) int fuse_fd = -1;
	char options[96];
	int r = enter_namespaces(user_namespace);

	if (r < 0)
		return r;
	/* Open it now: a descriptor from outside the namespace is refused. */
	fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse_fd < 0)
		return -errno;
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=%o,user_id=%u,group_id=%u", fuse_fd,
		       S_IFDIR, geteuid(), getegid());
	if (mount("statetape-doctor", "/", "fuse", MS_NOSUID | MS_NODEV,
		  options) < 0)
		return -errno;
	return read_offer(fuse_fd, ret);
}

static void try_fuse(int user_namespace, struct finding *ret)
{
	ret->error = mount_and_read(user_namespace, &ret->fuse);
}

int probe_fuse(bool user_namespace, struct probe_fuse *ret)
{
	struct finding found;
	int r = in_child(try_fuse, user_namespace, &found);

	if (r == 0)
		*ret = found.fuse;
	return r;
}
