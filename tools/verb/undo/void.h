/*
 * Processes whose entries cancel each other out: those that were killed in the
 * midst of an undo, and those that took back what they had done. Undo looks
 * past their entries. The list is the file `undo.void` in the state directory.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_VOID_H
#define STATETAPE_TOOLS_VERB_UNDO_VOID_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "graph/base/array.h"

struct void_process {
	uint64_t pid, start;
};

struct voids {
	ARRAY(struct void_process) all;
};

/* No file is an empty list. Release it with voids_release(). */
void voids_read(struct voids *v, int state_fd);
void voids_release(struct voids *v);
/* Was the entry made by one of them? */
bool voids_has(const struct voids *v, const cJSON *entry);
/* Add the two; a negative errno: they are not added. */
int voids_add(int state_fd, struct void_process killed,
	      struct void_process mender);

#endif
