/*
 * Handlers that create files: in the caller's name (cred.h), answered with the
 * new file's entry.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fs/node/cred.h"
#include "fs/node/keep.h"
#include "fs/node/pages.h"
#include "fs/node/pass.h"
#include "fs/node/record.h"
#include "fs/ops/ops.h"
#include "graph/base/cleanup.h"

/* Take on the caller's identity, and hold the directory `parent`. */
static int begin_make(fuse_req_t req, fuse_ino_t parent, struct hold *ret)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct fs *fs = fs_of(req);

	cred_assume(ctx->uid, ctx->gid, ctx->umask);
	return hold_begin(fs->inodes, fs_inode(fs, parent), ret);
}

/*
 * The entry of the file just created as `name`. If descriptors or memory are
 * short the caller gets an error, so the file is removed again, and `what`
 * records the failure. A file that was already removed outside the mount still
 * counts as created.
 */
static int entry_of_made(struct fs *fs, const struct hold *dir,
			 const char *name, struct record_line *what,
			 struct fuse_entry_param *e)
{
	int r = fs_entry(fs, dir->inode, name, e);

	assert(what->res == 0);
	if (r == 0)
		pages_made(fs, fs_inode(fs, e->ino), &e->attr);
	if (r != -EMFILE && r != -ENFILE && r != -ENOMEM)
		return r;
	if (unlinkat(dir->fd, name,
		     what->op == JOURNAL_MKDIR ? AT_REMOVEDIR : 0) == 0)
		what->res = r;
	return r;
}

/*
 * After the creation of `name` succeeded or failed (what->res): find its
 * entry, append the journal line, end the hold of the directory, reply.
 */
static void finish_make(fuse_req_t req, fuse_ino_t parent, struct hold *held,
			const char *name, struct record_line *what)
{
	struct fs *fs = fs_of(req);
	struct inode *dir = fs_inode(fs, parent);
	struct fuse_entry_param e = { 0 };
	struct inode *i;
	uint64_t n;
	int r = (int)what->res;

	assert(r <= 0);
	if (r == 0)
		r = entry_of_made(fs, held, name, what, &e);
	i = r == 0 ? fs_inode(fs, e.ino) : NULL;
	n = record_name(fs, req, dir, name, i, what);
	keep_made(req, i, NULL, &(struct keep_name){ dir, name }, n);
	hold_end(held);
	if (r < 0)
		(void)fuse_reply_err(req, -r);
	else if (fuse_reply_entry(req, &e) < 0)
		inodes_forget(fs->inodes, i, 1);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode, dev_t rdev)
{
	struct hold dir = HOLD_NONE;
	struct record_line what = { .op = JOURNAL_MKNOD, .off = -1, .len = -1 };
	char detail[32];

	what.res = begin_make(req, parent, &dir);
	if (what.res == 0 && mknodat(dir.fd, name, mode, rdev) < 0)
		what.res = -errno;
	(void)snprintf(detail, sizeof(detail), "mode=%o", (unsigned)mode);
	what.detail = detail;
	finish_make(req, parent, &dir, name, &what);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode)
{
	struct hold dir = HOLD_NONE;
	struct record_line what = { .op = JOURNAL_MKDIR, .off = -1, .len = -1 };

	what.res = begin_make(req, parent, &dir);
	if (what.res == 0 && mkdirat(dir.fd, name, mode) < 0)
		what.res = -errno;
	finish_make(req, parent, &dir, name, &what);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		       const char *name)
{
	struct hold dir = HOLD_NONE;
	struct record_line what = {
		.op = JOURNAL_SYMLINK, .path2 = target, .off = -1, .len = -1
	};

	what.res = begin_make(req, parent, &dir);
	if (what.res == 0 && symlinkat(target, dir.fd, name) < 0)
		what.res = -errno;
	finish_make(req, parent, &dir, name, &what);
}

/* Give `i` the new name `name` in `dir`, below. */
static int link_below(struct fs *fs, struct inode *i, struct inode *dir,
		      const char *name)
{
	CLEANUP(hold_end) struct hold file = HOLD_NONE;
	CLEANUP(hold_end) struct hold to = HOLD_NONE;
	int r = hold_begin(fs->inodes, i, &file);
	struct own_change change;
	struct fs_fd_name from;

	if (r == 0)
		r = hold_begin(fs->inodes, dir, &to);
	if (r < 0)
		return r;
	fs_fd_name(file.fd, &from);
	pages_change(fs, i, &change);
	if (linkat(fs->proc_fd, from.name, to.fd, name, AT_SYMLINK_FOLLOW) < 0)
		r = -errno;
	pages_changed(fs, &change);
	return r;
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent,
		    const char *newname)
{
	struct fs *fs = fs_of(req);
	struct inode *i = fs_inode(fs, ino);
	struct inode *dir = fs_inode(fs, newparent);
	struct record_line what = { .op = JOURNAL_LINK, .off = -1, .len = -1 };
	struct fuse_entry_param e = { 0 };
	char path2[RECORD_PATH_MAX];
	int r = link_below(fs, i, dir, newname);

	what.res = r;
	record_path_in(fs, dir, newname, path2, sizeof(path2));
	what.path2 = path2;
	/* Before the new name is in the table: `path` is the old one. */
	record_inode(fs, req, i, NULL, &what);
	if (r == 0)
		r = fs_entry_again(fs, i, dir, newname, &e);
	if (r < 0)
		(void)fuse_reply_err(req, -r);
	else if (fuse_reply_entry(req, &e) < 0)
		inodes_forget(fs->inodes, i, 1);
}

/*
 * The kernel sends CREATE when the name was missing a moment ago. If the file
 * was created outside the mount since then, it is opened as open(2) would do,
 * and *ret_created is false.
 */
