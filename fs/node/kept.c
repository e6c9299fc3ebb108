/*
 * The copies whose lines the tape has not read are in a ring, oldest first;
 * those it has read leave the ring when the next copy is made. The ring has
 * room for FS_KEPT_FILES, and its memory is used from the first copy on.
 *
 * A name is the time the mount began, in hexadecimal, and a number. No line
 * names a file before it is complete, so it needs no temporary name.
 */
#include "fs/node/kept.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "fs/base/lock.h"
#include "fs/node/cred.h"
#include "fs/node/fs.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tape/journal/progress.h"

/* A NUL is looked for here before the rest is read. */
#define FIRST_BYTES (8u << 10)

struct waiting {
	uint64_t line;
	uint64_t files;
	uint64_t bytes;
};

struct kept {
	int dir_fd;
	const struct progress *progress;
	uint64_t began;
	atomic_ullong count; /* for names */

	pthread_mutex_t lock; /* a leaf */
	/* Protected by lock. */
	struct kept_stats now; /* copies being made included */
	struct waiting *ring;
	size_t first, used;
};

/* Nobody but us wrote these files: a stranger in the directory counts too. */
static int count_left(struct kept *k, struct kept_stats *ret)
{
	CLEANUP(closedir_p) DIR *dir = NULL;
	struct dirent *entry;
	struct stat st;
	int fd = openat(k->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		int r = -errno;

		close_p(&fd);
		return r;
	}
	/* One stream, one thread: readdir() is safe on that. */
	while ((entry = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe) */
		if (fstatat(k->dir_fd, entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		ret->files++;
		ret->bytes += (uint64_t)st.st_size;
	}
	return 0;
}

static int open_dir(int state_dir_fd)
{
	int fd;

	if (mkdirat(state_dir_fd, JOURNAL_KEPT, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(state_dir_fd, JOURNAL_KEPT,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* The umask is the user's. */
	(void)fchmod(fd, 0700);
	return fd;
}

static void push_locked(struct kept *k, struct waiting w)
{
	assert(k->used < FS_KEPT_FILES);
	k->ring[(k->first + k->used++) % FS_KEPT_FILES] = w;
}

/* Copies that the tape has read do not wait any more. */
static void pop_read_locked(struct kept *k)
{
	uint64_t line = progress_line(k->progress);

	for (; k->used && k->ring[k->first].line <= line; k->used--) {
		const struct waiting *w = &k->ring[k->first];

		assert(k->now.files >= w->files && k->now.bytes >= w->bytes);
		k->now.files -= w->files;
		k->now.bytes -= w->bytes;
		k->first = (k->first + 1) % FS_KEPT_FILES;
	}
}

static int init(struct kept *k, int state_dir_fd, uint64_t head)
{
	int r;

	k->dir_fd = open_dir(state_dir_fd);
	if (k->dir_fd < 0)
		return k->dir_fd;
	k->ring = calloc(FS_KEPT_FILES, sizeof(*k->ring));
	if (!k->ring)
		return -ENOMEM;
	r = count_left(k, &k->now);
	if (r == 0 && k->now.files)
		push_locked(k, (struct waiting){ .line = head,
						 .files = k->now.files,
						 .bytes = k->now.bytes });
	return r;
}

int kept_new(int state_dir_fd, const struct progress *progress, uint64_t head,
	     struct kept **ret)
{
	struct kept *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	lock_init_adaptive(&k->lock);
	k->dir_fd = -1;
	k->progress = progress;
	k->began = (uint64_t)clock_wall_ns();
	r = init(k, state_dir_fd, head);
	if (r < 0) {
		kept_free(k);
		return r;
	}
	*ret = k;
	return 0;
}

void kept_free(struct kept *k)
{
	if (!k)
		return;
	close_p(&k->dir_fd);
	(void)pthread_mutex_destroy(&k->lock);
	free(k->ring);
	free(k);
}

/* Take room for one file of `bytes`, or -ENOSPC. */
static int reserve(struct kept *k, uint64_t bytes)
{
	int r = 0;

	(void)pthread_mutex_lock(&k->lock);
	pop_read_locked(k);
	if (k->now.files >= FS_KEPT_FILES ||
	    k->now.bytes + bytes > FS_KEPT_BYTES) {
		r = -ENOSPC;
	} else {
		k->now.files++;
		k->now.bytes += bytes;
	}
	(void)pthread_mutex_unlock(&k->lock);
	return r;
}

static void give_back(struct kept *k, uint64_t bytes)
{
	(void)pthread_mutex_lock(&k->lock);
	assert(k->now.files > 0 && k->now.bytes >= bytes);
	k->now.files--;
	k->now.bytes -= bytes;
	(void)pthread_mutex_unlock(&k->lock);
}

/* Reads up to `want` bytes from `at` on; fewer at the end of the file. */
static ssize_t read_some(int fd, char *buffer, size_t want, off_t at)
{
	size_t have = 0;

	while (have < want) {
		ssize_t got =
			pread(fd, buffer + have, want - have, at + (off_t)have);

		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

/*
 * The access time stays what it is where we may ask for that: the file is
 * ours, or we are root.
 */
static int open_to_copy(int proc_fd, int path_fd)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct fs_fd_name name;
	int fd;

	fs_fd_name(path_fd, &name);
	fd = openat(proc_fd, name.name, flags | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = openat(proc_fd, name.name, flags);
	return fd < 0 ? -errno : fd;
}

/* The text of `fd` into a buffer of FS_REQUEST_MAX bytes; its length. */
static ssize_t read_text(int fd, char *buffer)
{
	ssize_t first = read_some(fd, buffer, FIRST_BYTES, 0), rest = 0;
	char more;

	_Static_assert(JOURNAL_KEPT_MAX == FS_REQUEST_MAX, "it fits");
	if (first < 0)
		return first;
	if (memchr(buffer, '\0', (size_t)first))
		return -EMEDIUMTYPE;
	if (first == FIRST_BYTES)
		rest = read_some(fd, buffer + first,
				 JOURNAL_KEPT_MAX - FIRST_BYTES, first);
	if (rest < 0)
		return rest;
	if (memchr(buffer + first, '\0', (size_t)rest))
		return -EMEDIUMTYPE;
	if (first + rest == JOURNAL_KEPT_MAX &&
	    read_some(fd, &more, 1, JOURNAL_KEPT_MAX) != 0)
		return -EFBIG;
	return first + rest;
}

static ssize_t read_file(int proc_fd, int path_fd, char *buffer)
{
	CLEANUP(close_p) int fd = open_to_copy(proc_fd, path_fd);

	return fd < 0 ? fd : read_text(fd, buffer);
}

static ssize_t read_version(int proc_fd, int path_fd, char *buffer,
			    int64_t *ret_len)
{
	struct stat st;
	ssize_t len;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode)) {
		*ret_len = st.st_size;
		return st.st_size > JOURNAL_KEPT_MAX
			       ? -EFBIG
			       : read_file(proc_fd, path_fd, buffer);
	}
	assert(S_ISLNK(st.st_mode));
	len = readlinkat(path_fd, "", buffer, PATH_MAX);
	return len < 0 ? -errno : len;
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t put = write(fd, text, len);

		if (put < 0)
			return -errno;
		text += put;
		len -= (size_t)put;
	}
	return 0;
}

static int write_copy(struct kept *k, const char *text, struct kept_file *f)
{
	int fd, r;

	(void)snprintf(f->name, sizeof(f->name), "%" PRIx64 "-%llu", k->began,
		       atomic_fetch_add(&k->count, 1) + 1);
	/* The thread may have another user's identity. */
	cred_assume(geteuid(), getegid(), 077);
	fd = openat(k->dir_fd, f->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text, (size_t)f->len);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(k->dir_fd, f->name, 0);
	return r;
}

int kept_copy(struct kept *k, int proc_fd, int path_fd, struct kept_file *ret)
{
	char *buffer = fs_buffer();
	ssize_t len;
	int r;

	*ret = (struct kept_file){ .len = -1 };
	if (!buffer)
		return -ENOMEM;
	len = read_version(proc_fd, path_fd, buffer, &ret->len);
	if (len < 0)
		return (int)len;
	ret->len = len;
	r = reserve(k, (uint64_t)len);
	if (r < 0)
		return r;
	r = write_copy(k, buffer, ret);
	if (r < 0)
		give_back(k, (uint64_t)len);
	return r;
}

void kept_done(struct kept *k, const struct kept_file *f, uint64_t n)
{
	(void)pthread_mutex_lock(&k->lock);
	push_locked(k, (struct waiting){ .line = n,
					 .files = 1,
					 .bytes = (uint64_t)f->len });
	(void)pthread_mutex_unlock(&k->lock);
}

void kept_drop(struct kept *k, const struct kept_file *f)
{
	(void)unlinkat(k->dir_fd, f->name, 0);
	give_back(k, (uint64_t)f->len);
}

void kept_stat(struct kept *k, struct kept_stats *ret)
{
	(void)pthread_mutex_lock(&k->lock);
	pop_read_locked(k);
	*ret = k->now;
	(void)pthread_mutex_unlock(&k->lock);
}
