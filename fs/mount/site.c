#include "fs/mount/site.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>

#include "fs/base/why.h"
#include "fs/mount/mount.h"
#include "graph/base/cleanup.h"
#include "tape/wire/wire.h"

#define ASK_MS	     1000
#define LOCK_STEP_MS 10
#define LOCK_MAX_MS  2000

bool site_inside(const char *path, const char *top)
{
	size_t len = strlen(top);

	assert(top[0] == '/');
	if (len > 0 && top[len - 1] == '/') /* the root directory */
		len--;
	return strncmp(path, top, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/');
}

static int explain_path(int error, const char *path, char **ret_why)
{
	if (error == ENOENT)
		return why(ret_why, error, "'%s' does not exist", path);
	if (error == ENOTDIR)
		return why(ret_why, error, "'%s' is not a directory", path);
	if (mount_error_is_death(error))
		return why(ret_why, error,
			   "'%s' lies in a mount whose process is gone; "
			   "unmount that one first",
			   path);
	return why(ret_why, error, "cannot use '%s': %s", path,
		   strerrordesc_np(error));
}

/*
 * The canonical path of directory `path` (free it), or NULL. Works for a dead
 * mount too: neither realpath() nor O_PATH sends a request for the root of a
 * file system, unless a slash follows.
 */
static char *canonical_directory(const char *path, char **ret_why)
{
	CLEANUP(free_p) char *bare = NULL;
	CLEANUP(free_p) char *real = NULL;
	CLEANUP(close_p) int fd = -1;
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (asprintf(&bare, "%.*s", (int)len, path) < 0)
		return NULL;
	real = realpath(bare, NULL);
	if (real)
		fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return TAKE(real);
	(void)explain_path(errno, path, ret_why);
	return NULL;
}

bool site_has_files(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) < 0 ||
	       (fs.f_type != PROC_SUPER_MAGIC && fs.f_type != SYSFS_MAGIC);
}

static int check_apart(const char *repo, const char *mountpoint, char **ret_why)
{
	if (strcmp(repo, mountpoint) == 0)
		return 0;
	if (site_inside(mountpoint, repo))
		return why(ret_why, EINVAL,
			   "the mountpoint '%s' lies inside the repository "
			   "'%s'; mount over the repository itself, or outside "
			   "of it",
			   mountpoint, repo);
	if (site_inside(repo, mountpoint))
		return why(ret_why, EINVAL,
			   "a mount at '%s' would hide the repository '%s'",
			   mountpoint, repo);
	return 0;
}

/*
 * Our own writes must not become requests to us. state_init() has already
 * refused a state directory inside the repository.
 */
static int check_state_outside(const struct state *s, const char *mountpoint,
			       char **ret_why)
{
	if (site_inside(s->dir, mountpoint))
		return why(ret_why, EINVAL,
			   "the mount would hide our own files in '%s'; set "
			   "XDG_STATE_HOME to a directory elsewhere",
			   s->dir);
	if (site_inside(s->run, mountpoint))
		return why(ret_why, EINVAL,
			   "the mount would hide our own sockets in '%s'; set "
			   "XDG_RUNTIME_DIR to a directory elsewhere",
			   s->run);
	return 0;
}

/*
 * The lock names the process that took it, the guard. If the guard was killed,
 * its file system process still holds the lock: ask that one for its id.
 */
static pid_t ask_for_pid(const struct state *s)
{
	cJSON *answer = NULL;
	const cJSON *member;
	pid_t pid = 0;

	if (wire_ask(s->fs_socket, "STATUS", NULL, ASK_MS, &answer) == 0) {
		member = cJSON_GetObjectItemCaseSensitive(answer, "pid");
		if (cJSON_IsNumber(member))
			pid = (pid_t)member->valuedouble;
	}
	cJSON_Delete(answer);
	return pid;
}

static int explain_busy(const struct state *s, pid_t pid, char **ret_why)
{
	if (pid <= 0)
		return why(ret_why, EBUSY, "'%s' is already mounted", s->repo);
	if (!mount_is_held(pid, s->id))
		return why(ret_why, EBUSY,
			   "'%s' was mounted by process %d, which still serves "
			   "its open files",
			   s->repo, (int)pid);
	return why(ret_why, EBUSY, "'%s' is already mounted by process %d",
		   s->repo, (int)pid);
}

/*
 * The holder of the lock is known by the lock or by its answer. If neither
 * gives an id, it was killed and its threads are still exiting. A holder
 * without a mount is exiting too, since umount(8) does not wait for it, or it
 * is about to mount. In both cases we wait up to LOCK_MAX_MS.
 */
