/*
 * Telling the journal what was done. Each call fills in the caller from the
 * request, appends, and rings; it comes after the change below and before the
 * reply, which is what makes the journal a barrier.
 */
#ifndef STATETAPE_FS_NODE_RECORD_H
#define STATETAPE_FS_NODE_RECORD_H

#include "fs/node/fs.h"

/* What is known beside caller and first path; zero-initialise, then set. */
struct record_line {
	enum journal_op op;
	const char *path2; /* relative to the root, or a symlink's target */
	const char *detail;
	uint64_t ino; /* 0: that of the file at the path */
	int64_t off;  /* -1: none */
	int64_t len;  /* -1: none */
	int64_t res;
};

/* About a file by itself; `h` (or NULL) names its opener. */
void record_inode(struct fs *fs, fuse_req_t req, struct inode *i,
		  const struct handle *h, const struct record_line *what);

/* About `name` in `parent`, which is or was `i` (or NULL). */
void record_name(struct fs *fs, fuse_req_t req, struct inode *parent,
		 const char *name, const struct inode *i,
		 const struct record_line *what);

/* A handle that could write is released; without a request, at the end. */
void record_close(struct fs *fs, fuse_req_t req, const struct handle *h);

/*
 * A path as the journal tells it, for path2: of a file (one that has none is
 * told by its number), or of a name in a directory.
 */
void record_path(struct fs *fs, struct inode *i, char *buf, size_t size);
void record_path_in(struct fs *fs, struct inode *parent, const char *name,
		    char *buf, size_t size);

/* The caller opened, listed or missed something. */
void record_read(struct fs *fs, fuse_req_t req, enum reads_kind kind,
		 struct inode *i);
void record_miss(struct fs *fs, fuse_req_t req, struct inode *parent,
		 const char *name);

/* Paths in events are at most this long; longer ones show their tail. */
#define RECORD_PATH_MAX 8192

#endif
