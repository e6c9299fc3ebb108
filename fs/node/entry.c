/*
 * Reopens descriptors, fills in entries and attributes for the kernel, says
 * how long it may cache them, and keeps the list of open handles.
 *
 * The kernel may cache for long: every directory is watched before its entry
 * is sent (watch.c), and a change made outside the mount is invalidated. Two
 * cases are not covered: a directory without a watch, and a file with several
 * names, since a change through another name is reported to that name's
 * directory only. There FS_TIMEOUT_SHORT makes such a change visible within a
 * second.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "fs/node/fs.h"
#include "fs/node/pages.h"
#include "fs/node/record.h"
#include "fs/node/watch.h"
#include "graph/base/cleanup.h"
#include "graph/base/message.h"

void fs_fd_name(int fd, struct fs_fd_name *ret)
{
	static const char dir[] = "/proc/self/fd/";
	char *at = ret->path + sizeof(ret->path) - 1;
	unsigned n = (unsigned)fd;

	*at = '\0';
	do {
		*--at = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	memcpy(ret->path, dir, sizeof(dir) - 1);
	memmove(ret->path + sizeof(dir) - 1, at, strlen(at) + 1);
	ret->name = ret->path + sizeof(dir) - 1;
}

/* Said once: the caller whose open fails learns it from its errno. */
static void note_refused(struct fs *fs)
{
	if (atomic_fetch_add(&fs->opens_refused, 1))
		return;
	message("the files open through the mount take all descriptors of the "
		"file system process; further opens fail with \"Too many open "
		"files\" until some are closed; raise 'ulimit -Hn'");
}

static int open_below(struct fs *fs, int dir_fd, const char *name, int flags,
		      mode_t mode, int below)
{
	int fd = hold_openat(fs->inodes, dir_fd, name, flags, mode, below);

	if (fd == -EMFILE || fd == -ENFILE)
		note_refused(fs);
	return fd;
}

int fs_openat(struct fs *fs, int dir_fd, const char *name, int flags,
	      mode_t mode)
{
	return open_below(fs, dir_fd, name, flags, mode, fs->files_below);
}

static int reopen(struct fs *fs, struct inode *i, int flags, int below)
{
	CLEANUP(hold_end) struct hold h = HOLD_NONE;
	int r = hold_begin(fs->inodes, i, &h);
	struct fs_fd_name name;

	if (r < 0)
		return r;
	fs_fd_name(h.fd, &name);
	return open_below(fs, fs->proc_fd, name.name, flags, 0, below);
}

int fs_reopen(struct fs *fs, struct inode *i, int flags)
{
	return reopen(fs, i, flags, fs->files_below);
}

int fs_stat(struct fs *fs, struct inode *i, struct stat *ret)
{
	CLEANUP(hold_end) struct hold h = HOLD_NONE;
	int r = hold_begin(fs->inodes, i, &h);

	if (r < 0)
		return r;
	return fstat(h.fd, ret) < 0 ? -errno : 0;
}

/* A duplicate does not wait for the directory below, so the lock may be held.
 */
static int duplicate(struct fs *fs, const struct inode *i)
{
	struct handle *h = NULL;
	int fd = -1;

	(void)pthread_mutex_lock(&fs->handles_lock);
	LIST_FOREACH(h, &fs->handles, open)
	{
		if (h->inode != i || atomic_load(&h->fd) < 0)
			continue;
		fd = fcntl(atomic_load(&h->fd), F_DUPFD_CLOEXEC, 0);
		break;
	}
	(void)pthread_mutex_unlock(&fs->handles_lock);
	return fd;
}

/* With O_PATH: a descriptor open for writing would keep others from executing
   the file. */
