/*
 * A table of things that have a path, each path once. Things are the caller's
 * and begin with a struct paths_node; the table owns their paths alone.
 *
 * Memory that cannot be had ends the process (graph/base/alloc.h). One
 * thread's at a time.
 */
#ifndef STATETAPE_GRAPH_BASE_PATHS_H
#define STATETAPE_GRAPH_BASE_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct paths_node {
	struct paths_node *next; /* in its bucket */
	uint64_t hash;
	char *path; /* the table's */
};

/* Zeroed: empty. */
struct paths {
	struct paths_node **buckets;
	size_t size; /* a power of two, or 0 */
	size_t count;
};

/* NULL: there is none. */
void *paths_find(const struct paths *t, const char *path);
/* The same for the first `len` bytes of `path`. */
void *paths_find_part(const struct paths *t, const char *path, size_t len);
/* `path` is copied, and must not be in the table. */
void paths_add(struct paths *t, struct paths_node *n, const char *path);
/* Its path is freed, the node is the caller's again. */
void paths_remove(struct paths *t, struct paths_node *n);
/* The nodes are not touched: they must be gone or of no use any more. */
void paths_release(struct paths *t);

/* All of them, in no order; the table must not change meanwhile. */
typedef void paths_visit(struct paths_node *n, void *arg);
void paths_each(const struct paths *t, paths_visit *visit, void *arg);

/* What follows "DIR/" in `path`; NULL: it does not lie below `dir`. */
const char *paths_below(const char *path, const char *dir);
/* `dir`, a slash, `rest` (free it). */
char *paths_join(const char *dir, const char *rest);

#endif
