/*
 * What drifted last: for every symbol the newest entry that has it in each
 * set, so that "has v drifted since s" is one lookup; and for every path the
 * newest entries that touched it, with the lines. Pure: entries in, numbers
 * out. Memory that cannot be had ends the process.
 *
 * Symbols are remembered for ever, touches of paths above a floor: what was
 * before it is filled in from the store when somebody asks that far back, up
 * to DRIFT_ENTRIES_MAX entries.
 */
#ifndef STATETAPE_TAPE_QUERY_DRIFT_H
#define STATETAPE_TAPE_QUERY_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape/store/entry.h"

#define DRIFT_ENTRIES_MAX 200000 /* whose touches are remembered */

struct drift;

/* `head`: the newest entry there is; touches after it are to be told. */
struct drift *drift_new(uint64_t head);
void drift_free(struct drift *d);

/* -- Symbols. */

struct drift_last {
	uint64_t n[ENTRY_SETS]; /* 0: never */
	bool removed;		/* by n[ENTRY_X] */
};

/* From the store, in any order; then by drift_add_entry(). */
void drift_set(struct drift *d, const char *symbol, enum entry_set set,
	       uint64_t n, bool removed);
/* Is anything known of it? */
bool drift_find(const struct drift *d, const char *symbol,
		struct drift_last *ret);

/* The next entry: its symbols and its paths. */
void drift_add_entry(struct drift *d, const struct entry *e);

/* -- Paths. */

/* Entries above it are remembered. */
uint64_t drift_floor(const struct drift *d);
uint64_t drift_head(const struct drift *d);
/* Forget all touches and begin anew with entry n+1, by drift_add_touches(). */
void drift_restart(struct drift *d, uint64_t n);
void drift_add_touches(struct drift *d, const struct entry *e);

struct drift_touch {
	uint64_t n;
	bool had, has; /* there was, there is a file of that name */
	bool changed;  /* its content is another */
	const struct entry_range *ranges; /* none and `changed`: all of it */
	uint32_t ranges_count;
};
/* Those of `path` itself, by their numbers. They are the struct's until the
   next entry. */
size_t drift_path(const struct drift *d, const char *path,
		  const struct drift_touch **ret);
/* The newest that made or removed a name directly in this directory ("" is
   the root); 0: none. */
uint64_t drift_names(const struct drift *d, const char *directory);
/* The newest that made a file of this name or below it; 0: none. */
uint64_t drift_appeared(const struct drift *d, const char *path);
/* The newest gap: what happened before it is not known for sure; 0: none. */
uint64_t drift_gap(const struct drift *d);

size_t drift_bytes(const struct drift *d);

#endif
