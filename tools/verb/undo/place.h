/*
 * Where a repository's files are written so that its tape sees who does it:
 * through the mount, also one that only other processes see. Where nothing is
 * mounted, in the plain directory.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_PLACE_H
#define STATETAPE_TOOLS_VERB_UNDO_PLACE_H

#include <stdbool.h>

#include "tools/cli/repo.h"

struct place {
	int root_fd;
	bool seen; /* by the mount */
};

/* Returns the exit code. */
typedef int place_work(const struct place *p, void *arg);

/*
 * Do the work there, and return its exit code. For a private mount it is done
 * in a child, which enters the mount's namespace and has no other directory
 * than its root; what it leaves in memory is lost.
 */
int place_do(const struct state *s, place_work *work, void *arg);

#endif
