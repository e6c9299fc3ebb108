#include "graph/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/memory.h"
#include "graph/lang.h"

#define NS_PER_S   1000000000
#define NAMES_SIZE (64U << 10)

static const char *const skipped[] = { "__pycache__", "node_modules" };
static const char *const marks[] = { "pyvenv.cfg", "conda-meta",
				     "CACHEDIR.TAG" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Open without following a link anywhere on the way. A kernel or a sandbox
 * that has no openat2() gets the check of the last part alone: the parts
 * before it were directories when they were listed.
 */
static int open_inside(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_RDONLY | O_CLOEXEC |
					      O_NOFOLLOW),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root_fd, path, (int)how.flags);
	return fd < 0 ? -errno : fd;
}

static struct tree_stamp stamp_of(const struct stat *st)
{
	return (struct tree_stamp){
		.size = (uint64_t)st->st_size,
		.inode = st->st_ino,
		.mtime_ns = st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec,
		.ctime_ns = st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec,
	};
}

/* Names of directories. */
static bool is_skipped(const char *name, size_t len)
{
	if (name[0] == '.')
		return true;
	for (size_t i = 0; i < COUNT(skipped); i++)
		if (strlen(skipped[i]) == len &&
		    memcmp(skipped[i], name, len) == 0)
			return true;
	return false;
}

bool tree_is_mark(const char *name)
{
	for (size_t i = 0; i < COUNT(marks); i++)
		if (strcmp(marks[i], name) == 0)
			return true;
	return false;
}

bool tree_is_path(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		if (len == 0 || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (!path[len])
			return true;
		path += len + 1;
	}
}

