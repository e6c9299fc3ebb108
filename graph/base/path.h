/*
 * Paths of files that may not exist yet, or that may lie on a mount that does
 * not answer. Returned paths are allocated, and the caller frees them.
 */
#ifndef STATETAPE_GRAPH_BASE_PATH_H
#define STATETAPE_GRAPH_BASE_PATH_H

#include <stdbool.h>

int path_copy(const char *path, char **ret);
int path_join(const char *dir, const char *name, char **ret);

/*
 * realpath(3), except that the last component may be a mount whose server died
 * or, with `missing_ok`, may not exist.
 */
int path_canonical(const char *path, bool missing_ok, char **ret);

/*
 * Is it a directory, or a mount whose server died? Does not wait for a server
 * that is slow.
 */
bool path_is_dir(const char *path);

/* Is `path` below `dir`, or equal to it? Both canonical. */
bool path_lies_in(const char *path, const char *dir);

/*
 * Does the shell pattern `glob` match `path` or a directory it lies in? A `*`
 * matches slashes, too. A path matches itself, whatever characters it has.
 */
bool path_matches(const char *glob, const char *path);

/* Create the directory and its missing parents, mode 0700. */
int path_make(const char *path);

#endif
