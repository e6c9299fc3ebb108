#include "tools/cli/remove.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#define REMOVE_FDS 16

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	(void)remove(path);
	return 0;
}

int remove_tree(const char *dir)
{
	/* Never delete through a mount that was left over. */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	if (nftw(dir, remove_one, REMOVE_FDS,
		 FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0 ||
	    access(dir, F_OK) == 0)
		return -EBUSY;
	return 0;
}
