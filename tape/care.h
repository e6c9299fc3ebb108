/*
 * Remembers over a crash which file was being read when it happened. A file
 * that brought the process down twice is to be left alone until it changes.
 *
 * The note is a page of a file in the state directory, mapped: it is written
 * by the thread that crashes, and outlives the process. Only a crash counts (a
 * signal that the process raised itself), not being killed.
 */
#ifndef STATETAPE_TAPE_CARE_H
#define STATETAPE_TAPE_CARE_H

#include <stdbool.h>

#include "graph/build/tree.h"

#define CARE_NAME    "at-work" /* in the state directory */
#define CARE_CRASHES 2

struct care;

/* Reads the note of the process before, and minds crashes of this one from now
   on. One per process. */
int care_open(int dir_fd, struct care **ret);
void care_free(struct care *c);

/* Of the calling thread: what it is reading, until it is done. */
void care_begin(const char *path, const struct tree_stamp *st);
void care_end(void);

/* Is this version of the file to be left alone? Any thread may ask. */
bool care_avoids(const struct care *c, const char *path,
		 const struct tree_stamp *st);

#endif
