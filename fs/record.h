/*
 * Telling the journal what was done. Each call fills in the caller from the
 * request, appends, and rings; it comes after the change below and before the
 * reply, which is what makes the journal a barrier.
 */
#ifndef STATETAPE_FS_RECORD_H
#define STATETAPE_FS_RECORD_H

#include "fs/fs.h"

/* What is known beside caller and path; zero-initialise, then set. */
struct record {
	enum journal_op op;
	int64_t off; /* -1: none */
	int64_t len; /* -1: none */
	int64_t res;
	const char *detail;
};

/* About a file by itself; `h` (or NULL) names its opener. */
void record_inode(struct fs *fs, fuse_req_t req, struct inode *i,
		  const struct handle *h, const struct record *what);

/* About `name` in `parent`, which is or was `i` (or NULL). */
void record_name(struct fs *fs, fuse_req_t req, struct inode *parent,
		 const char *name, const struct inode *i,
		 const struct record *what);

/* The same with a second path as it stands. */
void record_name_to(struct fs *fs, fuse_req_t req, struct inode *parent,
		    const char *name, const struct inode *i, const char *path2,
		    const struct record *what);

/* Two names: rename, exchange. */
struct record_names {
	struct inode *parent;
	const char *name;
	struct inode *to;
	const char *to_name;
};
void record_names(struct fs *fs, fuse_req_t req, const struct record_names *n,
		  const struct inode *i, const struct record *what);

/* Into one file from another, or a new name of a file. */
void record_inode_to(struct fs *fs, fuse_req_t req, struct inode *i,
		     const char *path2, const struct record *what);

/* The caller opened, listed or missed something. */
void record_read(struct fs *fs, fuse_req_t req, enum reads_kind kind,
		 struct inode *i);
void record_miss(struct fs *fs, fuse_req_t req, struct inode *parent,
		 const char *name);

/* Paths in events are at most this long; longer ones show their tail. */
#define RECORD_PATH_MAX 8192

#endif
