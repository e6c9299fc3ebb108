/*
 * Handlers for a file's metadata: status, mode, owner, times, extended
 * attributes (access control lists among them), flags. Most of these calls do
 * not work on an O_PATH descriptor, so they use its path in /proc.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "fs/node/keep.h"
#include "fs/node/pages.h"
#include "fs/node/record.h"
#include "fs/ops/ops.h"
#include "graph/base/cleanup.h"

static int reply_attr(fuse_req_t req, struct inode *i)
{
	struct fs *fs = fs_of(req);
	struct stat st;
	double timeout;
	int r = fs_stat(fs, i, &st);

	if (r < 0)
		return fuse_reply_err(req, -r);
	timeout = fs_attr_timeout(fs, S_ISDIR(i->type) ? i : NULL, &st);
	fs_attr(fs, i, &st);
	fs_attr_sent(fs, i, timeout);
	return fuse_reply_attr(req, &st, timeout);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	(void)fi;
	(void)reply_attr(req, fs_inode(fs_of(req), ino));
}

#define ANY_TIME                                                               \
	(FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW | \
	 FUSE_SET_ATTR_MTIME_NOW)
#define ANY_CHANGE                                                    \
	(FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID | \
	 FUSE_SET_ATTR_SIZE | ANY_TIME)

#define STEPS_MAX  4
#define DETAIL_MAX 48

/* One SETATTR; it may ask for several changes, each with its journal line. */
struct attr_change {
	fuse_req_t req;
	struct inode *i;
	const struct handle *h; /* NULL: by path, not by descriptor */
	const struct stat *attr;
	int to_set;
	int fd; /* of the inode */
	struct fs_fd_name name;
	struct keep_change change; /* of content, if the size is set */
	size_t lines;
	struct record_line line[STEPS_MAX];
	char detail[STEPS_MAX][DETAIL_MAX];
};

/* Keep the line until the change lock is released. Returns its result. */
static int note(struct attr_change *c, enum journal_op op, int64_t len,
		const char *detail, int r)
{
	int res = r < 0 ? -errno : 0;
	char *kept = c->detail[c->lines];

	assert(c->lines < STEPS_MAX);
	if (detail)
		(void)snprintf(kept, DETAIL_MAX, "%s", detail);
	c->line[c->lines++] =
		(struct record_line){ .op = op,
				      .off = -1,
				      .len = len,
				      .res = res,
				      .detail = detail ? kept : NULL };
	return res;
}

static void record_changes(struct attr_change *c)
{
	struct fs *fs = fs_of(c->req);
	bool sized = false;

	for (size_t n = 0; n < c->lines; n++) {
		const struct record_line *line = &c->line[n];

		if (line->op == JOURNAL_TRUNCATE)
			keep_record(c->req, &c->change, c->h, line);
		else
			record_inode(fs, c->req, c->i, c->h, line);
		sized |= line->op == JOURNAL_TRUNCATE;
	}
	/* An earlier step failed. */
	if (!sized)
		keep_failed(fs, &c->change);
}

static int change_mode(struct attr_change *c)
{
	char detail[32];
	int r;

	if (!(c->to_set & FUSE_SET_ATTR_MODE))
		return 0;
	r = fchmodat(fs_of(c->req)->proc_fd, c->name.name,
		     c->attr->st_mode & 07777, 0);
	(void)snprintf(detail, sizeof(detail), "mode=%o",
		       (unsigned)(c->attr->st_mode & 07777));
	return note(c, JOURNAL_CHMOD, -1, detail, r);
}

