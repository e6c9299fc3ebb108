/*
 * The process `statetape tape`: follows the journal and the directory below the
 * mount, keeps the graph, writes and publishes entries, answers questions
 * (tape/README.md).
 */
#ifndef STATETAPE_TAPE_DAEMON_H
#define STATETAPE_TAPE_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct state;

struct tape_config {
	const struct state *state; /* created, with its directory open */
	int root_fd;		   /* the directory below any mount */
	bool journal; /* follow it; else inotify and sweeps alone */
	uint64_t keep_days, keep_bytes; /* how much to keep; 0: no bound */
	const char *anchors;   /* as in tape/anchor/anchor.h; NULL: none */
	uint64_t anchor_every; /* entries between checkpoints; 0: as usual */
	/* Called once, when all questions can be answered. */
	void (*ready)(size_t files, size_t symbols);
};

/*
 * Run until SIGTERM, SIGINT or SIGHUP. 0, or a negative errno after a
 * sentence on stderr. -EBUSY: the repository has a tape already.
 */
int tape_run(const struct tape_config *c);

#endif
