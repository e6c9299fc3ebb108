/*
 * A path is walked one directory at a time, each opened by its name in the one
 * before and never through a link: what a name means cannot change under the
 * walk, and nothing leads out of the root.
 */
#include "tools/verb/undo/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/build/look.h"
#include "tools/cli/say.h"

void file_copy_release(struct file_copy *f)
{
	free(f->path);
	free(f->text);
	*f = (struct file_copy){ .path = NULL };
}

void file_copy_dup(struct file_copy *to, const struct file_copy *from)
{
	*to = *from;
	to->path = from->path ? must_strdup(from->path) : NULL;
	to->text = from->text ? must_memdup(from->text, from->len) : NULL;
}

static void put_hash(struct file_copy *f, XXH128_hash_t hash)
{
	(void)snprintf(f->hash, sizeof(f->hash), "%016llx%016llx",
		       (unsigned long long)hash.high64,
		       (unsigned long long)hash.low64);
}

void file_copy_set(struct file_copy *f, const char *text, size_t len)
{
	char *copy = must_memdup(text, len);

	free(f->text);
	f->text = copy;
	f->len = len;
	put_hash(f, XXH3_128bits(copy, len));
}

int files_read(int root_fd, const char *path, struct file_copy *ret)
{
	CLEANUP(buf_release) struct buf text = BUF(FILES_TEXT_MAX);
	struct look now;

	look_at(root_fd, path, &text, &now);
	*ret = (struct file_copy){ .path = NULL };
	if (now.kind == LOOK_ABSENT)
		return 0;
	if (now.kind == LOOK_UNREADABLE)
		return -now.error;
	if (now.kind == LOOK_DIRECTORY)
		return -EISDIR;
	if (now.kind == LOOK_OTHER)
		return -EMEDIUMTYPE;
	ret->path = must_strdup(path);
	ret->mode = now.stamp.mode;
	ret->stamp = now.stamp;
	ret->len = now.bytes;
	put_hash(ret, now.hash);
	if (now.text)
		ret->text = must_memdup(now.text, now.len);
	return 0;
}

bool files_is_same(int root_fd, const struct file_copy *f)
{
	struct look now;

	look_only(root_fd, f->path, &now);
	return (now.kind == LOOK_FILE || now.kind == LOOK_LINK) &&
	       tree_same_stamp(&now.stamp, &f->stamp);
}

/* -- Directories. */

/*
 * Open the directory that `path` is in, and make it if `make`. *ret_name: the
 * last part. A descriptor or a negative errno.
 */
static int open_parent(int root_fd, const char *path, bool make,
		       const char **ret_name)
{
	CLEANUP(close_p) int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);

	*ret_name = path;
	while (fd >= 0) {
		size_t len = strcspn(path, "/");
		CLEANUP(free_p) char *part = must_memdup(path, len);
		int next;

		if (!*part || strcmp(part, ".") == 0 || strcmp(part, "..") == 0)
			return -EINVAL;
		if (!path[len])
			break;
		if (make && mkdirat(fd, part, 0777) < 0 && errno != EEXIST)
			return -errno;
		next = openat(fd, part,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		(void)close(fd);
		fd = next;
		path += len + 1;
	}
	*ret_name = path;
	return fd < 0 ? -errno : take_fd(&fd);
}

bool files_has_room(int root_fd, const char *path)
{
	const char *name;
	CLEANUP(close_p) int fd = open_parent(root_fd, path, false, &name);

	return fd >= 0 || fd == -ENOENT;
}

void files_tidy(int root_fd, const char *path)
{
	CLEANUP(free_p) char *dir = must_strdup(path);
	char *slash;

	while ((slash = strrchr(dir, '/'))) {
		const char *name;
		CLEANUP(close_p) int fd = -1;

		*slash = '\0';
		fd = open_parent(root_fd, dir, false, &name);
		if (fd < 0 || unlinkat(fd, name, AT_REMOVEDIR) < 0)
			return;
	}
}

char *files_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash + 1 - path) : 0;

	return format_text("%.*s%s", (int)len, path, name);
}

/* -- Changes. */

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int write_file(int dir, const char *name, const struct file_copy *f)
{
	CLEANUP(close_p)
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			f->mode ? 0600 : 0666);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, f->text, f->len);
	if (r == 0 && f->mode && fchmod(fd, f->mode & 07777) < 0)
		r = -errno;
	if (r == 0 && close(take_fd(&fd)) < 0)
		r = -errno;
	return r;
}

int files_stage(int root_fd, const struct file_copy *f, const char *name)
{
	CLEANUP(close_p) int dir = -1;
	const char *last;
	int r = open_parent(root_fd, f->path, true, &last);

	if (r < 0)
		return r;
	dir = r;
	if (S_ISLNK(f->mode))
		r = symlinkat(f->text, dir, name) < 0 ? -errno : 0;
	else
		r = write_file(dir, name, f);
	if (r < 0 && r != -EEXIST)
		(void)unlinkat(dir, name, 0);
	return r;
}

int files_rename(int root_fd, const char *from, const char *to, bool over)
{
	const char *name = NULL, *name2 = NULL;
	CLEANUP(close_p) int dir = open_parent(root_fd, from, false, &name);
	CLEANUP(close_p) int dir2 = -1;
	struct stat st;

	if (dir < 0)
		return dir;
	dir2 = open_parent(root_fd, to, true, &name2);
	if (dir2 < 0)
		return dir2;
	if (over)
		return renameat(dir, name, dir2, name2) < 0 ? -errno : 0;
	if (renameat2(dir, name, dir2, name2, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* The directory's file system has no such rename. */
	if (fstatat(dir2, name2, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(dir, name, dir2, name2) < 0 ? -errno : 0;
}

int files_remove(int root_fd, const char *path)
{
	const char *name = NULL;
	CLEANUP(close_p) int dir = open_parent(root_fd, path, false, &name);

	if (dir < 0)
		return dir;
	return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

int files_chmod(int root_fd, const char *path, uint32_t mode)
{
	const char *name = NULL;
	CLEANUP(close_p) int dir = open_parent(root_fd, path, false, &name);
	CLEANUP(close_p) int fd = -1;
	CLEANUP(free_p) char *self = NULL;

	if (dir < 0)
		return dir;
	/* It need not be readable. A link itself has no mode to change. */
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	self = format_text("/proc/self/fd/%d", fd);
	return chmod(self, mode & 07777) < 0 ? -errno : 0;
}
