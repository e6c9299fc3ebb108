/*
 * Handlers that look up, remove or rename names. The kernel holds the lock of
 * the directory while it waits for a change of its names, so the changes of
 * one directory come one at a time, and our table changes in the same order as
 * the directory below.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/node/keep.h"
#include "fs/node/pages.h"
#include "fs/node/record.h"
#include "fs/node/watch.h"
#include "fs/ops/ops.h"

static void reply_missing(fuse_req_t req, struct inode *dir, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param nothing = { .entry_timeout = fs->timeout };

	if (fs->watch && atomic_load(&dir->watched) &&
	    watch_is_probed_everywhere(name))
		(void)fuse_reply_entry(req, &nothing);
	else
		(void)fuse_reply_err(req, ENOENT);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct inode *dir = fs_inode(fs, parent);
	struct fuse_entry_param e;
	int r;

	r = fs_entry(fs, dir, name, &e);

	if (r == -ENOENT) {
		record_miss(fs, req, dir, name);
		reply_missing(req, dir, name);
		return;
	}
	if (r < 0) {
		(void)fuse_reply_err(req, -r);
		return;
	}
	/* The reply did not arrive: the kernel will send no FORGET for it. */
	if (fuse_reply_entry(req, &e) < 0)
		inodes_forget(fs->inodes, fs_inode(fs, e.ino), 1);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	struct fs *fs = fs_of(req);

	inodes_forget(fs->inodes, fs_inode(fs, ino), nlookup);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	struct fs *fs = fs_of(req);

	for (size_t n = 0; n < count; n++)
		inodes_forget(fs->inodes, fs_inode(fs, forgets[n].ino),
			      forgets[n].nlookup);
	fuse_reply_none(req);
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name,
			int flags, enum journal_op op)
{
	struct fs *fs = fs_of(req);
	struct inode *dir = fs_inode(fs, parent);
	struct inode *i = inodes_find(fs->inodes, dir, name);
	struct own_change change;
	int r;

	keep_removed(req, dir, name, i, &change);
	r = unlinkat(dir->fd, name, flags) < 0 ? -errno : 0;
	pages_changed(fs, &change);
	if (r == 0)
		inodes_drop_name(fs->inodes, dir, name);
	record_name(fs, req, dir, name, i,
		    &(struct record_line){
			    .op = op, .off = -1, .len = -1, .res = r });
	inodes_unref(fs->inodes, i);
	(void)fuse_reply_err(req, -r);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, 0, JOURNAL_UNLINK);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, AT_REMOVEDIR, JOURNAL_RMDIR);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		      fuse_ino_t newparent, const char *newname,
		      unsigned int flags)
{
	struct fs *fs = fs_of(req);
	struct inode *dir = fs_inode(fs, parent);
	struct inode *to = fs_inode(fs, newparent);
	struct inode *i = inodes_find(fs->inodes, dir, name);
	bool exchange = flags & RENAME_EXCHANGE;
	struct record_line what = { .op = exchange ? JOURNAL_EXCHANGE
						   : JOURNAL_RENAME,
				    .off = -1,
				    .len = -1 };
	struct own_change change, replaced;
	char path2[RECORD_PATH_MAX];
	struct inode *old =
		exchange ? NULL : inodes_find(fs->inodes, to, newname);
	int r = 0;

	keep_replaced(req, to, newname, old, &replaced);
	pages_change(fs, i, &change);
	if (renameat2(dir->fd, name, to->fd, newname, flags) < 0)
		r = -errno;
	pages_changed(fs, &change);
	pages_changed(fs, &replaced);
	what.res = r;
	/* Before the table changes: the line has the old paths. */
	record_path_in(fs, to, newname, path2, sizeof(path2));
	what.path2 = path2;
	record_name(fs, req, dir, name, i, &what);
	if (r == 0 && exchange)
		inodes_swap_names(fs->inodes, dir, name, to, newname);
	else if (r == 0)
		inodes_move_name(fs->inodes, dir, name, to, newname);
	if (r == 0 && !exchange)
		keep_renamed(fs, i, &(struct keep_name){ dir, name },
			     &(struct keep_name){ to, newname }, old != NULL);
	/* The watch thread may have dropped the old name already. */
	if (r == 0 && !exchange && i)
		inodes_add_name(fs->inodes, i, to, newname);
	inodes_unref(fs->inodes, old);
	inodes_unref(fs->inodes, i);
	(void)fuse_reply_err(req, -r);
}

void ops_name_fill(struct fuse_lowlevel_ops *ops)
{
	ops->lookup = op_lookup;
	ops->forget = op_forget;
	ops->forget_multi = op_forget_multi;
	ops->unlink = op_unlink;
	ops->rmdir = op_rmdir;
	ops->rename = op_rename;
}
