/*
 * Two trees, compared in full: names, kinds, modes, owners, sizes, contents,
 * link targets, extended attributes, times that were set on purpose, and
 * which names belong to one file. Walked by descriptors, for they may be
 * deeper than a path can say.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "tests/prop/fs/twin.h"

#define CHUNK	     65536
#define XATTR_MAX    65536
#define COMPLAIN_MAX 20

struct walk {
	const char *plain;
	const char *other;
	int complaints;
	/* Files with several names: number there, number here. */
	struct {
		ino_t ino[SIDES];
	} * links;
	size_t count;
};

/* One name on both sides, and its path for messages. */
struct place {
	int dir[SIDES];
	const char *name;
	const char *path;
	struct stat st[SIDES];
};

__attribute__((format(printf, 3, 4))) static void
complain(struct walk *w, const struct place *at, const char *format, ...)
{
	va_list ap;

	if (++w->complaints > COMPLAIN_MAX)
		return;
	(void)printf("%s: ", at->path);
	va_start(ap, format);
	(void)vprintf(format, ap);
	va_end(ap);
	(void)printf("\n");
}

static void compare_number(struct walk *w, const struct place *at,
			   const char *what, long long a, long long b)
{
	if (a != b)
		complain(w, at, "%s %lld in \"%s\", %lld in \"%s\"", what, a,
			 w->plain, b, w->other);
}

static void compare_stat(struct walk *w, const struct place *at)
{
	const struct stat *a = &at->st[0], *b = &at->st[1];

	compare_number(w, at, "mode", a->st_mode, b->st_mode);
	compare_number(w, at, "owner", a->st_uid, b->st_uid);
	compare_number(w, at, "group", a->st_gid, b->st_gid);
	compare_number(w, at, "links", (long long)a->st_nlink,
		       (long long)b->st_nlink);
	compare_number(w, at, "device", (long long)a->st_rdev,
		       (long long)b->st_rdev);
	if (!S_ISDIR(a->st_mode))
		compare_number(w, at, "size", a->st_size, b->st_size);
	if (a->st_mtim.tv_sec >= LONG_AGO && b->st_mtim.tv_sec >= LONG_AGO)
		return;
	compare_number(w, at, "time", a->st_mtim.tv_sec, b->st_mtim.tv_sec);
	compare_number(w, at, "nanoseconds", a->st_mtim.tv_nsec,
		       b->st_mtim.tv_nsec);
}

/* A file met before by another name must be the same one on both sides. */
static void compare_identity(struct walk *w, const struct place *at)
{
	void *more;

	if (S_ISDIR(at->st[0].st_mode) || at->st[0].st_nlink < 2)
		return;
	for (size_t i = 0; i < w->count; i++) {
		bool a = w->links[i].ino[0] == at->st[0].st_ino;
		bool b = w->links[i].ino[1] == at->st[1].st_ino;

		if (a != b)
			complain(w, at, "a name of another file");
		if (a || b)
			return;
	}
	more = realloc(w->links, (w->count + 1) * sizeof(*w->links));
	if (!more)
		abort();
	w->links = more;
	w->links[w->count].ino[0] = at->st[0].st_ino;
	w->links[w->count++].ino[1] = at->st[1].st_ino;
}

static void compare_target(struct walk *w, const struct place *at)
{
	char a[PATH_MAX] = "", b[PATH_MAX] = "";
	ssize_t n = readlinkat(at->dir[0], at->name, a, sizeof(a) - 1);
	ssize_t m = readlinkat(at->dir[1], at->name, b, sizeof(b) - 1);

	if (n < 0 || m != n || memcmp(a, b, (size_t)n) != 0)
		complain(w, at, "leads to \"%s\" and \"%s\"", a, b);
}

/*
 * Open the same on both sides. A file that an ordinary user may not open on
 * either side counts as alike.
 */
static bool open_both(struct walk *w, const struct place *at, int flags,
		      int fds[SIDES])
{
	int error[SIDES];

	flags |= O_RDONLY | O_NOFOLLOW | O_CLOEXEC;
	for (int s = 0; s < SIDES; s++) {
		fds[s] = openat(at->dir[s], at->name, flags);
		error[s] = fds[s] < 0 ? errno : 0;
	}
	if (error[0] != error[1])
		complain(w, at, "opening it: %s and %s", strerror(error[0]),
			 strerror(error[1]));
	return !error[0] && !error[1];
}

static void close_both(int fds[SIDES])
{
	close_p(&fds[0]);
	close_p(&fds[1]);
}

static void compare_content(struct walk *w, const struct place *at)
{
	static char a[CHUNK], b[CHUNK];
	int fds[SIDES];
	off_t off = 0;
	ssize_t n = 1, m;

	if (open_both(w, at, 0, fds)) {
		for (; n > 0; off += n) {
			n = pread(fds[0], a, sizeof(a), off);
			m = pread(fds[1], b, sizeof(b), off);
			if (n >= 0 && n == m && memcmp(a, b, (size_t)n) == 0)
				continue;
			complain(w, at, "differs behind byte %lld",
				 (long long)off);
			break;
		}
	}
	close_both(fds);
}

