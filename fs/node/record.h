/*
 * Writes the journal lines and read sets of requests. Each call fills in the
 * caller from the request, appends the line and rings the bell. Handlers call
 * it after the change below and before the reply: that order makes the journal
 * a barrier.
 */
#ifndef STATETAPE_FS_NODE_RECORD_H
#define STATETAPE_FS_NODE_RECORD_H

#include "fs/node/fs.h"

/* A line's fields besides caller and first path. Zero-initialise it. */
struct record_line {
	enum journal_op op;
	const char *path2; /* relative to the root, or a symlink's target */
	const char *detail;
	uint64_t ino; /* 0: that of the inode given */
	int64_t off;  /* -1: none */
	int64_t len;  /* -1: none */
	int64_t res;
};

/* All return the line's number, 0: there is none. */

/* About inode `i`; `h` (or NULL) is the handle used. */
uint64_t record_inode(struct fs *fs, fuse_req_t req, struct inode *i,
		      const struct handle *h, const struct record_line *what);

/* About `name` in `parent`, which is or was inode `i` (or NULL). */
uint64_t record_name(struct fs *fs, fuse_req_t req, struct inode *parent,
		     const char *name, const struct inode *i,
		     const struct record_line *what);

/* A writable handle is released; `req` is NULL at the session's end. */
uint64_t record_close(struct fs *fs, fuse_req_t req, const struct handle *h);

/*
 * A path as the journal writes it, for path2: of an inode ("#NUMBER" if it
 * has none), or of a name in a directory.
 */
void record_path(struct fs *fs, struct inode *i, char *buf, size_t size);
void record_path_in(struct fs *fs, struct inode *parent, const char *name,
		    char *buf, size_t size);

/* Add to the caller's read set: opened or listed `i`; missed `name`. */
void record_read(struct fs *fs, fuse_req_t req, enum reads_kind kind,
		 struct inode *i);
void record_miss(struct fs *fs, fuse_req_t req, struct inode *parent,
		 const char *name);

/* Longer paths are cut at their start. */
#define RECORD_PATH_MAX 8192

#endif