static int change_owner(struct attr_change *c)
{
	uid_t uid = c->to_set & FUSE_SET_ATTR_UID ? c->attr->st_uid : (uid_t)-1;
	gid_t gid = c->to_set & FUSE_SET_ATTR_GID ? c->attr->st_gid : (gid_t)-1;
	char detail[DETAIL_MAX];
	bool nothing = !(c->to_set & ANY_CHANGE);
	bool setid = atomic_load(&c->i->setid);
	int r;

	if (!nothing && !(c->to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)))
		return 0;
	/* Before chown: whether set-group-id stays depends on the old group. */
	fs_drop_setid(c->req, c->i, c->fd);
	r = fchownat(c->fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
	/*
	 * No attribute set: chown(-1, -1), or the kernel drops the set-id bits
	 * before a write. Both drop the bits, as done above.
	 */
	if (nothing && setid)
		return note(c, JOURNAL_CHMOD, -1, "set-id dropped", r);
	(void)snprintf(detail, sizeof(detail), "owner=%d:%d", (int)uid,
		       (int)gid);
	return note(c, JOURNAL_CHOWN, -1, detail, r);
}

static int change_size(struct attr_change *c)
{
	int64_t size = c->attr->st_size;
	int r;

	if (!(c->to_set & FUSE_SET_ATTR_SIZE))
		return 0;
	r = c->h ? ftruncate(c->h->fd, size) : truncate(c->name.path, size);
	if (r == 0)
		fs_drop_setid(c->req, c->i, c->fd);
	return note(c, JOURNAL_TRUNCATE, size, c->h ? NULL : JOURNAL_BY_NAME,
		    r);
}

static struct timespec time_to_set(const struct attr_change *c, int set,
				   int now, struct timespec given)
{
	if (c->to_set & now)
		return (struct timespec){ .tv_nsec = UTIME_NOW };
	if (c->to_set & set)
		return given;
	return (struct timespec){ .tv_nsec = UTIME_OMIT };
}

static int change_times(struct attr_change *c)
{
	struct timespec ts[2];

	if (!(c->to_set & ANY_TIME))
		return 0;
	ts[0] = time_to_set(c, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW,
			    c->attr->st_atim);
	ts[1] = time_to_set(c, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW,
			    c->attr->st_mtim);
	return note(c, JOURNAL_UTIMENS, -1, NULL,
		    utimensat(c->fd, "", ts, AT_EMPTY_PATH));
}

static int change_attr(struct attr_change *c)
{
	static int (*const steps[STEPS_MAX])(struct attr_change *) = {
		change_mode, change_owner, change_size, change_times
	};
	struct fs *fs = fs_of(c->req);
	CLEANUP(hold_end) struct hold file = HOLD_NONE;
	int r = hold_begin(fs->inodes, c->i, &file);

	if (r < 0)
		return r;
	c->fd = file.fd;
	fs_fd_name(file.fd, &c->name);
	if (c->to_set & FUSE_SET_ATTR_SIZE)
		keep_change(c->req, c->i, c->h, &c->change);
	else
		pages_change(fs, c->i, &c->change.own);
	for (size_t n = 0; r == 0 && n < STEPS_MAX; n++)
		r = steps[n](c);
	pages_changed(fs, &c->change.own);
	record_changes(c);
	return r;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		       int to_set, struct fuse_file_info *fi)
{
	struct attr_change c = { .req = req,
				 .i = fs_inode(fs_of(req), ino),
				 .h = fi ? fs_handle(fi) : NULL,
				 .attr = attr,
				 .to_set = to_set };
	int r = change_attr(&c);

	if (r < 0)
		(void)fuse_reply_err(req, -r);
	else
		(void)reply_attr(req, c.i);
}

