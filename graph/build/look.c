#include "graph/build/look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"

/*
 * Without openat2(), in an old kernel or a sandbox, only the last part of the
 * path is checked.
 */
int look_open(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, *path ? path : ".", &how,
			      sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root_fd, *path ? path : ".", (int)how.flags);
	return fd < 0 ? -errno : fd;
}

enum look_kind look_kind(mode_t mode)
{
	if (S_ISREG(mode))
		return LOOK_FILE;
	if (S_ISLNK(mode))
		return LOOK_LINK;
	return S_ISDIR(mode) ? LOOK_DIRECTORY : LOOK_OTHER;
}

struct tree_stamp look_stamp(const struct stat *st)
{
	return (struct tree_stamp){
		.size = (uint64_t)st->st_size,
		.inode = st->st_ino,
		.mtime_ns = timespec_ns(st->st_mtim),
		.ctime_ns = timespec_ns(st->st_ctim),
		.mode = st->st_mode,
	};
}

static void fail(struct look *ret, int error)
{
	bool absent = error == ENOENT || error == ENOTDIR || error == ELOOP ||
		      error == EXDEV;

	*ret = (struct look){ .kind = absent ? LOOK_ABSENT : LOOK_UNREADABLE,
			      .error = absent ? 0 : error };
}

/* An O_PATH descriptor of whatever it is; -1: `ret` says why. */
static int find(int root_fd, const char *path, struct look *ret)
{
	int fd = look_open(root_fd, path, O_PATH);
	struct stat st;

	if (fd < 0) {
		fail(ret, -fd);
		return -1;
	}
	if (fstat(fd, &st) < 0) {
		fail(ret, errno);
		(void)close(fd);
		return -1;
	}
	*ret = (struct look){
		.kind = look_kind(st.st_mode),
		.stamp = look_stamp(&st),
		.bytes = (uint64_t)st.st_size,
		.names = st.st_nlink,
	};
	return fd;
}

void look_only(int root_fd, const char *path, struct look *ret)
{
	CLEANUP(close_p) int fd = find(root_fd, path, ret);

	(void)fd;
}

static void take_text(struct look *ret, const struct buf *text)
{
	ret->text = text->data ? text->data : "";
	ret->len = text->len;
	ret->bytes = text->len;
	ret->hash = XXH3_128bits(ret->text, ret->len);
}

static void read_link(int fd, struct buf *text, struct look *ret)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(fd, "", target, sizeof(target));

	text->len = 0;
	if (len < 0 || buf_add(text, target, (size_t)len) < 0)
		fail(ret, len < 0 ? errno : ENOMEM);
	else
		take_text(ret, text);
}

/* Reads as much as the buffer may hold. 1: there is more. */
static int read_text(int fd, struct buf *text, size_t expected)
{
	ssize_t n;

	text->len = 0;
	if (buf_reserve(text, expected < text->max ? expected + 1 : text->max) <
	    0)
		return -ENOMEM;
	for (;;) {
		if (text->len == text->max)
			return 1;
		/* The file grew meanwhile. */
		if (text->len == text->size && buf_reserve(text, 1) < 0)
			return -ENOMEM;
		n = read(fd, text->data + text->len, text->size - text->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		text->len += (size_t)n;
	}
}

/* Reading gigabytes would stop all else, and a sparse file has any number of
   them. What a change leaves as it was is not in here: a move changes ctime. */
static XXH128_hash_t hash_stamp(const struct tree_stamp *st)
{
	const uint64_t parts[] = { st->size, st->inode,
				   (uint64_t)st->mtime_ns };

	return XXH3_128bits_withSeed(parts, sizeof(parts), LOOK_HASH_MAX);
}

static void take_large(struct look *ret)
{
	ret->stamped = true;
	ret->bytes = ret->stamp.size;
	ret->hash = hash_stamp(&ret->stamp);
}

static void read_file(int root_fd, const char *path, struct buf *text,
		      struct look *ret)
{
	/* O_NONBLOCK: by now it may be a FIFO. */
	CLEANUP(close_p)
	int fd = look_open(root_fd, path, O_RDONLY | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0) {
		fail(ret, fd < 0 ? -fd : errno);
		return;
	}
	ret->kind = look_kind(st.st_mode);
	ret->stamp = look_stamp(&st);
	ret->names = st.st_nlink;
	if (ret->kind != LOOK_FILE)
		return;
	if (ret->stamp.size > LOOK_HASH_MAX && ret->stamp.size > text->max) {
		take_large(ret);
		return;
	}
	r = read_text(fd, text, (size_t)st.st_size);
	if (r < 0) {
		fail(ret, -r);
		return;
	}
	if (r == 0)
		take_text(ret, text);
	/* It may have grown meanwhile. */
	if (r > 0 || ret->len > LOOK_HASH_MAX) {
		ret->stamp.size = text->len;
		take_large(ret);
	}
}

/* Tries a file first: most are, and that saves a system call. */
void look_at(int root_fd, const char *path, struct buf *text, struct look *ret)
{
	*ret = (struct look){ 0 };
	for (int tries = 0; tries < 3; tries++) {
		CLEANUP(close_p) int fd = -1;

		read_file(root_fd, path, text, ret);
		if (ret->kind != LOOK_ABSENT)
			return;
		fd = find(root_fd, path, ret);
		if (fd >= 0 && ret->kind == LOOK_LINK)
			read_link(fd, text, ret);
		/* If a file has appeared since, it is read. */
		if (ret->kind != LOOK_FILE)
			return;
	}
	*ret = (struct look){ .kind = LOOK_UNREADABLE, .error = EAGAIN };
}
