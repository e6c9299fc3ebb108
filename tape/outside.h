/*
 * The inotify side of noticing changes in the directory below the mount: a
 * watch on every directory given to outside_watch(). Events say where something
 * happened, never what; the caller looks. Changes through the mount are
 * reported, too. For one thread at a time.
 */
#ifndef STATETAPE_TAPE_OUTSIDE_H
#define STATETAPE_TAPE_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

struct outside;

int outside_open(struct outside **ret);
void outside_free(struct outside *o);

/* Readable when events are pending. */
int outside_fd(const struct outside *o);

/* Watch the directory `dir`, open at `fd`, under that name from now on. */
void outside_watch(struct outside *o, const char *dir, int fd);

struct outside_event {
	const char *path; /* lives until the visitor returns */
	bool directory;
	bool came; /* the name is new */
	bool went; /* the name was removed */
	bool done; /* a writer closed it, or it was moved there whole */
};
typedef void outside_visit(const struct outside_event *e, void *ctx);
/* Visit some of the pending events. False: there are no more. *ret_whole is set
   to false if the queue ran over, and events were lost. */
bool outside_read(struct outside *o, outside_visit *visit, void *ctx,
		  bool *ret_whole);
/*
 * The end of the queue now, as a number of bytes since it was opened:
 * outside_has_read() is true when all events up to there were visited.
 */
uint64_t outside_end(const struct outside *o);
bool outside_has_read(const struct outside *o, uint64_t end);

struct outside_stats {
	uint64_t watched;   /* directories, now */
	uint64_t refused;   /* directories that could not be watched */
	uint64_t overflows; /* of the kernel's queue */
};
void outside_stat(const struct outside *o, struct outside_stats *ret);

#endif
