/*
 * Keeps track of the version of a file that the kernel's pages hold. See
 * fs/README.md, "What the kernel caches".
 *
 * The kernel must not drop pages of a file that is being written through the
 * mount: while a write is on its way to us, its page may be dropped, read
 * again from below in its old state, and stay so; with a shared mapping, those
 * old bytes are even written back over the new ones. So a change made through
 * the mount drops nothing. Each such change is made between pages_change() and
 * pages_changed(), which updates the inode's stamp; a file below whose stamp
 * differs from its inode's was changed outside the mount.
 */
#ifndef STATETAPE_FS_NODE_PAGES_H
#define STATETAPE_FS_NODE_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct fs;
struct fuse_conn_info;
struct inode;

/* At the session's start: choose who drops pages, the kernel or we. */
void pages_init(struct fs *fs, struct fuse_conn_info *conn);

struct own_change {
	struct inode *i; /* NULL: nothing to track */
};

/*
 * Around a change of content or status that a handler makes below. Changes of
 * one inode may overlap; nothing waits for them.
 */
void pages_change(struct fs *fs, struct inode *i, struct own_change *ret);
/*
 * The same if `may`, which is called with the change lock held and does not
 * block, returns true; if not, nothing has begun. It finds i->outside set if
 * the file was changed outside the mount and the tape has not looked since.
 */
bool pages_change_if(struct fs *fs, struct inode *i, struct own_change *ret,
		     bool (*may)(void *ctx), void *ctx);
void pages_changed(struct fs *fs, struct own_change *c);

/*
 * Stores into a mapping of a passthrough file (pass.h) are not seen by us.
 * pages_account() starts the account with a stamp that pages_stamp() returned
 * while the file had no other open; each pages_unseen() says whether the file
 * was changed since the last call by anything but our own changes.
 */
uint64_t pages_stamp(struct fs *fs, struct inode *i);
void pages_account(struct fs *fs, struct inode *i, uint64_t stamp);
bool pages_unseen(struct fs *fs, struct inode *i);

/* The change lock, for i->outside and i->version (keep.c): no system call. */
void pages_lock(struct fs *fs, const struct inode *i);
void pages_unlock(struct fs *fs, const struct inode *i);

/* We have just made `i`, whose status is `st`. */
void pages_made(struct fs *fs, struct inode *i, const struct stat *st);

/* The kernel has no pages of `i`, whose status is `st`. */
void pages_none(struct fs *fs, struct inode *i, const struct stat *st);

/*
 * At an open: do the kernel's pages (of a directory: its listing) match the
 * file's present status `st`? If not, the caller makes the kernel drop them,
 * and the cached attributes, which may be as old, are invalidated here.
 */
bool pages_good(struct fs *fs, struct inode *i, const struct stat *st);

/*
 * Before the attributes `st` are sent to the kernel. If an open file was
 * changed outside the mount, its size stays the old one until the stale pages
 * are dropped: beyond their end they would read as zeroes.
 */
void pages_before_attr(struct fs *fs, struct inode *i, struct stat *st);

/*
 * Invalidate pages and attributes of `i` if it was changed outside the mount;
 * true if so. Called by the watch thread only: this may wait for a page that
 * a worker has to deliver.
 */
bool pages_check(struct fs *fs, struct inode *i);

#endif
