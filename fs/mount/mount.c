/*
 * Two ways to mount. mount(2) needs CAP_SYS_ADMIN in the user namespace that
 * owns our mount namespace, and a /dev/fuse opened in that user namespace. On
 * EPERM we use fusermount3, a set-user-id helper that mounts on a directory of
 * its caller and passes the device back over the socket named by
 * _FUSE_COMMFD. It opens /dev/fuse with the caller's rights, so a device that
 * we may not open rules out both ways.
 *
 * In both cases the kernel checks permissions (default_permissions): access is
 * what the directory below would allow.
 */
#include "fs/mount/mount.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "fs/base/why.h"
#include "graph/base/cleanup.h"
#include "graph/base/debug.h"

#define DEVICE	     "/dev/fuse"
#define HELPER	     "fusermount3"
#define HELPER_WORDS 1024 /* bytes of its error messages that are kept */

static int open_device(int *ret_fd, char **ret_why)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	if (errno == ENOENT)
		return why(ret_why, errno,
			   DEVICE " does not exist; load the kernel module "
				  "with 'modprobe fuse', or give the container "
				  "the device with '--device " DEVICE "'");
	if (errno == EACCES)
		return why(ret_why, errno,
			   "this user may not open " DEVICE
			   "; as root, 'chmod 0666 " DEVICE
			   "' gives it the mode it has on most systems");
	if (errno == EPERM)
		return why(ret_why, errno,
			   "the container may not open " DEVICE
			   "; start it with '--device " DEVICE "'");
	return why(ret_why, errno, "cannot open " DEVICE ": %s",
		   strerrordesc_np(errno));
}

static int mount_directly(const struct mount_options *o, int fd)
{
	unsigned long flags =
		(o->read_only ? MS_RDONLY : 0) | (o->nosuid ? MS_NOSUID : 0) |
		(o->nodev ? MS_NODEV : 0) | (o->noexec ? MS_NOEXEC : 0);
	char data[160];

	(void)snprintf(data, sizeof(data),
		       "fd=%d,rootmode=40000,user_id=%u,group_id=%u,"
		       "default_permissions%s",
		       fd, getuid(), getgid(),
		       o->allow_other ? ",allow_other" : "");
	if (mount(o->source, o->mountpoint, MOUNT_FSTYPE, flags, data) < 0)
		return -errno;
	return 0;
}

/* Our environment and one variable more. Free the array, not its texts. */
static char **environment_with(char *variable)
{
	size_t n = 0;
	char **env;

	while (environ[n])
		n++;
	env = malloc((n + 2) * sizeof(*env));
	if (!env)
		return NULL;
	memcpy(env, environ, n * sizeof(*env));
	env[n] = variable;
	env[n + 1] = NULL;
	return env;
}

/*
 * Start the helper with its end of the socket (-1: none) open, stderr to
 * `complaints` and no signal blocked.
 */
static int helper_spawn(const char *const argv[], int socket, int complaints,
			pid_t *ret)
{
	char *const *arguments;
	char variable[sizeof("_FUSE_COMMFD=") + 11];
	char **env;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	int error;

	(void)snprintf(variable, sizeof(variable), "_FUSE_COMMFD=%d", socket);
	env = environment_with(variable);
	if (!env)
		return -ENOMEM;
	/* posix_spawn() does not write to the arguments, despite its type. */
	memcpy(&arguments, &argv, sizeof(arguments));
	(void)sigemptyset(&none);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	(void)posix_spawn_file_actions_init(&files);
	error = posix_spawn_file_actions_adddup2(&files, complaints, 2);
	/* dup2 onto itself clears close-on-exec, in the child only. */
	if (!error && socket >= 0)
		error = posix_spawn_file_actions_adddup2(&files, socket,
							 socket);
	if (!error)
		error = posix_spawnp(ret, HELPER, &files, &attributes,
				     arguments, env);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&attributes);
	free(env);
	return -error;
}

/* Read until end of file; keep the beginning, as one line. */
static void drain(int fd, char *text, size_t size)
{
	char spill[256];
	size_t len = 0;
	ssize_t n;

	assert(size > 0);
	do {
		if (len + 1 < size)
			n = read(fd, text + len, size - 1 - len);
		else
			n = read(fd, spill, sizeof(spill));
		if (n > 0 && len + 1 < size)
			len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	while (len > 0 && text[len - 1] == '\n')
		len--;
	text[len] = '\0';
	for (; *text; text++)
		if (*text == '\n')
			*text = ' ';
}

/*
 * Run the helper and wait for it. Takes over `socket`. 0: it succeeded;
 * -EPROTO: it failed, and `words` holds its message; else it could not be run.
 */
static int helper_run(const char *const argv[], int socket, char *words,
		      size_t size)
{
	CLEANUP(close_p) int ours = socket;
	CLEANUP(close_p) int in = -1;
	CLEANUP(close_p) int out = -1;
	int fds[2], status, r;
	pid_t pid = -1;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	in = fds[0];
	out = fds[1];
	r = helper_spawn(argv, ours, out, &pid);
	if (r < 0)
		return r;
	(void)close(take_fd(&out));
	drain(in, words, size);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPROTO;
}

/* The device the helper sent before it ended. */
static int receive_device(int socket, int *ret_fd)
{
	char byte, room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = room,
				  .msg_controllen = sizeof(room) };
	struct cmsghdr *c;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0)
		return -EPROTO;
	c = CMSG_FIRSTHDR(&message);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return 0;
}

