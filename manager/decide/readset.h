/*
 * What the processes of a window opened, listed, and looked for in vain: the
 * tape's READSET, less what the agent read for itself. A process that read a
 * compiled Python file counts as having opened its source.
 */
#ifndef STATETAPE_MANAGER_DECIDE_READSET_H
#define STATETAPE_MANAGER_DECIDE_READSET_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/base/array.h"

struct client;

struct readset_paths {
	char **at;
	uint32_t count, size; /* as an ARRAY has them */
};

struct readset_process {
	uint32_t pid;
	int64_t first_ns; /* when it began to read; 0: unknown */
	struct readset_paths opened, missed, listed;
	bool imports; /* it lists directories to find modules in them */
};

struct readset {
	ARRAY(struct readset_process) processes;
	/* Of all; sorted, each once; the texts are the processes'. */
	struct readset_paths opened, missed;
	struct readset_paths listed;   /* of those that do not import */
	struct readset_paths searched; /* of those that do */
	/* One of them goes by the age of files, or by a cache of its last
	   run: its output may depend on files it did not open. */
	bool by_age;
};

/* Between two times (CLOCK_REALTIME). Fails as client.h says. */
int readset_ask(struct client *c, int64_t from_ns, int64_t to_ns,
		struct readset *ret);
/* Did one of the processes open `path`? */
bool readset_opened(const struct readset *r, const char *path);
void readset_release(struct readset *r);

#endif
