/* A temporary directory for one test, removed afterwards with its contents. */
#ifndef STATETAPE_TESTS_SUPPORT_SCRATCH_H
#define STATETAPE_TESTS_SUPPORT_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Create one; its path is canonical and short enough for sockets (scratch_free
 * it). NULL: failed.
 */
static inline char *scratch_new(void)
{
	const char *tmp = getenv("TMPDIR"); /* NOLINT(concurrency-*) */
	char *named = NULL;
	char *path = NULL;

	if (asprintf(&named, "%s/st-XXXXXX", tmp ? tmp : P_tmpdir) < 0)
		return NULL;
	if (mkdtemp(named))
		path = realpath(named, NULL);
	free(named);
	return path;
}

static inline int scratch_remove(const char *path, const struct stat *st,
				 int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	(void)remove(path);
	return 0;
}

static inline void scratch_free(char *path)
{
	if (path)
		(void)nftw(path, scratch_remove, 16,
			   FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	free(path);
}

#endif
