/*
 * Invalidates the kernel's caches when the directory below is changed outside
 * the mount: every directory that the kernel knows has an inotify watch, and
 * one thread compares what is below with what the kernel has cached and
 * invalidates what differs.
 *
 * Any thread may call these functions, watch_new() and watch_free() excepted.
 */
#ifndef STATETAPE_FS_NODE_WATCH_H
#define STATETAPE_FS_NODE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct fs;
struct inode;
struct watch;

/* Start the thread. `inotify`: follow changes below. */
int watch_new(struct fs *fs, bool inotify, struct watch **ret);
/* Stop and join the thread. Call before the session is destroyed. */
void watch_free(struct watch *w);

/* Watch directory `i`. Call before its content or status is read. */
void watch_directory(struct watch *w, struct inode *i);

/* True if some directory has no watch, or none has. */
bool watch_incomplete(const struct watch *w);

/* Check all open files now: one was changed, perhaps without an event. */
void watch_check_open(struct watch *w);
/* Check open files every WATCH_SWEEP_MS: one may change without an event. */
void watch_poll_open(struct watch *w);

struct watch_stats {
	bool enabled;
	uint64_t dirs;		/* watches added so far */
	uint64_t refused;	/* watches that could not be added */
	uint64_t overflows;	/* of inotify's event queue */
	uint64_t invalidations; /* sent to the kernel */
};
void watch_stat(const struct watch *w, struct watch_stats *ret);

#endif
