/*
 * From files on disk to a graph: all of them at the start, and one at a time
 * when it changes. Both ways give the same graph.
 *
 * No content of a file is an error, even if it is no text or no program. Files
 * that cannot be read are left out and counted.
 */
#ifndef STATETAPE_GRAPH_BUILD_BUILD_H
#define STATETAPE_GRAPH_BUILD_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/buf.h"

struct lang_readers;
struct graph;

enum build_trust {
	BUILD_BY_STAMP, /* same inode, size and times: same content */
	BUILD_BY_HASH,	/* every byte is read */
};

/* Called now and then by the thread that called build_all(). */
typedef void build_progress(size_t done, size_t total, void *arg);

struct build {
	int root_fd;		  /* the repository, opened as a directory */
	int state_fd;		  /* directory of the cache, -1: no cache */
	enum build_trust trust;	  /* in the cache */
	unsigned threads;	  /* 0: as many as there are processors */
	build_progress *progress; /* may be NULL */
	void *arg;
};

struct build_report {
	size_t files;	   /* in the graph */
	uint64_t bytes;	   /* in these files */
	size_t parsed;	   /* of these files */
	size_t cached;	   /* of these files, found in the cache */
	size_t broken;	   /* of these files, with a syntax error */
	size_t vast;	   /* of these files, too large to be parsed */
	size_t unreadable; /* files and directories left out */
	size_t too_large;  /* files left out */
	int cache_error;   /* why writing a new cache failed, or 0 */
};

/*
 * Put every file below the root into `g`, which is new, and settle it. Fails
 * only as a whole: with an error of opening the root (-ENOTDIR, ...), -E2BIG
 * (tree.h), or an error of the graph.
 */
int build_all(const struct build *b, struct graph *g, struct build_report *ret);

/*
 * Something happened at `path`: update the graph to what is there now. The path
 * may name a file or a directory ("": the root) that came, changed or went. The
 * graph is not settled. `text` is scratch memory for any number of calls.
 * -EINVAL: not a path as tree_is_path() wants it.
 */
int build_refresh(struct graph *g, struct lang_readers *r, int root_fd,
		  const char *path, struct buf *text);

#endif
