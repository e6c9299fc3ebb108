/*
 * Notices changes of the directory below the mount, whoever makes them: an
 * inotify watch on every directory it is told of. It says where something
 * happened, never what; whoever hears it looks. What comes through the mount
 * is noticed here, too. One thread's at a time.
 */
#ifndef STATETAPE_TAPE_OUTSIDE_H
#define STATETAPE_TAPE_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

struct outside;

int outside_open(struct outside **ret);
void outside_free(struct outside *o);

/* Readable when there is something to read. */
int outside_fd(const struct outside *o);

/* Watch the directory `dir`, open at `fd`, under that name from now on. */
void outside_watch(struct outside *o, const char *dir, int fd);

struct outside_event {
	const char *path; /* lives until the visitor returns */
	bool directory;
	bool came; /* that name is there, and was not */
	bool went; /* that name was there, and is not */
	bool done; /* its writer closed it, or it was moved there as a whole */
};
typedef void outside_visit(const struct outside_event *e, void *ctx);
/* All there is now. False: the queue ran over, and anything may have
   happened anywhere. */
bool outside_read(struct outside *o, outside_visit *visit, void *ctx);

struct outside_stats {
	uint64_t watched;   /* directories, now */
	uint64_t refused;   /* that could not be */
	uint64_t overflows; /* of the kernel's queue */
};
void outside_stat(const struct outside *o, struct outside_stats *ret);

#endif
