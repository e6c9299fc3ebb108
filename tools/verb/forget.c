/*
 * statetape forget: removes all state of a repository, which may not exist any
 * more. Nothing may run on it: every lock in the state directory is taken, and
 * every socket asked, before anything is removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "tape/wire/state.h"
#include "tools/cli/options.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

/* Locks that are held until the state is gone. */
struct locks {
	ARRAY(int) fds;
};

static void locks_release(struct locks *l)
{
	for (uint32_t i = 0; i < l->fds.count; i++)
		close_p(&l->fds.at[i]);
	array_release(&l->fds);
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

/* Of the mount, the tape, its store, and the session. */
static bool is_lock(const char *name)
{
	return ends_in(name, "lock") || strcmp(name, "run.start") == 0;
}

/* False: another process holds it. */
static bool take_lock(int dir_fd, const char *name, struct locks *l)
{
	int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return true;
	array_push(&l->fds, fd);
	return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* Does a process accept connections there? */
static bool is_served(const char *dir, const char *name)
{
	CLEANUP(close_p)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int len = snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", dir, name);

	return fd >= 0 && len < (int)sizeof(a.sun_path) &&
	       (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 ||
		errno == EAGAIN || errno == EPROTOTYPE);
}

typedef bool visit_name(const struct state *s, int dir_fd, const char *name,
			struct locks *l);

static bool visit_state(const struct state *s, int dir_fd, const char *name,
			struct locks *l)
{
	(void)s;
	return !is_lock(name) || take_lock(dir_fd, name, l);
}

static bool visit_run(const struct state *s, int dir_fd, const char *name,
		      struct locks *l)
{
	if (!ends_in(name, ".sock") && !ends_in(name, ".pub"))
		return visit_state(s, dir_fd, name, l);
	return !is_served(s->run, name);
}

/* False: `visit` returned it for one of the names in `dir`. */
static bool all_of(const struct state *s, const char *dir, visit_name *visit,
		   struct locks *l)
{
	CLEANUP(closedir_p) DIR *d = opendir(dir);
	const struct dirent *e;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours. */
	while (d && (e = readdir(d)))
		if (!visit(s, dirfd(d), e->d_name, l))
			return false;
	return true;
}

static bool is_idle(const struct state *s, struct locks *l)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };

	return mount_find(NULL, s->id, &e) < 0 &&
	       all_of(s, s->dir, visit_state, l) &&
	       all_of(s, s->run, visit_run, l);
}

static int show(const struct state *s, const struct state_sum *sum, bool gone)
{
	CLEANUP(free_p) char *files = count_text(sum->files, "file", "files");
	CLEANUP(free_p) char *size = size_text(sum->bytes);

	(void)print_safe(stdout, s->repo);
	(void)printf(gone ? ": removed %s, %s, with '" : ": %s, %s, in '",
		     files, size);
	(void)print_safe(stdout, s->dir);
	(void)fputs("' and '", stdout);
	(void)print_safe(stdout, s->run);
	(void)puts(gone ? "'" : "'; --yes removes them");
	return EXIT_SUCCESS;
}

int verb_forget(const struct invocation *in)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	CLEANUP(locks_release) struct locks locks = { 0 };
	CLEANUP(free_p) char *why = NULL;
	struct state_sum sum;
	int r = state_find(in->arguments[0], &s, &why);

	if (r < 0)
		return say_error("%s", why ? why : errno_text(r));
	r = state_measure(&s, &sum);
	if (r < 0)
		return say_error("'%s' cannot be read: %s", s.dir,
				 errno_text(r));
	if (!is_idle(&s, &locks))
		return say_error("something still runs on '%s': 'statetape "
				 "status' says what; nothing is removed",
				 s.repo);
	if (!in->options[OPTION_YES].given)
		return show(&s, &sum, false);
	r = state_remove(&s);
	if (r < 0)
		return say_error("the state of '%s' cannot be removed: %s",
				 s.repo, errno_text(r));
	return show(&s, &sum, true);
}
