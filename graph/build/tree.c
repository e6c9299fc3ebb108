/*
 * Several threads list a tree: they take directories off a shared list and add
 * those they find. Listing again (second half of this file) compares stamps and
 * reads only directories that changed, so that a start on an unchanged
 * repository costs one stat(2) per place. The result is sorted by path,
 * whichever thread found it.
 */
#include "graph/build/tree.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/build/look.h"
#include "graph/build/team.h"
#include "graph/facts/lang.h"

#define NAMES_SIZE (64U << 10)
#define TAKEN_MAX  8 /* directories that a thread takes at a time */

static const char *const skipped[] = { "__pycache__", "node_modules" };
static const char *const marks[] = { "pyvenv.cfg", "conda-meta",
				     "CACHEDIR.TAG" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Is a directory of this name excluded? */
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

/* Does the directory path[0 .. len) contain a mark? */
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

/* Is no directory that `path` leads through excluded? */
static bool is_open_way(int root_fd, const char *path)
{
	const char *name = path;
	const char *slash;

	/* A longer path cannot be opened. */
	if (strlen(path) >= PATH_MAX)
		return false;
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

/* What one thread has found. */
struct lister {
	int root_fd;
	struct tree tree;
	uint32_t files_size, tree_dirs_size;
	char *names; /* NAMES_SIZE bytes, aligned for struct dirent64 */
	char **dirs; /* still to be listed */
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

static void add_file(struct lister *l, char *path, struct tree_stamp stamp)
{
	struct tree *t = &l->tree;

	t->files = must_grow(t->files, &l->files_size, t->count + 1,
			     sizeof(*t->files));
	t->files[t->count].path = path;
	t->files[t->count++].stamp = stamp;
}

/* It was listed; takes over `path`. */
static void add_seen(struct lister *l, char *path, struct tree_stamp stamp)
{
	struct tree *t = &l->tree;

	t->dirs = must_grow(t->dirs, &l->tree_dirs_size, t->dirs_count + 1,
			    sizeof(*t->dirs));
	t->dirs[t->dirs_count].path = path;
	t->dirs[t->dirs_count++].stamp = stamp;
}

static char *join(const char *dir, const char *name)
{
	size_t above = strlen(dir), below = strlen(name);
	char *path = must_alloc(above + below + 2);

	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): below it is. */
	memcpy(path, dir, above);
	if (above)
		path[above++] = '/';
	memcpy(path + above, name, below + 1);
	return path;
}

/* A name in `dir`. Its type is looked up only if getdents64() had none. */
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
			add_file(l, join(dir, e->d_name), look_stamp(&st));
	}
}

/* The directory has a mark: drop what was found since. */
static void forget_since(struct lister *l, size_t files, size_t dirs)
{
	while (l->tree.count > files)
		free(l->tree.files[--l->tree.count].path);
	while (l->dirs_count > dirs)
		free(l->dirs[--l->dirs_count]);
}

/*
 * One buffer of names. -ECANCELED: one of them is a mark. Not readdir():
 * opening a stream takes three system calls more per directory, and
 * repositories have about as many directories as files.
 */
static int see_all(struct lister *l, int fd, const char *dir, ssize_t len)
{
	for (ssize_t at = 0; at < len;) {
		const struct dirent64 *e = (const void *)(l->names + at);

		/* The root is never excluded: the user named it. */
		if (*dir && tree_is_mark(e->d_name))
			return -ECANCELED;
		see(l, fd, dir, e);
		if (l->tree.count > TREE_FILES_MAX)
			return -E2BIG;
		at += e->d_reclen;
	}
	return 0;
}

/* *ret_stamp: from before the first name was read; zeros: do not trust. */
static int list_dir(struct lister *l, const char *dir,
		    struct tree_stamp *ret_stamp)
{
	size_t files = l->tree.count, dirs = l->dirs_count;
	size_t too_large = l->tree.too_large;
	CLEANUP(close_p)
	int fd = look_open(l->root_fd, dir, O_RDONLY | O_DIRECTORY);
	struct stat st;
	ssize_t len;
	int r = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0)
		*ret_stamp = look_stamp(&st);
	while (r == 0 && (len = getdents64(fd, l->names, NAMES_SIZE)) != 0)
		r = len < 0 ? -errno : see_all(l, fd, dir, len);
	if (r == -ECANCELED) {
		forget_since(l, files, dirs);
		l->tree.too_large = too_large;
		r = 0;
	}
	/* A file that is too large may shrink without changing it. */
	if (r < 0 || l->tree.too_large > too_large)
		*ret_stamp = (struct tree_stamp){ 0 };
	return r;
}

/* There is no directory of that name, as opposed to an unreadable one. */
static bool is_absence(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP ||
	       error == -EXDEV;
}

