/*
 * A walk through the files in scope (scope.h) below the root, in steps: who
 * has something more urgent to do does it between two. Directories can be
 * added at any time. One thread's at a time.
 */
#ifndef STATETAPE_TAPE_SWEEP_H
#define STATETAPE_TAPE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/build/look.h"
#include "graph/build/tree.h"

struct sweep;

struct sweep_ops {
	/* About to be listed; `fd` is its descriptor for that long. */
	void (*enter)(void *ctx, const char *dir, int fd);
	/* A file or a link; `mark` is that of the walk it was met on. */
	void (*see)(void *ctx, const char *path, const struct tree_stamp *st,
		    int mark);
	/* A directory cannot be read. */
	void (*fail)(void *ctx, const char *dir, int error);
};

/* `ops` must outlive it. */
struct sweep *sweep_new(int root_fd, const struct sweep_ops *ops, void *ctx);
void sweep_free(struct sweep *s);

/* Walk `dir` ("": the root) and what lies below, too. */
void sweep_add(struct sweep *s, const char *dir, int mark);
/* Go on for about so many names. False: nothing is left. */
bool sweep_step(struct sweep *s, size_t names);
bool sweep_busy(const struct sweep *s);

#endif
