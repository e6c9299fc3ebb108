/*
 * `statetape umount`: removes the mount and waits until its process has ended,
 * so that the repository can be mounted again at once. That process holds the
 * repository's lock, which shows when it has ended and whether any process
 * serves the mount at all.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fs/mount/holders.h"
#include "fs/mount/mount.h"
#include "graph/base/cleanup.h"
#include "tape/wire/state.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

#define WAIT_STEP_MS 10
#define WAIT_MAX_MS  10000

struct umount_target {
	struct state state;	  /* of the mount's repository */
	struct mount_entry mount; /* mountpoint NULL: not mounted here */
};

static void target_release(struct umount_target *t)
{
	state_release(&t->state);
	mount_entry_release(&t->mount);
}

/*
 * By mountpoint first: if the repository is itself the mountpoint of another
 * one, the mount there is the one that can be unmounted.
 */
static int target_find(const char *argument, struct umount_target *t)
{
	CLEANUP(free_p) char *why = NULL;
	CLEANUP(free_p) char *path = NULL;
	int r = state_init(argument, 0, &t->state, &why);

	if (r < 0) {
		(void)say_error("%s", why ? why : errno_text(r));
		return r;
	}
	if (mount_find(t->state.repo, NULL, &t->mount) < 0) {
		(void)mount_find(NULL, t->state.id, &t->mount);
		return 0;
	}
	if (strcmp(t->mount.id, t->state.id) == 0)
		return 0;
	path = TAKE(t->state.repo);
	state_release(&t->state);
	r = state_init_id(t->mount.id, &t->state, &why);
	if (r < 0)
		(void)say_error("cannot find the state of '%s': %s", path,
				why ? why : errno_text(r));
	return r;
}

/* Does a process serve it? *ret_pid: which, 0 if unknown. */
static bool is_served(struct state *s, pid_t *ret_pid)
{
	int r = state_lock(s, ret_pid);

	if (r == 0)
		(void)close(take_fd(&s->lock_fd));
	return r == -EBUSY;
}

static bool in_our_namespace(pid_t pid)
{
	char path[sizeof("/proc//ns/mnt") + 11];
	struct stat ours, theirs;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	return stat("/proc/self/ns/mnt", &ours) == 0 &&
	       stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino;
}

static int complain_not_mounted(struct umount_target *t)
{
	const char *repo = t->state.repo;
	pid_t pid = 0;

	if (!is_served(&t->state, &pid))
		return say_error("'%s' is not mounted", repo);
	if (pid > 0 && !in_our_namespace(pid))
		return say_error("'%s' is mounted in another namespace by "
				 "process %d and will be unmounted when that "
				 "one is told to end",
				 repo, (int)pid);
	return say_error("'%s' is unmounted already; its process goes on until "
			 "the last open file is closed",
			 repo);
}

/* Check the lock first: a process that hangs holds it and does not answer. */
static bool is_abandoned(struct umount_target *t)
{
	pid_t pid;

	return !is_served(&t->state, &pid) &&
	       mount_is_dead(t->mount.mountpoint);
}

static int complain_busy(const struct mount_entry *m)
{
	CLEANUP(free_p) char *users = holders_text(m->mountpoint, m->dev);

	return say_error("'%s' is in use by %s; --lazy unmounts it anyway, and "
			 "open files are served until they are closed",
			 m->mountpoint, users ? users : "an unknown process");
}

static int wait_for_end(struct umount_target *t)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_MS * 1000000L };
	pid_t pid = 0;

	for (int ms = 0; ms < WAIT_MAX_MS; ms += WAIT_STEP_MS) {
		if (!is_served(&t->state, &pid))
			return EXIT_SUCCESS;
		(void)nanosleep(&step, NULL);
	}
	return say_error(
		"'%s' is unmounted, but its process (%d) has not "
		"ended: another mount namespace may have a copy, or it "
		"hangs and has to be killed",
		t->mount.mountpoint, (int)pid);
}

static int unmount(struct umount_target *t, bool lazy)
{
	const char *mountpoint = t->mount.mountpoint;
	CLEANUP(free_p) char *why = NULL;
	int r = mount_detach(mountpoint, false, &why);

	if (r == 0)
		return wait_for_end(t);
	/* Detach lazily if no process serves it: nothing in it works. */
	if (r == -EBUSY && !lazy && !is_abandoned(t))
		return complain_busy(&t->mount);
	if (r == -EBUSY)
		r = mount_detach(mountpoint, true, &why);
	if (r < 0)
		return say_error("%s", why ? why : errno_text(r));
	return EXIT_SUCCESS;
}

int verb_umount(const struct invocation *in)
{
	CLEANUP(target_release)
	struct umount_target t = { .state = REPO_STATE_EMPTY };
	bool lazy = in->options[OPTION_LAZY].given;
	int code;

	if (target_find(in->arguments[0], &t) < 0)
		return EXIT_FAILURE;
	if (!t.mount.mountpoint)
		return complain_not_mounted(&t);
	if (t.mount.covered)
		return say_error("cannot unmount '%s': another file system is "
				 "mounted over it",
				 t.mount.mountpoint);
	code = unmount(&t, lazy);
	if (code == EXIT_SUCCESS) {
		(void)fputs("unmounted ", stdout);
		(void)print_safe(stdout, t.mount.mountpoint);
		(void)fputc('\n', stdout);
	}
	return code;
}