static int open_created(struct fs *fs, int dir_fd, const char *name,
			mode_t mode, int flags, bool *ret_created)
{
	int fd = fs_openat(fs, dir_fd, name,
			   flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);

	*ret_created = fd >= 0;
	if (fd == -EEXIST && !(flags & O_EXCL))
		fd = fs_openat(fs, dir_fd, name,
			       (flags & ~O_CREAT) | O_NOFOLLOW, 0);
	return fd;
}

/*
 * Reply with entry and handle; always takes over `fd`. Line `made` created the
 * file; 0: it was there already.
 *
 * A new file opened with O_WRONLY uses direct I/O, not the kernel's pages: the
 * handle cannot be read or mapped, the next open would drop the pages anyway,
 * and the kernel does not ask for security.capability before the first write.
 * (Not done for an existing file: with O_TRUNC the kernel asks each time,
 * unless a write through its pages has found that there is none.)
 */
static void reply_created(fuse_req_t req, struct fuse_entry_param *e, int fd,
			  const struct keep_name *at, uint64_t made,
			  struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct inode *i = fs_inode(fs, e->ino);
	struct handle *h = handle_new(fs, i, fd, fi->flags);

	if (!h) {
		(void)close(fd);
		inodes_forget(fs->inodes, i, 1);
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	if (h->writable)
		h->opener = actors_get(fs->actors, fuse_req_ctx(req)->pid);
	keep_made(req, i, h, at, made);
	fi->fh = (uintptr_t)h;
	fi->direct_io = fs->directs && (fi->flags & O_ACCMODE) == O_WRONLY;
	pass_begin(req, h, &e->attr, fi);
	if (fuse_reply_create(req, e, fi) < 0) {
		pass_end(req, h);
		handle_free(fs, h);
		inodes_forget(fs->inodes, i, 1);
	}
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		      mode_t mode, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct inode *dir = fs_inode(fs, parent);
	struct record_line what = { .op = JOURNAL_CREATE,
				    .off = -1,
				    .len = -1 };
	struct fuse_entry_param e = { 0 };
	struct hold held = HOLD_NONE;
	bool created = false;
	uint64_t n = 0;
	int fd = begin_make(req, parent, &held), r = 0;

	if (fd == 0)
		fd = open_created(fs, held.fd, name, mode,
				  fi->flags & ~(O_DIRECT | O_APPEND), &created);
	what.res = fd < 0 ? fd : 0;
	if (created)
		r = entry_of_made(fs, &held, name, &what, &e);
	else if (fd >= 0)
		r = fs_entry(fs, dir, name, &e);
	hold_end(&held);
	if (!created && fd >= 0 && fi->flags & O_TRUNC)
		what = (struct record_line){ .op = JOURNAL_TRUNCATE,
					     .off = -1,
					     .detail = "open" };
	if (created || fd < 0 || fi->flags & O_TRUNC)
		n = record_name(fs, req, dir, name,
				fd >= 0 && r == 0 ? fs_inode(fs, e.ino) : NULL,
				&what);
	if (fd < 0 || r < 0) {
		if (fd >= 0)
			(void)close(fd);
		(void)fuse_reply_err(req, fd < 0 ? -fd : -r);
		return;
	}
	reply_created(req, &e, fd, &(struct keep_name){ dir, name },
		      created ? n : 0, fi);
}

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
/* The entry of an O_TMPFILE, which has no name, by its descriptor. */
static int nameless_entry(struct fs *fs, int fd, struct fuse_entry_param *e)
{
	struct inode *i;
	struct fs_fd_name name;
	int path_fd, r;

	*e = (struct fuse_entry_param){ 0 };
	fs_fd_name(fd, &name);
	path_fd = hold_openat(fs->inodes, fs->proc_fd, name.name, O_PATH, 0,
			      fs->inodes_below);
	if (path_fd < 0)
		return path_fd;
	if (fstat(path_fd, &e->attr) < 0) {
		r = -errno;
		(void)close(path_fd);
		return r;
	}
	r = inodes_admit(fs->inodes, NULL, NULL, path_fd, &e->attr, &i);
	if (r < 0)
		return r;
	pages_none(fs, i, &e->attr);
	pages_made(fs, i, &e->attr);
	fs_attr(fs, i, &e->attr);
	e->ino = fs_ino(fs, i);
	e->generation = i->id;
	e->attr_timeout = e->entry_timeout = fs->timeout;
	return 0;
}

static void op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode,
		       struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct inode *dir = fs_inode(fs, parent);
	struct record_line what = { .op = JOURNAL_TMPFILE,
				    .off = -1,
				    .len = -1 };
	struct fuse_entry_param e = { 0 };
	struct hold held = HOLD_NONE;
	uint64_t n;
	int fd = begin_make(req, parent, &held), r;

	if (fd == 0)
		fd = fs_openat(fs, held.fd, ".",
			       (fi->flags & ~(O_DIRECT | O_APPEND)) | O_TMPFILE,
			       mode);
	hold_end(&held);
	r = fd < 0 ? fd : nameless_entry(fs, fd, &e);
	what.res = r;
	if (r == 0)
		what.ino = fs_inode(fs, e.ino)->key.ino;
	n = record_inode(fs, req, dir, NULL, &what);
	if (r < 0) {
		if (fd >= 0)
			(void)close(fd);
		(void)fuse_reply_err(req, -r);
		return;
	}
	reply_created(req, &e, fd, NULL, n, fi);
}
#endif

void ops_make_fill(struct fuse_lowlevel_ops *ops)
{
	ops->mknod = op_mknod;
	ops->mkdir = op_mkdir;
	ops->symlink = op_symlink;
	ops->link = op_link;
	ops->create = op_create;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	ops->tmpfile = op_tmpfile;
#endif
}
