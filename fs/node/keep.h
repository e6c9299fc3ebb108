/*
 * Keeps a version of a file that the tape has not read, before a change
 * destroys it: the tape reads a file after its writer closed it, and the next
 * writer does not wait for that. The copy goes to kept.h, and a line of
 * JOURNAL_KEEP names it. While the tape keeps up, or if none has ever followed
 * the journal (progress_line() is 0), nothing is copied.
 *
 * A version is finished when its writer closes the file, or by the next
 * writer's change. keep.c says when one is kept.
 */
#ifndef STATETAPE_FS_NODE_KEEP_H
#define STATETAPE_FS_NODE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/node/fs.h"
#include "fs/node/kept.h"
#include "fs/node/pages.h"
#include "fs/node/record.h"

/*
 * At the start, with the journal and fs->progress open. On failure fs->keep
 * stays NULL, nothing is kept, and all functions below still work.
 */
int keep_open(struct fs *fs, int state_fd);
void keep_close(struct fs *fs);

/*
 * A change of content:
 *
 *	keep_change()	first
 *	...		the system calls below
 *	keep_changed()	after them
 *	keep_record()	instead of record_inode(); not if nothing was done
 */
struct keep_change {
	struct own_change own;
	struct inode *i;
	bool counted; /* in i->version.changing */
	uint32_t pid; /* the author, 0: unknown */
	uint64_t start;
	struct inode_version before;
};

/* By handle `h`; NULL: by none, or by an open that truncates. */
void keep_change(fuse_req_t req, struct inode *i, const struct handle *h,
		 struct keep_change *ret);
void keep_changed(struct fs *fs, struct keep_change *c);
/* `h`: as before, or the handle of the open. what->res < 0: it failed. */
uint64_t keep_record(fuse_req_t req, struct keep_change *c,
		     const struct handle *h, const struct record_line *what);
/* The system call failed, and no line is written. */
void keep_failed(struct fs *fs, struct keep_change *c);

/*
 * Before `name` in `dir`, which is `i` (or NULL: unknown), is removed, or
 * another file is renamed over it. Followed by pages_changed().
 */
void keep_removed(fuse_req_t req, struct inode *dir, const char *name,
		  struct inode *i, struct own_change *ret);
void keep_replaced(fuse_req_t req, struct inode *dir, const char *name,
		   struct inode *i, struct own_change *ret);

struct keep_name {
	struct inode *dir;
	const char *name;
};
/* `i` has another name now; `replaced`: another file had that. */
void keep_renamed(struct fs *fs, struct inode *i, const struct keep_name *from,
		  const struct keep_name *to, bool replaced);
/* Journal line `n` made `i`, under a name or (NULL) without one; `h` (or NULL)
   is its open handle. */
void keep_made(fuse_req_t req, struct inode *i, const struct handle *h,
	       const struct keep_name *at, uint64_t n);
/* Line `n` tells of a store that was made into a mapping of `h` before. */
void keep_stored(struct fs *fs, const struct handle *h, uint64_t n);
/* Line `n` is of `h`'s release. */
void keep_released(struct fs *fs, const struct handle *h, uint64_t n);

struct keep_stats {
	struct kept_stats waiting; /* for the tape */
	uint64_t kept;		   /* ever */
	uint64_t merged;  /* could not be kept: changes overlapped, not text */
	uint64_t refused; /* could not be kept: out of space, or an error */
};
void keep_stat(struct fs *fs, struct keep_stats *ret);

#endif
