/*
 * Handlers for the content of files. The kernel keeps pages across opens;
 * writes through the mount update them, and an open that finds the file
 * changed outside the mount drops them. Large files are read by passthrough
 * (pass.h).
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "fs/node/cred.h"
#include "fs/node/keep.h"
#include "fs/node/pages.h"
#include "fs/node/pass.h"
#include "fs/node/record.h"
#include "fs/node/watch.h"
#include "fs/ops/ops.h"
#include "graph/base/cleanup.h"

/*
 * O_APPEND is handled per write (write_end()); only an append-only file
 * (chattr +a) has to be opened with it.
 */
static int open_below(struct fs *fs, struct inode *i, int flags)
{
	int fd;

	flags &= ~(O_NOFOLLOW | O_CREAT | O_EXCL | O_DIRECT);
	fd = fs_reopen(fs, i, flags & ~O_APPEND);
	if (fd == -EPERM && flags & O_APPEND)
		fd = fs_reopen(fs, i, flags);
	return fd;
}

/*
 * Most opens read only pages that the kernel has cached, and no READ follows.
 * So a file that was opened before and is unchanged is opened below by its
 * first READ, if there is one; searching a tree takes a tenth less time. Only
 * where that later open cannot fail: we may open it whatever its mode, the
 * handle holds the inode's descriptor (*ret_hold) until then, and O_NOATIME was
 * not given.
 */
static bool may_open_lazily(struct fs *fs, struct inode *i, int flags,
			    struct stat *ret, struct hold *ret_hold)
{
	if (flags & (O_ACCMODE | O_TRUNC | O_NOATIME) || fs->flush ||
	    !atomic_load_explicit(&i->readable, memory_order_relaxed))
		return false;
	return hold_begin(fs->inodes, i, ret_hold) == 0 &&
	       fstat(ret_hold->fd, ret) == 0 &&
	       inode_stamp(ret) == atomic_load(&i->stamp) &&
	       !pass_would(fs, ret) && cred_covers(ret);
}

/* Decide whether the kernel may keep its pages of the file. */
static void decide_pages(fuse_req_t req, struct handle *h, struct stat *st,
			 struct fuse_file_info *fi)
{
	int fd = atomic_load(&h->fd);

	assert(fd >= 0 || !(fi->flags & O_TRUNC));
	if (fd >= 0 && fstat(fd, st) < 0)
		*st = (struct stat){ 0 };
	if (!(fi->flags & O_TRUNC))
		fi->keep_cache = pages_good(fs_of(req), h->inode, st);
}

static const struct record_line truncated = { .op = JOURNAL_TRUNCATE,
					      .off = -1,
					      .detail = "open" };

/* `change`: the open truncated the file; NULL: it did not. */
static void reply_opened(fuse_req_t req, struct handle *h, struct stat *st,
			 struct keep_change *change, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct inode *i = h->inode;

	fi->fh = (uintptr_t)h;
	if (h->writable)
		h->opener = actors_get(fs->actors, fuse_req_ctx(req)->pid);
	if ((fi->flags & O_ACCMODE) != O_WRONLY) {
		atomic_store_explicit(&i->readable, true, memory_order_relaxed);
		record_read(fs, req, READS_OPENED, i);
	}
	if (atomic_load_explicit(&i->linked, memory_order_relaxed))
		watch_poll_open(fs->watch);
	if (change) {
		fs_drop_setid(req, i, atomic_load(&h->fd));
		keep_record(req, change, h, &truncated);
	}
	decide_pages(req, h, st, fi);
	pass_begin(req, h, st, fi);
	if (fuse_reply_open(req, fi) < 0) {
		pass_end(req, h);
		handle_free(fs, h);
	}
}

/* Open below, truncating: a change of content. A descriptor or an error. */
static int open_truncating(fuse_req_t req, struct inode *i, int flags,
			   struct keep_change *change)
{
	struct fs *fs = fs_of(req);
	int fd;

	keep_change(req, i, NULL, change);
	fd = open_below(fs, i, flags);
	keep_changed(fs, change);
	if (fd < 0)
		keep_failed(fs, change);
	return fd;
}

/* NULL: it has to be opened now. */
static struct handle *open_lazily(struct fs *fs, struct inode *i, int flags,
				  struct stat *ret)
{
	CLEANUP(hold_end) struct hold hold = HOLD_NONE;