/* Every attribute of `path` is one of `path2`, with the same value. */
static void attributes_in(struct walk *w, const struct place *at,
			  const char *path, const char *path2)
{
	static char names[XATTR_MAX], a[XATTR_MAX], b[XATTR_MAX];
	ssize_t len = llistxattr(path, names, sizeof(names));

	for (const char *name = names; name < names + len;
	     name += strlen(name) + 1) {
		ssize_t n = lgetxattr(path, name, a, sizeof(a));
		ssize_t m = lgetxattr(path2, name, b, sizeof(b));

		/* Every user may list names, but not read all values. */
		if (n != m || (n > 0 && memcmp(a, b, (size_t)n) != 0))
			complain(w, at, "attribute %s: %zd and %zd bytes", name,
				 n, m);
	}
}

static void compare_attributes(struct walk *w, const struct place *at)
{
	char a[PATH_MAX], b[PATH_MAX];

	(void)snprintf(a, sizeof(a), "/proc/self/fd/%d/%s", at->dir[0],
		       at->name);
	(void)snprintf(b, sizeof(b), "/proc/self/fd/%d/%s", at->dir[1],
		       at->name);
	attributes_in(w, at, a, b);
	attributes_in(w, at, b, a);
}

static int by_record(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

static char *slurp(int dir, const char *name, size_t size)
{
	CLEANUP(close_p) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char *text = calloc(1, size + 1);

	if (!text || fd < 0 || read(fd, text, size) != (ssize_t)size)
		abort();
	return text;
}

/* Lines may be in any order, but complete, and none missing. */
static void compare_records(struct walk *w, const struct place *at)
{
	size_t size = (size_t)at->st[0].st_size;
	CLEANUP(free_p) char *a = NULL;
	CLEANUP(free_p) char *b = NULL;

	if (at->st[0].st_size != at->st[1].st_size)
		return;
	a = slurp(at->dir[0], at->name, size);
	b = slurp(at->dir[1], at->name, size);
	qsort(a, size / 32, 32, by_record);
	qsort(b, size / 32, 32, by_record);
	if (memcmp(a, b, size) != 0)
		complain(w, at, "records differ");
}

static void compare_dirs(struct walk *w, int dir, int dir2, const char *path);

static void compare_inside(struct walk *w, const struct place *at)
{
	int fds[SIDES];

	if (open_both(w, at, O_DIRECTORY, fds))
		compare_dirs(w, fds[0], fds[1], at->path);
	close_both(fds);
}

/* 0, or the error that stat gives on both sides. */
static int stat_both(struct walk *w, struct place *at)
{
	int error[SIDES];

	for (int s = 0; s < SIDES; s++)
		error[s] = fstatat(at->dir[s], at->name, &at->st[s],
				   AT_SYMLINK_NOFOLLOW) < 0
				   ? errno
				   : 0;
	if (error[0] != error[1])
		complain(w, at, "%s in \"%s\", %s in \"%s\"",
			 strerror(error[0]), w->plain, strerror(error[1]),
			 w->other);
	return error[0] ? error[0] : error[1];
}

static void compare_place(struct walk *w, struct place *at)
{
	if (stat_both(w, at) != 0)
		return;
	compare_stat(w, at);
	if ((at->st[0].st_mode & S_IFMT) != (at->st[1].st_mode & S_IFMT))
		return;
	compare_identity(w, at);
	compare_attributes(w, at);
	if (S_ISLNK(at->st[0].st_mode))
		compare_target(w, at);
	else if (S_ISDIR(at->st[0].st_mode))
		compare_inside(w, at);
	else if (strcmp(at->path, "/crowd/log") == 0)
		compare_records(w, at);
	else if (S_ISREG(at->st[0].st_mode))
		compare_content(w, at);
}

/* Walk down the first side; of the second, only find extra names. */
static void compare_names(struct walk *w, int side, const int fds[2],
			  const char *path)
{
	CLEANUP(closedir_p) DIR *dir = NULL;
	struct place at = { .dir = { fds[0], fds[1] } };
	CLEANUP(free_p) char *full = NULL;
	struct dirent *e;
	int fd = dup(fds[side]);

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		abort();
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		free(full);
		if (asprintf(&full, "%s/%s", path, e->d_name) < 0)
			abort();
		at.name = e->d_name;
		at.path = full;
		if (side == 0)
			compare_place(w, &at);
		else
			(void)stat_both(w, &at);
	}
}

static void compare_dirs(struct walk *w, int dir, int dir2, const char *path)
{
	const int fds[2] = { dir, dir2 };

	compare_names(w, 0, fds, path);
	compare_names(w, 1, fds, path);
}

int twin_compare(const char *plain, const char *other)
{
	struct walk w = { .plain = plain, .other = other };
	CLEANUP(close_p) int a = -1;
	CLEANUP(close_p) int b = -1;

	a = open(plain, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	b = open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a < 0 || b < 0) {
		perror("twin");
		return 1;
	}
	compare_dirs(&w, a, b, "");
	free(w.links);
	if (w.complaints)
		(void)printf("twin: %d differences to \"%s\"\n", w.complaints,
			     other);
	return w.complaints != 0;
}
