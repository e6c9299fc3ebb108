#include "tape/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/paths.h"
#include "tape/journal/scope.h"

#define NAMES_SIZE (64U << 10)

struct sweep_place {
	char *dir;
	int mark;
};

struct sweep {
	int root_fd;
	const struct sweep_ops *ops;
	void *ctx;
	ARRAY(struct sweep_place) dirs; /* not entered yet */
	char *names; /* NAMES_SIZE bytes, aligned for a dirent64 */
};

struct sweep *sweep_new(int root_fd, const struct sweep_ops *ops, void *ctx)
{
	struct sweep *s = must_calloc(1, sizeof(*s));

	s->root_fd = root_fd;
	s->ops = ops;
	s->ctx = ctx;
	s->names = must_alloc(NAMES_SIZE);
	return s;
}

void sweep_free(struct sweep *s)
{
	if (!s)
		return;
	while (s->dirs.count)
		free(s->dirs.at[--s->dirs.count].dir);
	array_release(&s->dirs);
	free(s->names);
	free(s);
}

void sweep_add(struct sweep *s, const char *dir, int mark)
{
	if (scope_enters(dir))
		array_push(&s->dirs,
			   ((struct sweep_place){ must_strdup(dir), mark }));
}

bool sweep_busy(const struct sweep *s)
{
	return s->dirs.count > 0;
}

static void see(struct sweep *s, int fd, const struct sweep_place *at,
		const char *name)
{
	CLEANUP(free_p) char *path = NULL;
	struct tree_stamp stamp;
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	/* It was removed meanwhile. */
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	path = paths_join(at->dir, name);
	if (S_ISDIR(st.st_mode)) {
		sweep_add(s, path, at->mark);
	} else if ((S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) &&
		   scope_of(path) != SCOPE_NONE) {
		stamp = look_stamp(&st);
		s->ops->see(s->ctx, path, &stamp, at->mark);
	}
}

static int list(struct sweep *s, int fd, const struct sweep_place *p,
		size_t *names)
{
	ssize_t len;

	while ((len = getdents64(fd, s->names, NAMES_SIZE)) > 0) {
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *e =
				(const void *)(s->names + at);

			see(s, fd, p, e->d_name);
			at += e->d_reclen;
			(*names)++;
		}
	}
	return len < 0 ? -errno : 0;
}

/* Returns how many names the directory has. */
static size_t enter(struct sweep *s, const struct sweep_place *p)
{
	CLEANUP(close_p)
	int fd = look_open(s->root_fd, p->dir, O_RDONLY | O_DIRECTORY);
	size_t names = 0;
	int r = fd;

	if (fd >= 0) {
		s->ops->enter(s->ctx, p->dir, fd);
		r = list(s, fd, p, &names);
	}
	if (r < 0 && r != -ENOENT && r != -ENOTDIR && r != -ELOOP)
		s->ops->fail(s->ctx, p->dir, r);
	return names;
}

bool sweep_step(struct sweep *s, size_t names)
{
	size_t seen = 0;

	while (s->dirs.count && seen < names) {
		struct sweep_place p = s->dirs.at[--s->dirs.count];

		seen += enter(s, &p) + 1;
		free(p.dir);
	}
	return s->dirs.count > 0;
}
