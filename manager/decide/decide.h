/*
 * When a stale record is dealt with, and how: by a note now, in place now, or
 * in place later. Pure: positions, sizes and a price go in, a choice per
 * record comes out.
 *
 * A record in place costs the cache everything behind it; a note at the end
 * costs itself. So in pinned mode a stale record gets a note at once, and its
 * place changes only at an *epoch*: where nothing is cached (the caller says
 * how many items are), where the change pays for itself, or where the context
 * runs out. All that waits behind the first changed place goes with it.
 *
 * What holds for every answer: a record not told of yet is told of (except in
 * MODE_OFF); in MODE_PINNED no cached item changes unless `epoch` says why;
 * the same question has the same answer.
 */
#ifndef STATETAPE_MANAGER_DECIDE_DECIDE_H
#define STATETAPE_MANAGER_DECIDE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "manager/decide/cost.h"
#include "manager/decide/mode.h"
#include "manager/policy/policy.h"

enum epoch {
	EPOCH_NONE,
	EPOCH_COLD,   /* the cache has forgotten the conversation */
	EPOCH_BROKEN, /* tools, model, system or history changed */
	EPOCH_PROFIT, /* what is saved later is more than it costs now */
	EPOCH_FULL,   /* the context nears the model's window */
	EPOCHS
};
extern const char *const epoch_names[EPOCHS];

/* Between two epochs that cost something, in requests. */
#define DECIDE_EPOCH_GAP 20
/* Tokens an epoch must save at least: twenty times a stub. */
#define DECIDE_SHRINK_MIN 600

struct stale {
	uint32_t item; /* its place */
	enum action action;
	bool finished;	   /* true as it is, and to go: never told of */
	bool unnotified;   /* went stale since the model was last told */
	bool pending;	   /* its place does not say so yet */
	uint64_t tokens;   /* as it is sent now */
	uint64_t replaced; /* as it would be in place */
	uint64_t behind;   /* cached tokens from its place on */
};

/*
 * What a note sent earlier says of some records: it goes when they all are in
 * place.
 */
struct sent_note {
	uint32_t first; /* of the waiting ones, as an index; UINT32_MAX: none
			   waits, and it stays */
	uint64_t tokens;
};

struct situation {
	enum mode mode;
	bool notes_only; /* places are not to be touched */
	enum epoch free; /* why items from `cached` on cost nothing, if more
			    than the new ones do: COLD or BROKEN */
	uint32_t cached; /* items whose bytes the cache holds */
	uint32_t since_epoch; /* requests since one that cost something */
	uint32_t expected;    /* requests still to come */
	uint64_t tokens;      /* of the request */
	const struct price *price;
};

enum decision { DECISION_NONE, DECISION_NOTE, DECISION_REPLACE };

/* `stale` by item, rising. Writes one choice for each. */
enum epoch decide(const struct situation *s, const struct stale *stale,
		  size_t stale_count, const struct sent_note *notes,
		  size_t notes_count, enum decision *ret_decisions);

#endif