/* Takes over `dir`. Returns only errors that end the whole listing. */
static int list_one(struct lister *l, char *dir)
{
	struct tree_stamp stamp = { 0 };
	int r = list_dir(l, dir, &stamp);

	if (r == -E2BIG || (r < 0 && !*dir)) {
		free(dir);
		return r;
	}
	if (r < 0 && is_absence(r)) {
		free(dir);
		return 0;
	}
	/* An unreadable one has a stamp of zeros: it is listed next time. */
	l->tree.unreadable += r < 0;
	add_seen(l, dir, stamp);
	return 0;
}

static int list_all(struct lister *l)
{
	int r = 0;

	while (r == 0 && l->dirs_count)
		r = list_one(l, l->dirs[--l->dirs_count]);
	return r;
}

/* A listing by several threads, each of which finds work for all. */
struct tree_listing {
	int root_fd;
	pthread_mutex_t lock; /* the only one; not held while listing */
	pthread_cond_t more;
	struct lister all; /* protected by lock, as are those below */
	size_t busy;	   /* threads that may find more directories */
	int error;
};

static void move_dirs(struct lister *from, struct lister *to, size_t count)
{
	while (count-- && from->dirs_count)
		add_dir(to, from->dirs[--from->dirs_count]);
}

/* Waits for directories to list; false: there will be none. */
static bool take_dirs_locked(struct tree_listing *s, struct lister *l)
{
	while (!s->all.dirs_count && s->busy)
		(void)pthread_cond_wait(&s->more, &s->lock);
	if (!s->all.dirs_count || s->error)
		return false;
	move_dirs(&s->all, l, TAKEN_MAX);
	s->busy++;
	return true;
}

/* Lists those that were taken; the directories found in them are shared. */
static int list_taken(struct lister *l)
{
	char *taken[TAKEN_MAX];
	size_t n = 0;
	int r = 0;

	assert(l->dirs_count <= TAKEN_MAX);
	while (l->dirs_count)
		taken[n++] = l->dirs[--l->dirs_count];
	while (n && r == 0)
		r = list_one(l, taken[--n]);
	while (n)
		free(taken[--n]);
	return r;
}

static void join_files(struct lister *from, struct lister *to)
{
	struct tree *t = &from->tree;

	for (size_t k = 0; k < t->count; k++)
		add_file(to, t->files[k].path, t->files[k].stamp);
	for (size_t k = 0; k < t->dirs_count; k++)
		add_seen(to, t->dirs[k].path, t->dirs[k].stamp);
	to->tree.unreadable += t->unreadable;
	to->tree.too_large += t->too_large;
	t->count = t->dirs_count = 0;
}

static void list_some(size_t n, void *arg)
{
	struct tree_listing *s = arg;
	CLEANUP(lister_release)
	struct lister l = { .root_fd = s->root_fd,
			    .names = must_alloc(NAMES_SIZE) };

	(void)n;
	(void)pthread_mutex_lock(&s->lock);
	while (take_dirs_locked(s, &l)) {
		int r;

		(void)pthread_mutex_unlock(&s->lock);
		r = list_taken(&l);
		(void)pthread_mutex_lock(&s->lock);
		if (r < 0)
			s->error = r;
		move_dirs(&l, &s->all, l.dirs_count);
		assert(s->busy > 0 && l.dirs_count == 0);
		s->busy--;
		(void)pthread_cond_broadcast(&s->more);
	}
	join_files(&l, &s->all);
	if (s->all.tree.count > TREE_FILES_MAX)
		s->error = -E2BIG;
	(void)pthread_mutex_unlock(&s->lock);
}