/* Does the directory `path`, of `len` bytes, bear a mark? */
static bool is_marked(int root_fd, const char *path, size_t len)
{
	char name[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < COUNT(marks); i++) {
		int n = snprintf(name, sizeof(name), "%.*s/%s", (int)len, path,
				 marks[i]);

		if (n >= 0 && (size_t)n < sizeof(name) &&
		    fstatat(root_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

/* Is each directory that `path` names before a slash looked into? */
static bool is_open_way(int root_fd, const char *path)
{
	const char *name = path;
	const char *slash;

	for (; (slash = strchr(name, '/')); name = slash + 1)
		if (is_skipped(name, (size_t)(slash - name)) ||
		    is_marked(root_fd, path, (size_t)(slash - path)))
			return false;
	return true;
}

bool tree_covers(int root_fd, const char *path)
{
	return tree_is_path(path) && lang_of(path) &&
	       is_open_way(root_fd, path);
}

/* A listing under way. */
struct lister {
	int root_fd;
	struct tree tree;
	uint32_t files_size;
	char *names; /* NAMES_SIZE bytes, aligned for struct dirent64 */
	char **dirs; /* still to be looked into */
	size_t dirs_count;
	uint32_t dirs_size;
};

static void lister_release(struct lister *l)
{
	tree_release(&l->tree);
	while (l->dirs_count)
		free(l->dirs[--l->dirs_count]);
	free(l->dirs);
	free(l->names);
}

static void add_dir(struct lister *l, char *path)
{
	l->dirs = must_grow(l->dirs, &l->dirs_size, l->dirs_count + 1,
			    sizeof(*l->dirs));
	l->dirs[l->dirs_count++] = path;
}

static void add_file(struct lister *l, char *path, const struct stat *st)
{
	struct tree *t = &l->tree;

	t->files = must_grow(t->files, &l->files_size, t->count + 1,
			     sizeof(*t->files));
	t->files[t->count].path = path;
	t->files[t->count++].stamp = stamp_of(st);
}

static char *join(const char *dir, const char *name)
{
	size_t size = strlen(dir) + strlen(name) + 2;
	char *path = must_alloc(size);

	(void)snprintf(path, size, "%s%s%s", dir, *dir ? "/" : "", name);
	return path;
}

/* A name in `dir`. What it is need be asked only if the kernel did not say. */
static void see(struct lister *l, int dir_fd, const char *dir,
		const struct dirent64 *e)
{
	bool known = lang_of(e->d_name);
	bool is_dir = e->d_type == DT_DIR;
	struct stat st;

	if (e->d_type != DT_UNKNOWN && !is_dir &&
	    !(e->d_type == DT_REG && known))
		return;
	if (!is_dir && fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* gone meanwhile */
	if (is_dir || S_ISDIR(st.st_mode)) {
		if (!is_skipped(e->d_name, strlen(e->d_name)))
			add_dir(l, join(dir, e->d_name));
	} else if (known && S_ISREG(st.st_mode)) {
		if (st.st_size > TREE_FILE_MAX)
			l->tree.too_large++;
		else
			add_file(l, join(dir, e->d_name), &st);
	}
}

/* Take back what was found since: the directory bears a mark. */
static void forget_since(struct lister *l, size_t files, size_t dirs)
{
	while (l->tree.count > files)
		free(l->tree.files[--l->tree.count].path);
	while (l->dirs_count > dirs)
		free(l->dirs[--l->dirs_count]);
}

/*
 * One handful of names. -ECANCELED: one of them is a mark. Not readdir():
 * opening a stream takes three system calls more for each directory, and a
 * repository has as many of these as files.
 */
static int see_all(struct lister *l, int fd, const char *dir, ssize_t len)
{
	for (ssize_t at = 0; at < len;) {
		const struct dirent64 *e = (const void *)(l->names + at);

		/* Who names the root wants it, whatever lies in it. */
		if (*dir && tree_is_mark(e->d_name))
			return -ECANCELED;
		see(l, fd, dir, e);
		if (l->tree.count > TREE_FILES_MAX)
			return -E2BIG;
		at += e->d_reclen;
	}
	return 0;
}

static int list_dir(struct lister *l, const char *dir)
{
	size_t files = l->tree.count, dirs = l->dirs_count;
	size_t too_large = l->tree.too_large;
	CLEANUP(close_p)
	int fd = open_inside(l->root_fd, *dir ? dir : ".", O_DIRECTORY);
	ssize_t len;
	int r = 0;

	if (fd < 0)
		return fd;
	while (r == 0 && (len = getdents64(fd, l->names, NAMES_SIZE)) != 0)
		r = len < 0 ? -errno : see_all(l, fd, dir, len);
	if (r != -ECANCELED)
		return r;
	forget_since(l, files, dirs);
	l->tree.too_large = too_large;
	return 0;
}

/* Not being there, or being something else, is nothing that could be read. */
static bool is_absence(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP ||
	       error == -EXDEV;
}

static int list_all(struct lister *l)
{
	while (l->dirs_count) {
		CLEANUP(free_p) char *dir = l->dirs[--l->dirs_count];
		int r = list_dir(l, dir);

		if (r == -E2BIG || (r < 0 && !*dir))
			return r;
		if (r < 0 && !is_absence(r))
			l->tree.unreadable++;
	}
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	const struct tree_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Is `dir` itself, and all above it, looked into? */
static bool is_open_dir(int root_fd, const char *dir)
{
	CLEANUP(free_p) char *inside = join(dir, "");

	return !*dir || (tree_is_path(dir) && is_open_way(root_fd, inside));
}

int tree_list(int root_fd, const char *dir, struct tree *ret)
{
	CLEANUP(lister_release)
	struct lister l = { .root_fd = root_fd,
			    .names = must_alloc(NAMES_SIZE) };
	int r;

	if (is_open_dir(root_fd, dir))
		add_dir(&l, join("", dir));
	r = list_all(&l);
	if (r < 0)
		return r;
	if (l.tree.count)
		qsort(l.tree.files, l.tree.count, sizeof(*l.tree.files),
		      compare_files);
	*ret = l.tree;
	l.tree = (struct tree){ 0 };
	return 0;
}

void tree_release(struct tree *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->files[i].path);
	free(t->files);
	*t = (struct tree){ 0 };
}

/* Up to the end, which may have moved since the size was asked for. */
static int read_all(int fd, struct buf *text)
{
	ssize_t n;

	do {
		int r = buf_reserve(text, 1);

		if (r < 0)
			return r == -EMSGSIZE ? -EFBIG : r;
		n = read(fd, text->data + text->len, text->size - text->len);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			text->len += (size_t)n;
	} while (n != 0);
	return text->len > TREE_FILE_MAX ? -EFBIG : 0;
}

int tree_read(int root_fd, const char *path, struct buf *text,
	      struct tree_stamp *ret_stamp)
{
	/* O_NONBLOCK: a path that was a file may be a FIFO by now. */
	CLEANUP(close_p) int fd = open_inside(root_fd, path, O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	if (st.st_size > TREE_FILE_MAX)
		return -EFBIG;
	text->len = 0;
	r = buf_reserve(text, (size_t)st.st_size + 1);
	if (r == 0)
		r = read_all(fd, text);
	if (r == 0 && ret_stamp)
		*ret_stamp = stamp_of(&st);
	return r;
}
