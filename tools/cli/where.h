/*
 * Paths as users type and read them: from the current directory, as git's are.
 * The tape's are from the repository's root.
 */
#ifndef STATETAPE_TOOLS_CLI_WHERE_H
#define STATETAPE_TOOLS_CLI_WHERE_H

#include <stdbool.h>

/* Where the current directory is. */
struct where {
	char *root; /* the repository, canonical */
	char *here; /* from the root, "" at the root; NULL: it lies outside */
	char *cwd;  /* if it lies outside; may be NULL */
};

/*
 * `mountpoint` is a second place of the same tree, or NULL. Call this before
 * the process changes its directory.
 */
void where_init(struct where *w, const char *root, const char *mountpoint);
void where_release(struct where *w);

/*
 * A path that a user typed, from the root (free it); "" is the root itself.
 * Taken from the current directory, or from the root if that leads out of the
 * repository and the current directory is not in it either. Symbolic links
 * below the root are not followed, and the path need not exist; it may be a
 * pattern. NULL: it leads out of the repository.
 */
char *where_path(const struct where *w, const char *typed);

/* A path from the root as it is printed, "../a" if need be (free it). */
char *where_shown(const struct where *w, const char *path);

/* Is `path` chosen by the pattern or directory that where_path() returned? */
bool where_matches(const char *pattern, const char *path);

#endif
