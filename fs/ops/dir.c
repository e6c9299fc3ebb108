/*
 * Handlers for listing directories. Positions are those of the file system
 * below, so seekdir(3) works as it does there; the kernel caches whole
 * listings until the directory changes.
 *
 * Where positions are valid for every descriptor (fs->dirs_stateless), the
 * kernel sends no OPENDIR: walking a cached tree costs no request. Elsewhere
 * (a merged overlay, an old tmpfs) a position belongs to the descriptor that
 * returned it, and an open directory has a handle.
 *
 * The kernel finds the end of a listing by asking for more. So each directory
 * keeps the position of its end and the stamp it had then (inode.end): while
 * the stamp is the same, that last request is answered without reading.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include "fs/base/limits.h"
#include "fs/node/pages.h"
#include "fs/node/record.h"
#include "fs/ops/ops.h"
#include "graph/base/cleanup.h"

/*
 * Entries from getdents64() that were not sent yet. A handle's stream needs no
 * lock: the kernel serializes reads of one open directory.
 */
struct dir_stream {
	int fd;
	off_t next; /* the position that buf + at stands for */
	size_t at, len;
	_Alignas(struct dirent64) char buf[FS_DIR_BUFFER];
};

static void stream_begin(struct dir_stream *s, int fd)
{
	s->fd = fd;
	s->next = 0;
	s->at = s->len = 0;
}

/* "." is quicker than the path in /proc, but needs search permission. */
static int reopen_dir(struct fs *fs, struct inode *i)
{
	CLEANUP(hold_end) struct hold dir = HOLD_NONE;
	int r = hold_begin(fs->inodes, i, &dir);
	int fd;

	if (r < 0)
		return r;
	fd = fs_openat(fs, dir.fd, ".", O_RDONLY | O_DIRECTORY, 0);
	return fd == -EACCES ? fs_reopen(fs, i, O_RDONLY | O_DIRECTORY) : fd;
}

static int open_dir(struct fs *fs, struct inode *i, struct handle **ret)
{
	struct handle *h;
	int fd = reopen_dir(fs, i);

	if (fd < 0)
		return fd;
	h = handle_new(fs, i, fd, O_RDONLY);
	if (!h) {
		(void)close(fd);
		return -ENOMEM;
	}
	h->dir = malloc(sizeof(*h->dir));
	if (!h->dir) {
		handle_free(fs, h);
		return -ENOMEM;
	}
	stream_begin(h->dir, fd);
	*ret = h;
	return 0;
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct inode *i = fs_inode(fs, ino);
	struct handle *h;
	struct stat st;
	int r;

	if (fs->dirs_stateless) {
		/* The kernel will send no OPENDIR again. */
		(void)fuse_reply_err(req, ENOSYS);
		return;
	}
	r = open_dir(fs, i, &h);
	if (r < 0) {
		(void)fuse_reply_err(req, -r);
		return;
	}
	record_read(fs, req, READS_LISTED, i);
	fi->fh = (uintptr_t)h;
	fi->cache_readdir = 1;
	fi->keep_cache = fstat(h->fd, &st) == 0 && pages_good(fs, i, &st);
	if (fuse_reply_open(req, fi) < 0)
		handle_free(fs, h);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino,
			  struct fuse_file_info *fi)
{
	(void)ino;
	handle_free(fs_of(req), fs_handle(fi));
	(void)fuse_reply_err(req, 0);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
			struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	CLEANUP(close_p) int fd = -1;

	(void)fi;
	fd = fs_reopen(fs, fs_inode(fs, ino), O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		(void)fuse_reply_err(req, -fd);
	else if ((datasync ? fdatasync(fd) : fsync(fd)) < 0)
		(void)fuse_reply_err(req, errno);
	else
		(void)fuse_reply_err(req, 0);
}

/* Go to position `off`, without reading. */
static int stream_seek(struct dir_stream *s, off_t off)
{
	/* Position 0 always reads again: rewinddir(3) shows new entries. */
	if (off == s->next && off != 0)
		return 0;
	if (lseek(s->fd, off, SEEK_SET) < 0)
		return -errno;
	s->next = off;
	s->at = s->len = 0;
	return 0;
}

/* The next entry, not consumed; NULL: the end, or *ret_error is set. */
static struct dirent64 *stream_peek(struct dir_stream *s, int *ret_error)
{
	ssize_t got;