/* The helper's failure as a sentence; `doing` is "mount at" or the like. */
static int explain_helper(int r, const char *doing, const char *mountpoint,
			  const char *words, char **ret_why)
{
	if (r == -ENOENT)
		return why(ret_why, ENOENT,
			   "cannot %s '%s': this user may not do it directly, "
			   "and " HELPER " is not installed (Debian: fuse3)",
			   doing, mountpoint);
	if (r != -EPROTO)
		return why(ret_why, -r,
			   "cannot %s '%s': cannot run " HELPER ": %s", doing,
			   mountpoint, strerrordesc_np(-r));
	if (strstr(words, "user_allow_other"))
		return why(ret_why, EPERM,
			   "cannot %s '%s': --allow-other needs a line "
			   "'user_allow_other' in /etc/fuse.conf",
			   doing, mountpoint);
	if (geteuid() == 0 && strstr(words, "not permitted"))
		return why(ret_why, EPERM,
			   "cannot %s '%s': root may not mount here; a "
			   "container needs '--cap-add SYS_ADMIN', or use "
			   "--private if it allows user namespaces",
			   doing, mountpoint);
	if (strstr(words, "resource busy"))
		return why(ret_why, EBUSY, "'%s' is in use", mountpoint);
	return why(ret_why, EPERM, "cannot %s '%s': %s", doing, mountpoint,
		   *words ? words : HELPER " failed and did not say why");
}

bool mount_helper_can_unmount(void)
{
	return access("/etc/mtab", R_OK) == 0;
}

int mount_by_helper(const struct mount_options *o, int *ret_fd, char **ret_why)
{
	CLEANUP(free_p) char *options = NULL;
	CLEANUP(close_p) int ours = -1;
	char words[HELPER_WORDS] = "";
	int sockets[2], r;

	if (!mount_helper_can_unmount())
		return why(ret_why, ENOENT,
			   "cannot mount at '%s': " HELPER " could not unmount "
			   "it again, for want of /etc/mtab; root makes it "
			   "with 'ln -s /proc/self/mounts /etc/mtab'",
			   o->mountpoint);
	if (asprintf(&options,
		     "fsname=%s,subtype=statetape,default_permissions%s%s%s",
		     o->source, o->allow_other ? ",allow_other" : "",
		     o->read_only ? ",ro" : "", o->noexec ? ",noexec" : "") < 0)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	ours = sockets[0];
	r = helper_run(
		(const char *[]){ HELPER, "-o", options, o->mountpoint, NULL },
		sockets[1], words, sizeof(words));
	if (r == 0) {
		r = receive_device(ours, ret_fd);
		if (r < 0) /* mounted, but we cannot serve it */
			(void)mount_detach(o->mountpoint, true, NULL);
	}
	if (r < 0)
		return explain_helper(r, "mount at", o->mountpoint, words,
				      ret_why);
	return 0;
}

int mount_fuse(const struct mount_options *o, int *ret_fd, char **ret_why)
{
	CLEANUP(close_p) int fd = -1;
	int r = open_device(&fd, ret_why);

	assert(o->source && o->mountpoint[0] == '/');
	if (r < 0)
		return r;
	r = mount_directly(o, fd);
	DEBUG(DEBUG_FS, "mount at '%s': %s", o->mountpoint,
	      r == 0	    ? "by mount(2)"
	      : r == -EPERM ? "by " HELPER ", mount(2) is not permitted"
			    : strerrordesc_np(-r));
	if (r == -EPERM)
		return mount_by_helper(o, ret_fd, ret_why);
	if (r == -ENODEV)
		return why(ret_why, ENODEV,
			   "the kernel has no FUSE; 'modprobe fuse' loads it");
	if (r < 0)
		return why(ret_why, -r, "cannot mount at '%s': %s",
			   o->mountpoint, strerrordesc_np(-r));
	*ret_fd = take_fd(&fd);
	return 0;
}

static int detach_by_helper(const char *mountpoint, bool lazy, char **ret_why)
{
	char words[HELPER_WORDS] = "";
	int r = helper_run((const char *[]){ HELPER, lazy ? "-uz" : "-u",
					     mountpoint, NULL },
			   -1, words, sizeof(words));

	return r < 0 ? explain_helper(r, "unmount", mountpoint, words, ret_why)
		     : 0;
}

int mount_detach(const char *mountpoint, bool lazy, char **ret_why)
{
	int flags = UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0);

	if (umount2(mountpoint, flags) == 0)
		return 0;
	if (errno == EPERM)
		return detach_by_helper(mountpoint, lazy, ret_why);
	if (errno == EBUSY)
		return why(ret_why, EBUSY, "'%s' is in use", mountpoint);
	return why(ret_why, errno, "cannot unmount '%s': %s", mountpoint,
		   strerrordesc_np(errno));
}
