#include "tools/cli/repo.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/store/store.h"
#include "tape/wire/wire.h"
#include "tools/cli/say.h"

#define FULL_BYTES (1 << 20) /* less is no room for the tape to start in */

/* The repository that is mounted at `path`. -ENOENT: none. */
static int find_mounted(const char *path, struct state *ret)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };
	int r = mount_find(path, NULL, &e);

	return r < 0 ? r : state_init_id(e.id, ret, NULL);
}

static int find_named(const char *argument, struct state *ret)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	CLEANUP(free_p) char *why = NULL;
	int r = state_init(argument, 0, &s, &why);

	if (r < 0) {
		(void)say_error("%s", why ? why : errno_text(r));
		return r;
	}
	if (s.dir_fd < 0 && find_mounted(s.repo, ret) == 0)
		return 0;
	*ret = s;
	s = (struct state)REPO_STATE_EMPTY;
	return 0;
}

/*
 * Was `path` itself ever mounted, as a repository or as a mountpoint, or has it
 * a tape, which needs no mount? A state directory alone is no proof: `graph`
 * keeps its cache there too.
 */
static bool has_records(const char *path, struct state *ret)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;

	if (find_mounted(path, ret) == 0)
		return true;
	if (state_init(path, 0, &s, NULL) < 0 || s.dir_fd < 0 ||
	    (faccessat(s.dir_fd, STATE_JOURNAL, F_OK, 0) < 0 &&
	     faccessat(s.dir_fd, STORE_NAME, F_OK, 0) < 0))
		return false;
	*ret = s;
	s = (struct state)REPO_STATE_EMPTY;
	return true;
}

/* `path` or its nearest parent directory with state; shortens `path`. */
static int find_above(char *path, struct state *ret)
{
	while (!has_records(*path ? path : "/", ret)) {
		char *slash = strrchr(path, '/');

		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
	return 0;
}

int repo_find_here(struct state *ret)
{
	CLEANUP(free_p) char *path = getcwd(NULL, 0);

	return path ? find_above(path, ret) : -ENOENT;
}

static int find_here(struct state *ret)
{
	CLEANUP(free_p) char *here = getcwd(NULL, 0);
	int r = repo_find_here(ret);

	if (!here)
		(void)say_error("the current directory is gone; name the "
				"repository");
	else if (r < 0)
		(void)say_error("neither '%s' nor a directory above it has "
				"been mounted or has a tape; name the "
				"repository",
				here);
	return r;
}

int repo_find(const char *argument, struct state *ret)
{
	return argument ? find_named(argument, ret) : find_here(ret);
}

char *manager_path(const struct state *s, unsigned n, const char *end)
{
	assert(n < MANAGERS_MAX);
	return n ? format_text("%s/manager-%u%s", s->run, n, end)
		 : format_text("%s/manager%s", s->run, end);
}

static bool is_removed(int dir_fd)
{
	struct stat st;

	return dir_fd >= 0 && fstat(dir_fd, &st) == 0 && st.st_nlink == 0;
}

/* Has the disk no room for what a busy minute writes? */
static bool is_full(int dir_fd)
{
	struct statvfs fs;

	if (dir_fd < 0 || fstatvfs(dir_fd, &fs) < 0)
		return false;
	return (geteuid() == 0 ? fs.f_bfree : fs.f_bavail) * fs.f_frsize <
	       FULL_BYTES;
}

/* The process that has mounted the repository, 0: none. */
static pid_t mounter(const struct state *s)
{
	CLEANUP(state_release) struct state same = REPO_STATE_EMPTY;
	pid_t pid = 0;

	if (s->dir_fd < 0 || state_init_id(s->id, &same, NULL) < 0)
		return 0;
	return state_lock(&same, &pid) == -EBUSY ? pid : 0;
}

char *repo_trouble(const struct state *s)
{
	pid_t pid = 0;

	if (is_removed(s->dir_fd))
		return format_text("the state folder '%s' was removed while it "
				   "was in use: what was recorded before is "
				   "gone",
				   s->dir);
	if (is_full(s->dir_fd))
		return format_text("the disk that holds '%s' is full: changes "
				   "are found when there is room again, and "
				   "authors may be lost",
				   s->dir);
	if (access(s->run, F_OK) < 0 && errno == ENOENT)
		pid = mounter(s);
	if (pid > 0)
		return format_text("the runtime folder '%s' was removed while "
				   "it was in use: what process %d has "
				   "mounted is recorded, but cannot be asked "
				   "until it has ended",
				   s->run, (int)pid);
	return NULL;
}

int repo_ask(const struct state *s, const char *ask, const cJSON *question,
	     cJSON **ret)
{
	cJSON *answer = NULL;
	int r = wire_ask(s->fs_socket, ask, question, REPO_ASK_MS, &answer);
	const char *why =
		cJSON_GetStringValue(cJSON_GetObjectItem(answer, "error"));

	if (r == 0) {
		*ret = answer;
		return 0;
	}
	if (r == -EREMOTEIO)
		(void)say_error("'%s': %s", s->repo,
				why ? why : "the question was refused");
	else if (r == -ETIMEDOUT)
		(void)say_error("the mount of '%s' does not answer", s->repo);
	else if (r != -ECONNREFUSED)
		(void)say_error("cannot ask the mount of '%s': %s", s->repo,
				errno_text(r));
	cJSON_Delete(answer);
	return r;
}
