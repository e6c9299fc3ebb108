/*
 * The drift index: for every symbol the newest entry that has it in each set,
 * so that "has v drifted since s" is one lookup; for every path the newest
 * entries that touched it, with the lines. Pure: entries in, numbers out.
 * Running out of memory ends the process.
 *
 * Symbols are kept forever, touches of paths only above a floor. Earlier
 * touches are loaded from the store when a question reaches that far back, up
 * to DRIFT_ENTRIES_MAX entries.
 */
#ifndef STATETAPE_TAPE_QUERY_DRIFT_H
#define STATETAPE_TAPE_QUERY_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape/store/entry.h"

#define DRIFT_ENTRIES_MAX 200000 /* whose touches are kept */

struct drift;

/*
 * `head` is the newest entry of the store; later ones are added by
 * drift_add_entry().
 */
struct drift *drift_new(uint64_t head);
void drift_free(struct drift *d);

/* -- Symbols. */

struct drift_last {
	uint64_t n[ENTRY_SETS]; /* 0: never */
	bool removed;		/* by entry n[ENTRY_X] */
};

/*
 * Initial filling from the store, in any order; later entries by
 * drift_add_entry().
 */
void drift_set(struct drift *d, const char *symbol, enum entry_set set,
	       uint64_t n, bool removed);
/* False: the symbol is in no entry. */
bool drift_find(const struct drift *d, const char *symbol,
		struct drift_last *ret);

/* Add the next entry: its symbols and its paths. */
void drift_add_entry(struct drift *d, const struct entry *e);

/* -- Paths. */

/* Touches of entries above the floor are kept. */
uint64_t drift_floor(const struct drift *d);
uint64_t drift_head(const struct drift *d);
/*
 * Forget all touches and start over with entry n + 1, by drift_add_touches().
 */
void drift_restart(struct drift *d, uint64_t n);
void drift_add_touches(struct drift *d, const struct entry *e);

struct drift_touch {
	uint64_t n;
	bool had, has; /* a file of that name existed before, after */
	bool changed;  /* the content differs */
	const struct entry_range *ranges; /* `changed`, but none: all */
	uint32_t ranges_count;
};
/*
 * The touches of `path` itself, oldest first. Valid until the next entry is
 * added.
 */
size_t drift_path(const struct drift *d, const char *path,
		  const struct drift_touch **ret);
/*
 * The newest entry that created or removed a name directly in this directory
 * ("" is the root); 0: none.
 */
uint64_t drift_names(const struct drift *d, const char *directory);
/* The newest entry that created a file of this name or below it; 0: none. */
uint64_t drift_appeared(const struct drift *d, const char *path);
/* The newest gap entry, before which changes may be unknown; 0: none. */
uint64_t drift_gap(const struct drift *d);

size_t drift_bytes(const struct drift *d);

#endif
