/*
 * Paths as users type and read them: from the current directory, as git's are.
 * The tape's are from the repository's root.
 */
#ifndef STATETAPE_TOOLS_CLI_WHERE_H
#define STATETAPE_TOOLS_CLI_WHERE_H

#include <stdbool.h>

/* Where the current directory is. Zeroed: outside every repository. */
struct where {
	char *root; /* the repository, canonical */
	char *here; /* from the root, "" at the root; NULL: it lies outside */
};

/*
 * `mountpoint` is a second place of the same tree, or NULL. Call this before
 * the process changes its directory.
 */
void where_init(struct where *w, const char *root, const char *mountpoint);
void where_release(struct where *w);

/*
 * A path that a user typed, from the root (free it); "" is the root itself.
 * Taken from the current directory if that lies in the repository, else from
 * the root. Symbolic links below the root are not followed, and the path need
 * not exist; it may be a pattern. NULL: it leads out of the repository.
 */
char *where_path(const struct where *w, const char *typed);

/* A path from the root as it is printed, "../a" if need be (free it). */
char *where_shown(const struct where *w, const char *path);

/* Is `path` chosen by the pattern or directory that where_path() returned? */
bool where_matches(const char *pattern, const char *path);

#endif
