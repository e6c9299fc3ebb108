/*
 * A walk through the files in scope (scope.h) below the root, in steps, so that
 * the caller can do other work in between. Directories can be added at any
 * time. For one thread at a time.
 */
#ifndef STATETAPE_TAPE_SWEEP_H
#define STATETAPE_TAPE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/build/look.h"
#include "graph/build/tree.h"

struct sweep;

struct sweep_ops {
	/* `dir` is about to be listed; `fd` is its descriptor, for this call.
	 */
	void (*enter)(void *ctx, const char *dir, int fd);
	/* A file or a link; `mark` is that of its sweep_add(). */
	void (*see)(void *ctx, const char *path, const struct tree_stamp *st,
		    int mark);
	/* A directory cannot be read. */
	void (*fail)(void *ctx, const char *dir, int error);
};

/* `ops` must outlive it. */
struct sweep *sweep_new(int root_fd, const struct sweep_ops *ops, void *ctx);
void sweep_free(struct sweep *s);

/* Walk `dir` ("": the root) and all directories below it. */
void sweep_add(struct sweep *s, const char *dir, int mark);
/* Continue for about `names` names. False: nothing is left. */
bool sweep_step(struct sweep *s, size_t names);
bool sweep_busy(const struct sweep *s);

#endif