	if (!may_open_lazily(fs, i, flags, ret, &hold))
		return NULL;
	return handle_new_lazy(fs, &hold);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct inode *i = fs_inode(fs, ino);
	bool truncates = fi->flags & O_TRUNC;
	struct keep_change change;
	struct stat st;
	struct handle *h = open_lazily(fs, i, fi->flags, &st);
	int fd = -1;

	if (!h) {
		fd = truncates ? open_truncating(req, i, fi->flags, &change)
			       : open_below(fs, i, fi->flags);
		if (fd < 0) {
			(void)fuse_reply_err(req, -fd);
			return;
		}
		h = handle_new(fs, i, fd, fi->flags);
	}
	if (h) {
		reply_opened(req, h, &st, truncates ? &change : NULL, fi);
		return;
	}
	if (truncates)
		keep_record(req, &change, NULL, &truncated);
	close_p(&fd);
	(void)fuse_reply_err(req, ENOMEM);
}

static void op_release(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *h = fs_handle(fi);

	(void)ino;
	pass_end(req, h);
	keep_released(fs, h, record_close(fs, req, h));
	handle_free(fs, h);
	(void)fuse_reply_err(req, 0);
}

/*
 * Needed only where close(2) can return an error (network file systems):
 * closing a duplicate is the way to get it and keep the handle.
 */
static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = fs_handle(fi);
	int fd;

	(void)ino;
	if (!fs_of(req)->flush) {
		(void)fuse_reply_err(req, ENOSYS);
		return;
	}
	fd = dup(h->fd);
	(void)fuse_reply_err(req, fd < 0 || close(fd) < 0 ? errno : 0);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		     struct fuse_file_info *fi)
{
	int fd = handle_fd(fs_of(req), fs_handle(fi));

	(void)ino;
	if (fd < 0)
		(void)fuse_reply_err(req, -fd);
	else if ((datasync ? fdatasync(fd) : fsync(fd)) < 0)
		(void)fuse_reply_err(req, errno);
	else
		(void)fuse_reply_err(req, 0);
}

/*
 * Reads into the memory that the request's ring shares with the kernel. False:
 * the request came through /dev/fuse.
 */
static bool read_to_ring(fuse_req_t req, int fd, size_t size, off_t off)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
	size_t room;
	ssize_t got;
	char *data;

	if (fuse_req_get_payload(req, &data, &room, NULL) < 0)
		return false;
	got = pread(fd, data, size < room ? size : room, off);
	if (got < 0)
		(void)fuse_reply_err(req, errno);
	else
		(void)fuse_reply_buf(req, data, (size_t)got);
	return true;
#else
	(void)req;
	(void)fd;
	(void)size;
	(void)off;
	return false;
#endif
}

/*
 * Splices the pages of the file below to the kernel. For small reads the
 * set-up costs more than a copy.
 */
static void read_by_splice(fuse_req_t req, int fd, size_t size, off_t off)
{
	struct fuse_bufvec data = FUSE_BUFVEC_INIT(size);

	data.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	data.buf[0].fd = fd;
	data.buf[0].pos = off;
	(void)fuse_reply_data(req, &data, 0);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	int fd = handle_fd(fs_of(req), fs_handle(fi));
	char *buffer;
	ssize_t got;

	(void)ino;
	if (fd < 0) {
		(void)fuse_reply_err(req, -fd);
		return;
	}
	if (read_to_ring(req, fd, size, off))
		return;
	if (size >= FS_SPLICE_MIN) {
		read_by_splice(req, fd, size, off);
		return;
	}
	buffer = fs_buffer();
	if (!buffer) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	if (size > FS_REQUEST_MAX)
		size = FS_REQUEST_MAX;
	got = pread(fd, buffer, size, off);
	if (got < 0)
		(void)fuse_reply_err(req, errno);
	else
		(void)fuse_reply_buf(req, buffer, (size_t)got);
}

/*
 * Append at the end of the file below, which may differ from the end that the
 * kernel assumes if the file is appended to outside the mount. In that case
 * the kernel's attributes are invalidated.
 */
