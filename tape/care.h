/*
 * Remembers, across a crash, which file was being parsed. A file that crashed
 * the process twice is left out until it changes.
 *
 * The note is a mapped page of a file in the state directory: the thread that
 * crashes writes it, and it outlives the process. Only crashes count (signals
 * that the process caused itself), not being killed.
 */
#ifndef STATETAPE_TAPE_CARE_H
#define STATETAPE_TAPE_CARE_H

#include <stdbool.h>

#include "graph/build/tree.h"

#define CARE_NAME    "at-work" /* in the state directory */
#define CARE_CRASHES 2

struct care;

/* Reads the note of the last process, and records crashes of this one from now
   on. One per process. */
int care_open(int dir_fd, struct care **ret);
void care_free(struct care *c);

/* The calling thread parses `path`, until care_end(). */
void care_begin(const char *path, const struct tree_stamp *st);
void care_end(void);

/* Must this version of the file be left out? Any thread may call. */
bool care_avoids(const struct care *c, const char *path,
		 const struct tree_stamp *st);

#endif