static ssize_t read_link(struct fs *fs, struct inode *i, char *target,
			 size_t size)
{
	CLEANUP(hold_end) struct hold link = HOLD_NONE;
	ssize_t len = hold_begin(fs->inodes, i, &link);

	if (len == 0)
		len = readlinkat(link.fd, "", target, size);
	return len < 0 && link.inode ? -errno : len;
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	char target[PATH_MAX + 1];
	ssize_t len = read_link(fs, fs_inode(fs, ino), target, sizeof(target));

	if (len < 0) {
		(void)fuse_reply_err(req, (int)-len);
		return;
	}
	if ((size_t)len == sizeof(target)) {
		(void)fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	target[len] = '\0';
	(void)fuse_reply_readlink(req, target);
}

static int stat_fs(struct fs *fs, struct inode *i, struct statvfs *ret)
{
	CLEANUP(hold_end) struct hold file = HOLD_NONE;
	int r = hold_begin(fs->inodes, i, &file);

	return r < 0 ? r : fstatvfs(file.fd, ret) < 0 ? -errno : 0;
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	struct statvfs st;
	int r = stat_fs(fs, fs_inode(fs, ino), &st);

	if (r < 0)
		(void)fuse_reply_err(req, -r);
	else
		(void)fuse_reply_statfs(req, &st);
}

/* Reply with the value, or with its size if `size` is 0. */
static void reply_xattr(fuse_req_t req, ssize_t got, const char *value,
			size_t size)
{
	if (got < 0)
		(void)fuse_reply_err(req, (int)-got);
	else if (size == 0)
		(void)fuse_reply_xattr(req, (size_t)got);
	else
		(void)fuse_reply_buf(req, value, (size_t)got);
}

/* The attribute `name`, or the list of names if that is NULL. */
static ssize_t read_xattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			  char *value, size_t size)
{
	struct fs *fs = fs_of(req);
	CLEANUP(hold_end) struct hold h = HOLD_NONE;
	ssize_t got = hold_begin(fs->inodes, fs_inode(fs, ino), &h);
	struct fs_fd_name file;

	if (got < 0)
		return got;
	fs_fd_name(h.fd, &file);
	got = name ? getxattr(file.path, name, value, size)
		   : listxattr(file.path, value, size);
	return got < 0 ? -errno : got;
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			size_t size)
{
	char *value = fs_buffer();

	if (!value) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	if (size > FS_REQUEST_MAX)
		size = FS_REQUEST_MAX;
	reply_xattr(req, read_xattr(req, ino, name, value, size), value, size);
}

/* Only root sees the names of `trusted.` attributes. */
static ssize_t hide_trusted(char *names, ssize_t len)
{
	static const char trusted[] = "trusted.";
	char *from = names, *to = names;

	while (from < names + len) {
		size_t step = strlen(from) + 1;

		if (strncmp(from, trusted, sizeof(trusted) - 1) != 0) {
			memmove(to, from, step);
			to += step;
		}
		from += step;
	}
	assert(to <= from);
	return to - names;
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	char *names = fs_buffer();
	ssize_t len;

	if (!names) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	len = read_xattr(req, ino, NULL, names, XATTR_LIST_MAX);
	if (len > 0 && fuse_req_ctx(req)->uid != 0)
		len = hide_trusted(names, len);
	if (size && len > (ssize_t)size)
		(void)fuse_reply_err(req, ERANGE);
	else
		reply_xattr(req, len, names, size);
}

/*
 * Like chmod(2), setting an ACL drops set-group-id if the caller is not in the
 * file's group.
 */
static void acl_drops_setgid(fuse_req_t req, int fd, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fs_fd_name file;
	struct stat st;

	if (!fs->root || fuse_req_ctx(req)->uid == 0 ||
	    strcmp(name, "system.posix_acl_access") != 0)
		return;
	if (fstat(fd, &st) < 0 || !(st.st_mode & S_ISGID) ||
	    fs_in_group(req, st.st_gid))
		return;
	fs_fd_name(fd, &file);
	(void)fchmodat(fs->proc_fd, file.name, st.st_mode & 07777 & ~S_ISGID,
		       0);
}

static void finish_xattr(fuse_req_t req, struct inode *i, enum journal_op op,
			 const char *name, int64_t len, int r)
{
	record_inode(fs_of(req), req, i, NULL,
		     &(struct record_line){ .op = op,
					    .off = -1,
					    .len = len,
					    .res = r,
					    .detail = name });
	(void)fuse_reply_err(req, -r);
}

