/*
 * Finds out before an agent starts whether a private mount (private.h) leaves
 * it all that it may do in the plain directory: makes one in a child process,
 * serves it, and tries on the repository's own files (survey.h).
 */
#ifndef STATETAPE_FS_MOUNT_TRIAL_H
#define STATETAPE_FS_MOUNT_TRIAL_H

#include <stddef.h>

#include "fs/mount/private.h"

enum trial_verdict {
	TRIAL_FITS,	  /* nothing is different */
	TRIAL_DIFFERS,	  /* `why` names a file and what is different */
	TRIAL_IMPOSSIBLE, /* it cannot be made; `why` says why */
};

struct trial {
	enum trial_verdict verdict;
	enum private_way way; /* if it can be made */
	char *why;
	char *setid;	    /* a set-user-id program of the repository that
			     * gains nothing in it, NULL: none */
	size_t setid_count; /* how many there are */
};

/*
 * `repo`: canonical, not mounted by us. The calling process must have one
 * thread; its namespaces stay as they are.
 */
void trial_run(const char *repo, struct trial *ret);
/* What the user should know of it, one sentence (free it); NULL: nothing. */
char *trial_text(const struct trial *t);
void trial_release(struct trial *t);

#endif