static int compare_files(const void *a, const void *b)
{
	const struct tree_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Are `dir` and all directories above it not excluded? */
static bool is_open_dir(int root_fd, const char *dir)
{
	CLEANUP(free_p) char *inside = join(dir, "");

	return !*dir || (tree_is_path(dir) && is_open_way(root_fd, inside));
}

static int compare_dirs(const void *a, const void *b)
{
	const struct tree_dir *x = a, *y = b;

	return strcmp(x->path, y->path);
}

uint32_t tree_parent(const struct tree *t, const char *path)
{
	CLEANUP(free_p) char *dir = join("", path);
	struct tree_dir key = { .path = dir };
	const struct tree_dir *found;

	/* The next one above, if that was not listed. */
	do {
		char *slash = strrchr(dir, '/');

		*(slash ? slash : dir) = '\0';
		found = bsearch(&key, t->dirs, t->dirs_count, sizeof(key),
				compare_dirs);
	} while (!found && *dir);
	return found ? (uint32_t)(found - t->dirs) : 0;
}

/* Listing again mostly gives sorted results, which need no qsort(). */
static void sort(void *at, size_t count, size_t size,
		 int compare(const void *, const void *))
{
	const char *item = at;

	for (size_t k = 1; k < count; k++) {
		if (compare(item + (k - 1) * size, item + k * size) <= 0)
			continue;
		qsort(at, count, size, compare);
		return;
	}
}

/* Hands over what was found, sorted. */
static void finish(struct lister *l, struct tree *ret)
{
	struct tree *t = &l->tree;

	sort(t->files, t->count, sizeof(*t->files), compare_files);
	sort(t->dirs, t->dirs_count, sizeof(*t->dirs), compare_dirs);
	*ret = *t;
	*t = (struct tree){ 0 };
}

int tree_list(int root_fd, const char *dir, unsigned threads, struct tree *ret)
{
	struct tree_listing s = { .root_fd = root_fd };

	assert(threads > 0);
	(void)pthread_mutex_init(&s.lock, NULL);
	(void)pthread_cond_init(&s.more, NULL);
	if (is_open_dir(root_fd, dir))
		add_dir(&s.all, join("", dir));
	team_finish(team_begin(threads - 1, threads, list_some, &s));
	if (s.error == 0)
		finish(&s.all, ret);
	lister_release(&s.all);
	(void)pthread_cond_destroy(&s.more);
	(void)pthread_mutex_destroy(&s.lock);
	return s.error;
}

/* Again */

bool tree_same_stamp(const struct tree_stamp *a, const struct tree_stamp *b)
{
	return a->size == b->size && a->inode == b->inode &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

void tree_look(int root_fd, struct tree_place *p, bool dir)
{
	const char *path = *p->path ? p->path : ".";
	struct stat st;

	p->there = fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		   (dir ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode));
	if (p->there)
		p->now = look_stamp(&st);
}

static int compare_place(const void *key, const void *element)
{
	return strcmp(key, ((const struct tree_place *)element)->path);
}

/* Lists it. Known directories in it are only marked: see_dir() comes to them.
 */
static int list_changed(struct lister *l, struct tree_memory *m,
			const char *path)
{
	size_t dirs = l->dirs_count, kept = dirs;
	int r = list_one(l, join("", path));

	for (size_t k = dirs; k < l->dirs_count; k++) {
		struct tree_place *p =
			bsearch(l->dirs[k], m->dirs, m->dirs_count,
				sizeof(*m->dirs), compare_place);

		if (p) {
			p->seen = true;
			free(l->dirs[k]);
		} else {
			l->dirs[kept++] = l->dirs[k];
		}
	}
	l->dirs_count = kept;
	return r;
}

/*
 * A directory with the same stamp holds the same names, each of the same type:
 * a file that became a directory would have changed it. A directory whose
 * parent is gone, or was listed and does not contain it, is gone. Parents come
 * before their contents.
 */
static int see_dir(struct lister *l, struct tree_memory *m, size_t k)
{
	struct tree_place *p = &m->dirs[k];
	bool alive = !*p->path || m->dirs[p->dir].same || p->seen;

	assert(p->dir < k || (p->dir == 0 && k == 0));
	p->same = alive && p->there && p->was.inode &&
		  tree_same_stamp(&p->was, &p->now);
	if (p->same)
		add_seen(l, join("", p->path), p->now);
	else if (alive)
		return list_changed(l, m, p->path);
	return 0;
}

static void see_file(struct lister *l, const struct tree_memory *m,
		     const struct tree_place *p)
{
	assert(p->dir < m->dirs_count);
	if (!m->dirs[p->dir].same || !p->there)
		return;
	if (p->now.size > TREE_FILE_MAX) {
		l->tree.too_large++;
		return;
	}
	add_file(l, join("", p->path), p->now);
}

int tree_list_again(int root_fd, struct tree_memory *m, struct tree *ret)
{
	CLEANUP(lister_release)
	struct lister l = { .root_fd = root_fd,
			    .names = must_alloc(NAMES_SIZE) };
	int r = 0;

	for (size_t k = 0; k < m->dirs_count && r == 0; k++)
		r = see_dir(&l, m, k);
	for (size_t k = 0; k < m->files_count; k++)
		see_file(&l, m, &m->files[k]);
	if (r == 0)
		r = list_all(&l);
	if (r == 0)
		finish(&l, ret);
	return r;
}

void tree_release(struct tree *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->files[i].path);
	for (size_t i = 0; i < t->dirs_count; i++)
		free(t->dirs[i].path);
	free(t->files);
	free(t->dirs);
	*t = (struct tree){ 0 };
}

/* Reads to the end, which may have moved since fstat(). */
static int read_all(int fd, struct buf *text)
{
	size_t room;
	ssize_t n;

	do {
		int r = buf_reserve(text, 1);

		if (r < 0)
			return r == -EMSGSIZE ? -EFBIG : r;
		room = text->size - text->len;
		n = read(fd, text->data + text->len, room);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			text->len += (size_t)n;
		/* A regular file returns less than requested only at its end.
		 */
	} while (n < 0 || (size_t)n == room);
	return text->len > TREE_FILE_MAX ? -EFBIG : 0;
}

int tree_read(int root_fd, const char *path, struct buf *text,
	      struct tree_stamp *ret_stamp)
{
	/* O_NONBLOCK: a path that was a file may be a FIFO by now. */
	CLEANUP(close_p)
	int fd = look_open(root_fd, path, O_RDONLY | O_NONBLOCK);
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
		*ret_stamp = look_stamp(&st);
	return r;
}