int fs_spare(void *ctx, const struct inode *i)
{
	struct fs *fs = ctx;
	CLEANUP(close_p) int copy = duplicate(fs, i);
	struct fs_fd_name name;
	int fd;

	if (copy < 0)
		return -ENOENT;
	fs_fd_name(copy, &name);
	fd = openat(fs->proc_fd, name.name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static pthread_key_t buffer_key;
static pthread_once_t buffer_once = PTHREAD_ONCE_INIT;

static void buffer_key_make(void)
{
	(void)pthread_key_create(&buffer_key, free);
}

char *fs_buffer(void)
{
	char *buffer;

	(void)pthread_once(&buffer_once, buffer_key_make);
	buffer = pthread_getspecific(buffer_key);
	if (buffer)
		return buffer;
	buffer = malloc(FS_REQUEST_MAX);
	if (buffer && pthread_setspecific(buffer_key, buffer) != 0) {
		free(buffer);
		return NULL;
	}
	return buffer;
}

void fs_attr(struct fs *fs, struct inode *i, struct stat *st)
{
	pages_before_attr(fs, i, st);
	atomic_store_explicit(&i->setid,
			      S_ISREG(st->st_mode) &&
				      (st->st_mode & (S_ISUID | S_ISGID)),
			      memory_order_relaxed);
	/*
	 * Inode numbers are unique per device, and our mount shows one device:
	 * files of a nested mount get numbers out of the way.
	 */
	if (st->st_dev != fs->root_dev)
		st->st_ino ^= st->st_dev << 40 | 1ULL << 63;
}

double fs_attr_timeout(struct fs *fs, const struct inode *dir,
		       const struct stat *st)
{
	if (!fs->watch ||
	    (dir ? !atomic_load(&dir->watched) : watch_incomplete(fs->watch)))
		return FS_TIMEOUT_SHORT;
	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		return FS_TIMEOUT_SHORT;
	return fs->timeout;
}

void fs_attr_sent(const struct fs *fs, struct inode *i, double timeout)
{
	atomic_store_explicit(&i->attr_cached,
			      timeout > FS_TIMEOUT_SHORT && fs->watch,
			      memory_order_relaxed);
}

static void fill_entry(struct fs *fs, struct inode *i, struct inode *parent,
		       struct fuse_entry_param *e)
{
	fs_attr(fs, i, &e->attr);
	e->ino = fs_ino(fs, i);
	e->generation = i->id;
	e->attr_timeout = fs_attr_timeout(fs, parent, &e->attr);
	e->entry_timeout = fs_attr_timeout(fs, parent, &(struct stat){ 0 });
	fs_attr_sent(fs, i, e->attr_timeout);
}

static int open_entry(struct fs *fs, struct inode *parent, const char *name)
{
	CLEANUP(hold_end) struct hold dir = HOLD_NONE;
	int r = hold_begin(fs->inodes, parent, &dir);

	return r < 0 ? r
		     : open_below(fs, dir.fd, name, O_PATH | O_NOFOLLOW, 0,
				  fs->inodes_below);
}

int fs_entry(struct fs *fs, struct inode *parent, const char *name,
	     struct fuse_entry_param *e)
{
	struct inode *i;
	int fd, r;

	*e = (struct fuse_entry_param){ 0 };
	fd = open_entry(fs, parent, name);
	if (fd < 0)
		return fd;
	if (fstat(fd, &e->attr) < 0) {
		r = -errno;
		(void)close(fd);
		return r;
	}
	r = inodes_admit(fs->inodes, parent, name, fd, &e->attr, &i);
	if (r < 0)
		return r;
	/* Watch first, then read the status: no change is missed. */
	if (r == 1 && S_ISDIR(i->type) && fs->watch) {
		watch_directory(fs->watch, i);
		(void)fs_stat(fs, i, &e->attr);
	}
	if (r == 1)
		pages_none(fs, i, &e->attr);
	fill_entry(fs, i, parent, e);
	return 0;
}

int fs_entry_again(struct fs *fs, struct inode *i, struct inode *parent,
		   const char *name, struct fuse_entry_param *e)
{
	int r;

	*e = (struct fuse_entry_param){ 0 };
	r = fs_stat(fs, i, &e->attr);
	if (r == 0)
		r = inodes_admit_again(fs->inodes, i, parent, name);
	if (r == 0)
		fill_entry(fs, i, parent, e);
	return r;
}

struct handle *handle_new(struct fs *fs, struct inode *i, int fd, int flags)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	atomic_init(&h->fd, fd);
	h->writable = (flags & O_ACCMODE) != O_RDONLY;
	assert(fd >= 0 || !h->writable);
	h->inode = inodes_ref(fs->inodes, i);
	atomic_fetch_add_explicit(&i->opens, 1, memory_order_relaxed);
	(void)pthread_mutex_lock(&fs->handles_lock);
	LIST_INSERT_HEAD(&fs->handles, h, open);
	fs->handles_count++;
	h->id = ++fs->handles_ever;
	(void)pthread_mutex_unlock(&fs->handles_lock);
	return h;
}

struct handle *handle_new_lazy(struct fs *fs, struct hold *hold)
{
	struct handle *h = handle_new(fs, hold->inode, -1, O_RDONLY);

	if (!h)
		return NULL;
	h->hold = *hold;
	*hold = (struct hold)HOLD_NONE;
	return h;
}

int handle_fd(struct fs *fs, struct handle *h)
{
	int none = -1;
	int fd = atomic_load(&h->fd);

	if (fd >= 0)
		return fd;
	assert(!h->writable);
	/* The open has succeeded already: this may use the last descriptor. */
	fd = reopen(fs, h->inode, O_RDONLY, INT32_MAX);
	if (fd < 0)
		return fd;
	if (!atomic_compare_exchange_strong(&h->fd, &none, fd)) {
		/* Another worker opened it first; `none` is its descriptor. */
		(void)close(fd);
		return none;
	}
	hold_end(&(struct hold){ h->hold.inode, h->hold.fd });
	return fd;
}

void handle_free(struct fs *fs, struct handle *h)
{
	unsigned opens;
	int fd;

	if (!h)
		return;
	(void)pthread_mutex_lock(&fs->handles_lock);
	assert(fs->handles_count > 0);
	LIST_REMOVE(h, open);
	fs->handles_count--;
	(void)pthread_mutex_unlock(&fs->handles_lock);
	fd = atomic_load(&h->fd);
	if (fd >= 0)
		(void)close(fd);
	else
		hold_end(&h->hold);
	opens = atomic_fetch_sub_explicit(&h->inode->opens, 1,
					  memory_order_relaxed);
	assert(opens > 0);
	inodes_unref(fs->inodes, h->inode);
	actor_unref(h->opener);
	free(h->dir);
	free(h);
}

uint64_t handles_count(struct fs *fs)
{
	uint64_t n;

	(void)pthread_mutex_lock(&fs->handles_lock);
	n = fs->handles_count;
	(void)pthread_mutex_unlock(&fs->handles_lock);
	return n;
}

size_t handles_inodes(struct fs *fs, struct inode ***ret)
{
	struct handle *h = NULL;
	size_t n = 0;

	(void)pthread_mutex_lock(&fs->handles_lock);
	*ret = calloc(fs->handles_count + 1, sizeof(struct inode *));
	LIST_FOREACH(h, &fs->handles, open)
	{
		if (*ret && S_ISREG(h->inode->type))
			(*ret)[n++] = inodes_ref(fs->inodes, h->inode);
	}
	assert(n <= fs->handles_count);
	(void)pthread_mutex_unlock(&fs->handles_lock);
	return n;
}

void handles_end(struct fs *fs)
{
	struct handle *h;

	while ((h = LIST_FIRST(&fs->handles))) {
		record_close(fs, NULL, h);
		handle_free(fs, h);
	}
	assert(fs->handles_count == 0);
}

bool fs_in_group(fuse_req_t req, gid_t gid)
{
	gid_t groups[64];
	int n = fuse_req_getgroups(req, 64, groups);

	if (fuse_req_ctx(req)->gid == gid)
		return true;
	for (int k = 0; k < n && k < 64; k++)
		if (groups[k] == gid)
			return true;
	/* More groups than fit, or unknown: the set-group-id bit stays. */
	return n < 0 || n > 64;
}

void fs_drop_setid(fuse_req_t req, struct inode *i, int fd)
{
	struct fs *fs = fs_of(req);
	struct fs_fd_name name;
	struct stat st;
	mode_t mode;

	/*
	 * Below, root writes, and the kernel keeps the bits for root. We apply
	 * its rule for the caller: set-group-id is dropped if the file is
	 * group-executable, or if the caller is not in its group.
	 */
	if (!fs->root || fuse_req_ctx(req)->uid == 0 || !atomic_load(&i->setid))
		return;
	if (fstat(fd, &st) < 0)
		return;
	mode = st.st_mode & 07777 & ~(mode_t)S_ISUID;
	if (st.st_mode & S_IXGRP || !fs_in_group(req, st.st_gid))
		mode &= ~(mode_t)S_ISGID;
	fs_fd_name(fd, &name);
	(void)fchmodat(fs->proc_fd, name.name, mode, 0);
}
