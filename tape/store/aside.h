/*
 * Stores that the tape could not go on with, set aside under another name
 * beside the new one: tape.db.damaged-DATE, or tape.db.newer-DATE if a newer
 * program wrote it. What can be read of them is read with STORE_SALVAGE.
 */
#ifndef STATETAPE_TAPE_STORE_ASIDE_H
#define STATETAPE_TAPE_STORE_ASIDE_H

#include <stddef.h>

/*
 * Set the store at `path` aside, with its log. No process may have it open. A
 * process that is killed within leaves the store or the new name, and the next
 * call finishes what it began. *ret is the new path (free it).
 */
enum store_aside { ASIDE_DAMAGED, ASIDE_NEWER };
int store_set_aside(const char *path, enum store_aside why, char **ret);

/* The paths of those beside `path`, oldest first (store_asides_free() them). */
int store_asides(const char *path, char ***ret, size_t *ret_count);
void store_asides_free(char **paths, size_t count);

#endif
