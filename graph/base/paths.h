/*
 * Tables (graph/base/table.h) of structs that each have a path. The caller
 * owns the structs, which begin with a struct paths_node; the table owns the
 * paths. No two nodes of a table have the same path.
 *
 * The process ends if memory runs out (graph/base/alloc.h). One thread at a
 * time.
 */
#ifndef STATETAPE_GRAPH_BASE_PATHS_H
#define STATETAPE_GRAPH_BASE_PATHS_H

#include "graph/base/table.h"

struct paths_node {
	struct table_node node; /* first */
	char *path;		/* the table's */
};

/* NULL: no node has this path. */
void *paths_find(const struct table *t, const char *path);
/* The same for the first `len` bytes of `path`. */
void *paths_find_part(const struct table *t, const char *path, size_t len);
/* `path` is copied, and must not be in the table. */
void paths_add(struct table *t, struct paths_node *n, const char *path);
/* Frees the path; the node is the caller's again. */
void paths_remove(struct table *t, struct paths_node *n);

/* Every node, in no order. `visit` may free it, but change no table. */
typedef void paths_visit(struct paths_node *n, void *arg);
void paths_each(const struct table *t, paths_visit *visit, void *arg);

/* The part of `path` after "DIR/"; NULL: it does not lie below `dir`. */
const char *paths_below(const char *path, const char *dir);
/* `dir`, a slash, `rest` (free it). */
char *paths_join(const char *dir, const char *rest);

#endif