static ssize_t write_end(struct fs *fs, struct inode *i, int fd,
			 const struct iovec *data, off_t *off)
{
	struct stat st;
	off_t believed = *off;

	if (fstat(fd, &st) == 0)
		*off = st.st_size;
	if (*off != believed)
		(void)fuse_lowlevel_notify_inval_inode(fs->session,
						       fs_ino(fs, i), -1, 0);
	return pwritev2(fd, data, 1, *off, RWF_APPEND);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf,
		     size_t size, off_t off, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *h = fs_handle(fi);
	struct iovec data = { .iov_len = size };
	struct keep_change change;
	ssize_t put;

	(void)ino;
	/* iov_base is not const. */
	memcpy(&data.iov_base, &buf, sizeof(buf));
	keep_change(req, h->inode, h, &change);
	/* Write-back of a mapping has its own offset, O_APPEND or not. */
	if (fi->flags & O_APPEND && !fi->writepage)
		put = write_end(fs, h->inode, h->fd, &data, &off);
	else
		put = pwrite(h->fd, buf, size, off);
	if (put < 0)
		put = -errno;
	if (put > 0) {
		atomic_store_explicit(&h->wrote, true, memory_order_relaxed);
		fs_drop_setid(req, h->inode, h->fd);
	}
	keep_changed(fs, &change);
	keep_record(req, &change, h,
		    &(struct record_line){ .op = fi->writepage ? JOURNAL_MMAP
							       : JOURNAL_WRITE,
					   .off = off,
					   .len = put < 0 ? (int64_t)size : put,
					   .res = put });
	if (put < 0)
		(void)fuse_reply_err(req, (int)-put);
	else
		(void)fuse_reply_write(req, (size_t)put);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
			 off_t length, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *h = fs_handle(fi);
	struct keep_change change;
	char detail[32];
	int r;

	(void)ino;
	keep_change(req, h->inode, h, &change);
	r = fallocate(h->fd, mode, off, length) < 0 ? -errno : 0;
	if (r == 0)
		fs_drop_setid(req, h->inode, h->fd);
	keep_changed(fs, &change);
	(void)snprintf(detail, sizeof(detail), "mode=%d", mode);
	keep_record(req, &change, h,
		    &(struct record_line){ .op = JOURNAL_FALLOCATE,
					   .off = off,
					   .len = length,
					   .res = r,
					   .detail = detail });
	(void)fuse_reply_err(req, -r);
}

/* NOLINTNEXTLINE(readability-function-size): libfuse's signature. */
static void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
			       struct fuse_file_info *fi_in, fuse_ino_t ino_out,
			       off_t off_out, struct fuse_file_info *fi_out,
			       size_t len, int flags)
{
	struct fs *fs = fs_of(req);
	struct handle *from = fs_handle(fi_in), *to = fs_handle(fi_out);
	struct record_line what = { .op = JOURNAL_COPY, .off = off_out };
	struct keep_change change;
	char source[RECORD_PATH_MAX];
	int from_fd = handle_fd(fs, from);
	ssize_t copied;

	(void)ino_in;
	(void)ino_out;
	if (from_fd < 0) {
		(void)fuse_reply_err(req, -from_fd);
		return;
	}
	keep_change(req, to->inode, to, &change);
	copied = copy_file_range(from_fd, &off_in, to->fd, &off_out, len,
				 (unsigned)flags);
	what.res = copied < 0 ? -errno : copied;
	what.len = copied < 0 ? (int64_t)len : copied;
	if (copied > 0) {
		atomic_store(&to->wrote, true);
		fs_drop_setid(req, to->inode, to->fd);
	}
	keep_changed(fs, &change);
	record_path(fs, from->inode, source, sizeof(source));
	what.path2 = source;
	keep_record(req, &change, to, &what);
	if (copied < 0)
		(void)fuse_reply_err(req, (int)-what.res);
	else
		(void)fuse_reply_write(req, (size_t)copied);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		     struct fuse_file_info *fi)
{
	int fd = handle_fd(fs_of(req), fs_handle(fi));
	off_t at;

	(void)ino;
	if (fd < 0) {
		(void)fuse_reply_err(req, -fd);
		return;
	}
	at = lseek(fd, off, whence);
	if (at < 0)
		(void)fuse_reply_err(req, errno);
	else
		(void)fuse_reply_lseek(req, at);
}

void ops_file_fill(struct fuse_lowlevel_ops *ops)
{
	ops->open = op_open;
	ops->release = op_release;
	ops->flush = op_flush;
	ops->fsync = op_fsync;
	ops->read = op_read;
	ops->write = op_write;
	ops->fallocate = op_fallocate;
	ops->copy_file_range = op_copy_file_range;
	ops->lseek = op_lseek;
}