	if (s->at == s->len) {
		got = getdents64(s->fd, s->buf, sizeof(s->buf));
		if (got < 0)
			*ret_error = -errno;
		if (got <= 0)
			return NULL;
		s->at = 0;
		s->len = (size_t)got;
	}
	return (struct dirent64 *)(void *)(s->buf + s->at);
}

static void stream_advance(struct dir_stream *s, const struct dirent64 *entry)
{
	s->next = entry->d_off;
	s->at += entry->d_reclen;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* A reply under construction. */
struct dir_listing {
	fuse_req_t req;
	struct inode *dir;
	bool plus;     /* each entry with its attributes */
	bool complete; /* there are no more */
	char *at;
	size_t room;
};

/* Bytes that the entry takes; more than l->room if it does not fit. */
static size_t add_plain(struct dir_listing *l, const struct dirent64 *entry)
{
	struct stat st = { .st_ino = entry->d_ino,
			   .st_mode = (mode_t)entry->d_type << 12 };

	return fuse_add_direntry(l->req, l->at, l->room, entry->d_name, &st,
				 entry->d_off);
}

/*
 * An entry with its attributes counts as a lookup. Without attributes: entries
 * whose attributes the kernel has cached, and those that vanished meanwhile,
 * which a plain listing would show too.
 */
static size_t add_plus(struct dir_listing *l, const struct dirent64 *entry)
{
	struct fs *fs = fs_of(l->req);
	struct fuse_entry_param e = { 0 };
	size_t used;

	if (is_dots(entry->d_name) ||
	    inodes_attr_cached(fs->inodes, l->dir, entry->d_name,
			       entry->d_ino) ||
	    fs_entry(fs, l->dir, entry->d_name, &e) < 0) {
		e = (struct fuse_entry_param){ 0 };
		e.attr.st_ino = entry->d_ino;
		e.attr.st_mode = (mode_t)entry->d_type << 12;
	}
	used = fuse_add_direntry_plus(l->req, l->at, l->room, entry->d_name, &e,
				      entry->d_off);
	if (used > l->room && e.ino)
		inodes_forget(fs->inodes, fs_inode(fs, e.ino), 1);
	return used;
}

/* Add entries from `off` on until the reply is full or l->complete. */
static int fill(struct dir_listing *l, struct dir_stream *s, off_t off)
{
	struct dirent64 *entry;
	size_t used;
	int r = stream_seek(s, off);

	while (r == 0 && (entry = stream_peek(s, &r))) {
		used = l->plus ? add_plus(l, entry) : add_plain(l, entry);
		if (used > l->room)
			return 0;
		l->at += used;
		l->room -= used;
		stream_advance(s, entry);
	}
	l->complete = r == 0;
	return r;
}

/* The directory's stamp, 0: unknown. */
static uint64_t state_of(struct fs *fs, struct inode *i)
{
	struct stat st;

	return fs_stat(fs, i, &st) < 0 ? 0 : inode_stamp(&st);
}

/* A mark for "the directory of this stamp ends at `off`"; 0: unknown. */
static uint64_t end_mark(uint64_t state, off_t off)
{
	const uint64_t facts[] = { state, (uint64_t)off };

	return state ? XXH3_64bits(facts, sizeof(facts)) | 1 : 0;
}

static int list_anew(struct fs *fs, struct dir_listing *l, off_t off)
{
	uint64_t state = state_of(fs, l->dir), end = end_mark(state, off);
	CLEANUP(close_p) int fd = -1;
	struct dir_stream s;
	int r;

	if (off != 0 && end && end == atomic_load(&l->dir->end))
		return 0;
	fd = reopen_dir(fs, l->dir);
	if (fd < 0)
		return fd;
	stream_begin(&s, fd);
	r = fill(l, &s, off);
	if (l->complete)
		atomic_store(&l->dir->end, end_mark(state, s.next));
	if (off == 0)
		record_read(fs, l->req, READS_LISTED, l->dir);
	return r;
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		 struct fuse_file_info *fi, bool plus)
{
	struct fs *fs = fs_of(req);
	struct handle *h = fs_handle(fi);
	char *reply = fs_buffer();
	struct dir_listing l = { .req = req,
				 .dir = fs_inode(fs, ino),
				 .plus = plus,
				 .at = reply,
				 .room = size < FS_REQUEST_MAX
						 ? size
						 : FS_REQUEST_MAX };
	int r = -ENOMEM;

	if (reply)
		r = h ? fill(&l, h->dir, off) : list_anew(fs, &l, off);
	/* An error after some entries will recur at the next request. */
	if (r < 0 && l.at == reply)
		(void)fuse_reply_err(req, -r);
	else
		(void)fuse_reply_buf(req, reply, (size_t)(l.at - reply));
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	list(req, ino, size, off, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
			   off_t off, struct fuse_file_info *fi)
{
	list(req, ino, size, off, fi, true);
}

void ops_dir_fill(struct fuse_lowlevel_ops *ops)
{
	ops->opendir = op_opendir;
	ops->readdir = op_readdir;
	ops->readdirplus = op_readdirplus;
	ops->releasedir = op_releasedir;
	ops->fsyncdir = op_fsyncdir;
}
