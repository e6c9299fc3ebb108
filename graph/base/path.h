/*
 * Paths that may lead to what does not answer or is not there yet. Functions
 * that return a path allocate it; it is the caller's.
 */
#ifndef STATETAPE_GRAPH_BASE_PATH_H
#define STATETAPE_GRAPH_BASE_PATH_H

#include <stdbool.h>

int path_copy(const char *path, char **ret);
int path_join(const char *dir, const char *name, char **ret);

/*
 * realpath(3), but the end of the path may be a mount whose server died or,
 * with `missing_ok`, not be there yet.
 */
int path_canonical(const char *path, bool missing_ok, char **ret);

/*
 * A directory, or a mount whose server died. A server that is only slow is
 * not waited for.
 */
bool path_is_dir(const char *path);

/* Is `path` below `dir`, or the same? Both canonical. */
bool path_lies_in(const char *path, const char *dir);

/*
 * Does the shell pattern `glob` fit `path`, or a directory it lies in? A `*`
 * stands for slashes, too. A path fits itself, whatever is in its name.
 */
bool path_matches(const char *glob, const char *path);

/* Make the directory and those above it that are missing, mode 0700. */
int path_make(const char *path);

#endif
