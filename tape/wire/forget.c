/*
 * Measuring and removing the state of a repository. Directories are opened
 * without following links, so nothing outside of them is touched. The state
 * directory is renamed first, to a name that is no id: a process that is killed
 * within leaves that, and the next state_remove() removes it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "tape/wire/state.h"

#define GOING	  ".forgotten-" /* followed by the id */
#define DEPTH_MAX 64

enum walk_what { WALK_MEASURE, WALK_REMOVE };

static int walk(int parent_fd, const char *name, enum walk_what what,
		unsigned depth, struct state_sum *sum);

static int walk_entry(int dir_fd, const char *name, enum walk_what what,
		      unsigned depth, struct state_sum *sum)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return walk(dir_fd, name, what, depth + 1, sum);
	sum->files++;
	sum->bytes += (uint64_t)st.st_blocks * 512;
	if (what == WALK_REMOVE && unlinkat(dir_fd, name, 0) < 0 &&
	    errno != ENOENT)
		return -errno;
	return 0;
}

static int walk(int parent_fd, const char *name, enum walk_what what,
		unsigned depth, struct state_sum *sum)
{
	int fd = openat(parent_fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP(closedir_p) DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	if (depth > DEPTH_MAX)
		return -ELOOP;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours. */
	while (rc == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = walk_entry(fd, e->d_name, what, depth, sum);
	if (rc == 0 && what == WALK_REMOVE &&
	    unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		rc = -errno;
	return rc;
}

/* The directory that `path` is in; -1: errno has it. */
static int open_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(free_p) char *dir = strndup(path, (size_t)(slash - path));

	return dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

int state_measure(const struct state *s, struct state_sum *ret)
{
	struct state_sum sum = { 0 };
	int rc = walk(AT_FDCWD, s->dir, WALK_MEASURE, 0, &sum);

	if (rc == 0)
		rc = walk(AT_FDCWD, s->run, WALK_MEASURE, 0, &sum);
	if (rc == 0)
		*ret = sum;
	return rc;
}

static int remove_dir(int parent_fd, const char *name, const char *going)
{
	struct state_sum sum = { 0 };
	int rc = walk(parent_fd, going, WALK_REMOVE, 0, &sum);

	if (rc < 0)
		return rc;
	if (renameat(parent_fd, name, parent_fd, going) < 0)
		return errno == ENOENT ? 0 : -errno;
	return walk(parent_fd, going, WALK_REMOVE, 0, &sum);
}

int state_remove(const struct state *s)
{
	const char *const paths[] = { s->run, s->dir };
	CLEANUP(free_p) char *going = NULL;
	int rc = asprintf(&going, GOING "%s", s->id) < 0 ? -ENOMEM : 0;

	for (size_t i = 0; rc == 0 && i < sizeof(paths) / sizeof(*paths); i++) {
		CLEANUP(close_p) int parent = open_parent(paths[i]);

		if (parent >= 0)
			rc = remove_dir(parent, s->id, going);
		else if (errno != ENOENT)
			rc = -errno;
	}
	return rc;
}