static int lock_state(struct state *s, char **ret_why)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_MS * 1000000L };
	pid_t pid = 0;
	int r;

	for (int ms = 0; (r = state_lock(s, &pid)) == -EBUSY;
	     ms += LOCK_STEP_MS) {
		if (pid <= 0)
			pid = ask_for_pid(s);
		if (ms >= LOCK_MAX_MS || (pid > 0 && mount_is_held(pid, s->id)))
			return explain_busy(s, pid, ret_why);
		(void)nanosleep(&step, NULL);
	}
	if (r < 0)
		return why(ret_why, -r, "cannot lock '%s': %s", s->dir,
			   strerrordesc_np(-r));
	return 0;
}

/* Create, open and lock the state of `repo`, which is canonical. */
static int hold_state(const char *repo, const char *mountpoint,
		      struct state *ret, char **ret_why)
{
	struct state s;
	int r = state_init(repo, 1, &s, ret_why);

	if (r < 0)
		return r;
	r = check_state_outside(&s, mountpoint, ret_why);
	if (r == 0)
		r = lock_state(&s, ret_why);
	if (r < 0) {
		state_release(&s);
		return r;
	}
	*ret = s;
	return 0;
}

/* Unmount all dead mounts of ours at `path`. */
static int clear_dead(const char *path, char **ret_note, char **ret_why)
{
	struct mount_entry e;
	int r;

	while (mount_find(path, NULL, &e) == 0) {
		mount_entry_release(&e);
		if (!mount_is_dead(path))
			return 0;
		r = mount_detach(path, true, ret_why);
		if (r < 0)
			return r;
		(void)why(ret_note, 0,
			  "'%s' was a mount whose process is gone; it has been "
			  "unmounted",
			  path);
	}
	return 0;
}

/* Refuse to cover a mount that is served. */
static int check_free(const char *mountpoint, char **ret_why)
{
	struct mount_entry e;

	if (mount_find(mountpoint, NULL, &e) < 0)
		return 0;
	mount_entry_release(&e);
	return why(ret_why, EBUSY,
		   "'%s' is a statetape mount already, of another repository, "
		   "user or state directory",
		   mountpoint);
}

/* Open the directory below before anything is mounted over it. */
static int open_root(struct site *s, char **ret_why)
{
	struct statvfs vfs;

	assert(s->root_fd < 0);
	s->root_fd = open(s->state.repo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->root_fd < 0 || fstatvfs(s->root_fd, &vfs) < 0)
		return why(ret_why, errno, "cannot open '%s': %s",
			   s->state.repo, strerrordesc_np(errno));
	s->read_only = vfs.f_flag & ST_RDONLY;
	s->nosuid = vfs.f_flag & ST_NOSUID;
	s->nodev = vfs.f_flag & ST_NODEV;
	s->noexec = vfs.f_flag & ST_NOEXEC;
	return 0;
}

/* The steps that need the repository's lock. */
static int prepare(struct site *s, char **ret_note, char **ret_why)
{
	int r = clear_dead(s->state.repo, ret_note, ret_why);

	assert(s->state.lock_fd >= 0);
	if (r == 0)
		r = clear_dead(s->mountpoint, ret_note, ret_why);
	if (r == 0)
		r = check_free(s->mountpoint, ret_why);
	if (r == 0)
		r = open_root(s, ret_why);
	return r;
}

int site_init(const char *repo, const char *mountpoint, struct site *ret,
	      char **ret_note, char **ret_why)
{
	CLEANUP(free_p) char *below = canonical_directory(repo, ret_why);
	CLEANUP(free_p) char *above = NULL;
	struct site s = { .root_fd = -1 };
	int r;

	if (below)
		above = canonical_directory(mountpoint ? mountpoint : repo,
					    ret_why);
	if (!below || !above)
		return -EINVAL;
	if (!site_has_files(below) || !site_has_files(above))
		return why(ret_why, EINVAL,
			   "cannot mount at '%s': there are no files there",
			   above);
	r = check_apart(below, above, ret_why);
	if (r < 0)
		return r;
	r = hold_state(below, above, &s.state, ret_why);
	if (r < 0)
		return r;
	s.mountpoint = TAKE(above);
	r = prepare(&s, ret_note, ret_why);
	if (r < 0) {
		site_release(&s);
		return r;
	}
	*ret = s;
	return 0;
}

void site_release(struct site *s)
{
	close_p(&s->root_fd);
	s->root_fd = -1;
	free(s->mountpoint);
	s->mountpoint = NULL;
	state_release(&s->state);
}
