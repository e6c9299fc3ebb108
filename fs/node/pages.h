/*
 * Which version of a file the pages agree with that the kernel keeps of it.
 *
 * The kernel must not drop pages of a file that is being written through it:
 * while a write is on its way to us its page may be dropped, read again from
 * below in its old state, and stay so; where somebody stores into a mapping
 * of it, those old bytes are even written back over the new ones. So nothing
 * is dropped for a change of our own. Each such change is made between
 * pages_change() and pages_changed(), and moves the inode's stamp on; a file
 * below that does not have its inode's stamp was changed by somebody else.
 */
#ifndef STATETAPE_FS_NODE_PAGES_H
#define STATETAPE_FS_NODE_PAGES_H

#include <stdbool.h>
#include <sys/stat.h>

struct fs;
struct fuse_conn_info;
struct inode;

/* At the session's beginning: what is asked of the kernel. */
void pages_init(struct fs *fs, struct fuse_conn_info *conn);

struct own_change {
	struct inode *i; /* NULL: nothing to keep account of */
	bool ours;	 /* nobody else had changed it */
	bool accounted;	 /* nor had it been changed unseen */
};

/*
 * Around a change that we make below on somebody's behalf, of content or
 * status. The same inode's changes take turns; nothing else is locked between.
 */
void pages_change(struct fs *fs, struct inode *i, struct own_change *ret);
void pages_changed(struct fs *fs, struct own_change *c);

/*
 * Stores into a mapping that passes us by (pass.h) change a file unseen. From
 * pages_account() on, which is called while nobody has the file open, each
 * pages_unseen() tells whether it was changed, and not by us, since the last.
 */
void pages_account(struct inode *i);
bool pages_unseen(struct fs *fs, struct inode *i);

/* An inode the kernel has no pages of, in the state that `st` tells. */
void pages_none(struct fs *fs, struct inode *i, const struct stat *st);

/*
 * At an open: are the pages (of a directory: the listing) that the kernel
 * keeps those of the file as it is now, which `st` tells? If not, they are
 * about to be dropped, and its attributes, which may be as old, are taken back
 * here.
 */
bool pages_good(struct fs *fs, struct inode *i, const struct stat *st);

/*
 * The kernel is about to be told `st`. Where somebody else has changed a file
 * that is open, its size stays as we left it until old pages are gone: beyond
 * their end they would be read as zeroes.
 */
void pages_before_attr(struct fs *fs, struct inode *i, struct stat *st);

/*
 * By the watching thread, which may wait for a page: make the kernel ask again
 * if somebody else has changed `i`. True if so.
 */
bool pages_check(struct fs *fs, struct inode *i);

#endif
