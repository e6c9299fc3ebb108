/*
 * From files on disk to a graph: all of them at the start, and one at a time
 * when something happened to it. Whichever way a graph came to know its
 * files, it is the same graph.
 *
 * Nothing a file holds is an error: bytes that are no text, or no program,
 * are what they are. What cannot be read is left out and counted.
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
	int root_fd;		/* the repository, opened as a directory */
	int state_fd;		/* where the cache is (cache.h), -1: nowhere */
	enum build_trust trust; /* in the cache */
	unsigned threads;	/* 0: as many as there are processors */
	build_progress *progress; /* NULL: nobody asks */
	void *arg;
};

struct build_report {
	size_t files;	   /* in the graph now */
	uint64_t bytes;	   /* in these files */
	size_t parsed;	   /* of them, read anew */
	size_t cached;	   /* and found in the cache */
	size_t broken;	   /* and with a syntax error */
	size_t vast;	   /* and too much to be parsed */
	size_t unreadable; /* left out, directories too */
	size_t too_large;  /* left out */
	int cache_error;   /* why no new cache was written, 0: none needed */
};

/*
 * Put every file below the root into `g`, which is new, and settle it.
 * Fails only as a whole: -ENOTDIR and what else the root has to say, -E2BIG
 * (tree.h), or what the graph says.
 */
int build_all(const struct build *b, struct graph *g, struct build_report *ret);

/*
 * Something happened at `path`: make the graph say what is there now. It may
 * be a file or a directory ("": the root), may have come, changed or gone. The
 * graph is not settled. `text` is scratch memory that may serve for many calls.
 * -EINVAL: not a path of tree.h's.
 */
int build_refresh(struct graph *g, struct lang_readers *r, int root_fd,
		  const char *path, struct buf *text);

#endif
