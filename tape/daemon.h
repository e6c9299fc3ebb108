/*
 * The process `statetape tape`: follows the journal and the directory below,
 * keeps the graph, writes entries, publishes them, answers questions.
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
	bool journal; /* follow it; else only what is noticed outside */
	uint64_t keep_days, keep_bytes; /* what is kept; 0: no bound */
	/* Called once, when questions are answered in full. */
	void (*ready)(size_t files, size_t symbols);
};

/*
 * Run until SIGTERM, SIGINT or SIGHUP. 0, or a negative errno after a
 * sentence on stderr. -EBUSY: the repository has a tape already.
 */
int tape_run(const struct tape_config *c);

#endif