/* Set the attribute, or remove it if `value` is NULL. */
static int change_xattr(fuse_req_t req, struct inode *i, const char *name,
			const char *value, size_t size, int flags)
{
	struct fs *fs = fs_of(req);
	CLEANUP(hold_end) struct hold h = HOLD_NONE;
	int r = hold_begin(fs->inodes, i, &h);
	struct own_change own;
	struct fs_fd_name file;

	if (r < 0)
		return r;
	fs_fd_name(h.fd, &file);
	pages_change(fs, i, &own);
	r = value ? setxattr(file.path, name, value, size, flags)
		  : removexattr(file.path, name);
	r = r < 0 ? -errno : 0;
	if (r == 0 && value)
		acl_drops_setgid(req, h.fd, name);
	pages_changed(fs, &own);
	return r;
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			const char *value, size_t size, int flags)
{
	struct inode *i = fs_inode(fs_of(req), ino);
	int r = change_xattr(req, i, name, value, size, flags);

	finish_xattr(req, i, JOURNAL_SETXATTR, name, (int64_t)size, r);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct inode *i = fs_inode(fs_of(req), ino);
	int r = change_xattr(req, i, name, NULL, 0, 0);

	finish_xattr(req, i, JOURNAL_REMOVEXATTR, name, -1, r);
}

/*
 * Only the ioctls for inode flags (chattr, lsattr) are passed on. Returns the
 * size of their argument, 0: another ioctl.
 */
static size_t flags_size(unsigned int cmd, bool *ret_sets)
{
	*ret_sets = cmd == FS_IOC_SETFLAGS || cmd == FS_IOC_FSSETXATTR;
	if (cmd == FS_IOC_GETFLAGS || cmd == FS_IOC_SETFLAGS)
		return sizeof(int); /* though the number encodes a long */
	if (cmd == FS_IOC_FSGETXATTR || cmd == FS_IOC_FSSETXATTR)
		return sizeof(struct fsxattr);
	return 0;
}

static int flags_call(struct fs *fs, struct inode *i, unsigned int cmd,
		      void *arg)
{
	CLEANUP(close_p) int fd = -1;

	if (!S_ISREG(i->type) && !S_ISDIR(i->type))
		return -ENOTTY;
	fd = fs_reopen(fs, i, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return fd;
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

/* NOLINTNEXTLINE(readability-function-size): libfuse's signature. */
static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned int cmd,
		     void *arg, struct fuse_file_info *fi, unsigned flags,
		     const void *in_buf, size_t in_size, size_t out_size)
{
	struct fs *fs = fs_of(req);
	struct inode *i = fs_inode(fs, ino);
	struct fsxattr value = { 0 };
	struct own_change own;
	bool sets;
	size_t size = flags_size(cmd, &sets);
	int r;

	(void)arg;
	(void)fi;
	(void)flags;
	if (!size || (sets ? in_size : out_size) < size) {
		(void)fuse_reply_err(req, ENOTTY);
		return;
	}
	if (sets)
		memcpy(&value, in_buf, size);
	pages_change(fs, sets ? i : NULL, &own);
	r = flags_call(fs, i, cmd, &value);
	pages_changed(fs, &own);
	if (sets)
		record_inode(fs, req, i, NULL,
			     &(struct record_line){ .op = JOURNAL_SETFLAGS,
						    .off = -1,
						    .len = -1,
						    .res = r });
	if (r < 0)
		(void)fuse_reply_err(req, -r);
	else
		(void)fuse_reply_ioctl(req, 0, &value, sets ? 0 : size);
}

void ops_attr_fill(struct fuse_lowlevel_ops *ops)
{
	ops->getattr = op_getattr;
	ops->setattr = op_setattr;
	ops->readlink = op_readlink;
	ops->statfs = op_statfs;
	ops->getxattr = op_getxattr;
	ops->listxattr = op_listxattr;
	ops->setxattr = op_setxattr;
	ops->removexattr = op_removexattr;
	ops->ioctl = op_ioctl;
}
