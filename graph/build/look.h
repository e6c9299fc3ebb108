/*
 * Looks at what a path is now: its type, its content and the content's hash.
 * The root is a descriptor of the directory below any mount, and no symbolic
 * link is followed, so nothing leads out of it. Any thread may call these.
 */
#ifndef STATETAPE_GRAPH_BUILD_LOOK_H
#define STATETAPE_GRAPH_BUILD_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "graph/base/buf.h"
#include "graph/build/tree.h"

/* The content of a larger file is not hashed: its size, inode and time of
   modification stand for it. */
#define LOOK_HASH_MAX TREE_FILE_MAX

enum look_kind {
	LOOK_ABSENT,
	LOOK_FILE,
	LOOK_LINK, /* its content is its target */
	LOOK_DIRECTORY,
	LOOK_OTHER, /* a device, a socket: it has no content */
	LOOK_UNREADABLE,
};

struct look {
	enum look_kind kind;
	struct tree_stamp stamp; /* from before the first byte was read */
	XXH128_hash_t hash;
	bool stamped; /* the hash is of the stamp: larger than LOOK_HASH_MAX */
	uint64_t bytes;
	uint64_t names; /* number of hard links */
	/* The content, in the caller's buffer; NULL: too large for it. */
	const char *text;
	size_t len;
	int error; /* why it is unreadable */
};

/* Kind and stamp alone. */
void look_only(int root_fd, const char *path, struct look *ret);
/* The same, with the content read into `text`. */
void look_at(int root_fd, const char *path, struct buf *text, struct look *ret);

/* Open without following any link; a descriptor or a negative errno. */
int look_open(int root_fd, const char *path, int flags);

/* From the results of lstat(2). */
enum look_kind look_kind(mode_t mode);
struct tree_stamp look_stamp(const struct stat *st);

#endif
