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
#include <sys/stat.h>
#include <unistd.h>

#include "fs/node/keep.h"
#include "fs/node/pages.h"
#include "fs/node/record.h"
#include "fs/node/watch.h"
#include "fs/ops/ops.h"
#include "tape/journal/scope.h"

/* Search tools and version control look for these in every directory. */
static const char *const probed_everywhere[] = {
	".git",	   ".gitignore", ".gitattributes", ".gitmodules",
	".ignore", ".rgignore",	 ".fdignore",	   ".hgignore",
	".hg",	   ".jj",	 ".svn",
};

static bool is_probed_everywhere(const char *name)
{
	size_t n = sizeof(probed_everywhere) / sizeof(*probed_everywhere);

	if (name[0] != '.')
		return false;
	for (size_t k = 0; k < n; k++)
		if (strcmp(name, probed_everywhere[k]) == 0)
			return true;
	return false;
}

/* Files that the tape does not follow are nobody's dependency. */
static bool is_followed(struct fs *fs, struct inode *dir, const char *name)
{
	char path[RECORD_PATH_MAX];

	record_path_in(fs, dir, name, path, sizeof(path));
	return scope_of(path) != SCOPE_NONE;
}

/*
 * The kernel may cache that a name is missing, which saves a request per look;
 * then we are not told who looked. A name that a process looked for and missed
 * is one of its dependencies, and has to reach us each time.
 */
static void reply_missing(fuse_req_t req, struct inode *dir, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param nothing = { .entry_timeout = fs->timeout };
	bool followed = is_followed(fs, dir, name);

	if (followed)
		record_miss(fs, req, dir, name);
	if (fs->watch && atomic_load(&dir->watched) &&
	    (!followed || is_probed_everywhere(name)))
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

/* A name about to be changed, and what the table knows by that name. */
struct changed_name {
	struct inode *dir;
	const char *name;
	struct inode *i; /* a reference, NULL: unknown */
	struct hold at, file;
};

/*
 * The file is held too: until the table has followed, its names may be wrong,
 * and without any name it has no other way back.
 */
static int name_begin(struct fs *fs, fuse_ino_t dir, const char *name,
		      struct changed_name *ret)
{
	*ret = (struct changed_name){ .dir = fs_inode(fs, dir),
				      .name = name,
				      .at = HOLD_NONE,
				      .file = HOLD_NONE };
	ret->i = inodes_find(fs->inodes, ret->dir, name);
	if (ret->i)
		(void)hold_begin(fs->inodes, ret->i, &ret->file);
	return hold_begin(fs->inodes, ret->dir, &ret->at);
}

static void name_end(struct fs *fs, struct changed_name *p)
{
	hold_end(&p->at);
	hold_end(&p->file);
	inodes_unref(fs->inodes, p->i);
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name,
			int flags, enum journal_op op)
{
	struct fs *fs = fs_of(req);
	struct own_change change;
	struct changed_name p;
	int r = name_begin(fs, parent, name, &p);

	keep_removed(req, p.dir, name, p.i, &change);
	if (r == 0 && unlinkat(p.at.fd, name, flags) < 0)
		r = -errno;
	pages_changed(fs, &change);
	if (r == 0)
		inodes_drop_name(fs->inodes, p.dir, name);
	record_name(fs, req, p.dir, name, p.i,
		    &(struct record_line){
			    .op = op, .off = -1, .len = -1, .res = r });
	name_end(fs, &p);
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

/* Before the rename. The kernel has just looked the name up, so that the table
   knows it, unless the watch thread dropped it meanwhile. */
static bool is_directory(const struct changed_name *p)
{
	struct stat st;

	if (p->i)
		return S_ISDIR(p->i->type);
	return p->at.fd >= 0 &&
	       fstatat(p->at.fd, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* What the line of a rename says about directories; NULL: nothing. */
static const char *detail_of(const struct changed_name *from,
			     const struct changed_name *to, bool exchange)
{
	bool one = is_directory(from), two = exchange && is_directory(to);

	if (one)
		return two ? JOURNAL_DIRECTORIES : JOURNAL_DIRECTORY;
	return two ? JOURNAL_DIRECTORY2 : NULL;
}

/* After a successful rename, and after its line. */
static void follow_rename(struct fs *fs, const struct changed_name *from,
			  const struct changed_name *to, bool exchange)
{
	if (exchange) {
		inodes_swap_names(fs->inodes, from->dir, from->name, to->dir,
				  to->name);
		return;
	}
	inodes_move_name(fs->inodes, from->dir, from->name, to->dir, to->name);
	keep_renamed(fs, from->i, &(struct keep_name){ from->dir, from->name },
		     &(struct keep_name){ to->dir, to->name }, to->i != NULL);
	/* The watch thread may have dropped the old name already. */
	if (from->i)
		inodes_add_name(fs->inodes, from->i, to->dir, to->name);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		      fuse_ino_t newparent, const char *newname,
		      unsigned int flags)
{
	struct fs *fs = fs_of(req);
	bool exchange = flags & RENAME_EXCHANGE;
	struct record_line what = { .op = exchange ? JOURNAL_EXCHANGE
						   : JOURNAL_RENAME,
				    .off = -1,
				    .len = -1 };
	struct own_change change, replaced;
	char path2[RECORD_PATH_MAX];
	struct changed_name from, to;
	int r = name_begin(fs, parent, name, &from);
	int r2 = name_begin(fs, newparent, newname, &to);

	r = r < 0 ? r : r2;
	what.detail = detail_of(&from, &to, exchange);
	if (exchange)
		pages_change(fs, to.i, &replaced);
	else
		keep_replaced(req, to.dir, newname, to.i, &replaced);
	pages_change(fs, from.i, &change);
	if (r == 0 && renameat2(from.at.fd, name, to.at.fd, newname, flags) < 0)
		r = -errno;
	pages_changed(fs, &change);
	pages_changed(fs, &replaced);
	what.res = r;
	/* Before the table changes: the line has the old paths. */
	record_path_in(fs, to.dir, newname, path2, sizeof(path2));
	what.path2 = path2;
	record_name(fs, req, from.dir, name, from.i, &what);
	if (r == 0)
		follow_rename(fs, &from, &to, exchange);
	name_end(fs, &to);
	name_end(fs, &from);
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
