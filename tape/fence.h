/*
 * Tells when the operations of the file system that were in flight at a moment
 * have ended, without asking its process, which may be stopped, busy or dead
 * (tape/journal/progress.h). For one thread at a time; no call blocks.
 */
#ifndef STATETAPE_TAPE_FENCE_H
#define STATETAPE_TAPE_FENCE_H

#include <stdint.h>

struct progress;

/* Between two looks, and how long operations may take until one gives up. */
#define FENCE_EVERY_NS	  (200 * INT64_C(1000))
#define FENCE_PATIENCE_NS (1000 * INT64_C(1000000))

struct fence {
	struct progress *progress;
	uint64_t begun, ended; /* turns of the counters, and of these drained */
	unsigned old;	       /* the counter that drains */
};

/* `p` must outlive it. */
void fence_init(struct fence *f, struct progress *p);

/* For fence_look(), about all operations in flight now. */
uint64_t fence_ticket(const struct fence *f);

enum fence_state {
	FENCE_PASSED,  /* they have ended, and their lines are written */
	FENCE_WAITS,   /* some have not */
	FENCE_STUCK,   /* the same, and the process is stopped */
	FENCE_UNKNOWN, /* the process does not say */
};
enum fence_state fence_look(struct fence *f, uint64_t ticket);

#endif
