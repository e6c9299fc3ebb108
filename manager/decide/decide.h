/*
 * When each stale record gets a note or is replaced. Pure: positions, sizes and
 * a price go in, a decision per record comes out.
 *
 * Replacing a record makes the cache lose everything behind it; a note at the
 * end costs only itself. So in pinned mode a stale record gets a note at once
 * and is replaced only at an *epoch*: where nothing is cached (the caller says
 * how many items are), where the replacement pays for itself, or where the
 * context runs out (manager/README.md, Modes). Everything pending behind the
 * first replaced record is replaced with it.
 *
 * A record that the model's own edits outdated is stale, though it needs no
 * note (own.h).
 *
 * Invariants: an unnotified record gets a note or a replacement (except in
 * MODE_OFF); in MODE_PINNED no cached item changes unless the epoch returned
 * says why; the same input gives the same answer.
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
	EPOCH_COLD,   /* the cache no longer has the conversation */
	EPOCH_BROKEN, /* tools, model, system or history changed */
	EPOCH_PROFIT, /* it saves more later than it costs now */
	EPOCH_FULL,   /* the context nears the model's window */
	EPOCHS
};
extern const char *const epoch_names[EPOCHS];

/* Requests between two epochs that are paid for. */
#define DECIDE_EPOCH_GAP 20
/* Tokens an epoch must save at least: twenty times a stub. */
#define DECIDE_SHRINK_MIN 600

struct stale {
	uint32_t item; /* its position */
	enum action action;
	bool finished;	   /* not stale, but evicted: it gets no note */
	bool recent;	   /* went stale since the last request */
	bool unnotified;   /* a note is due: nothing says so yet */
	bool pending;	   /* not replaced since it went stale */
	uint64_t tokens;   /* of its text as sent so far */
	uint64_t replaced; /* of its replacement */
	uint64_t behind;   /* cached tokens from its position on */
};

/*
 * A section of a note sent earlier; it is removed when its records are
 * replaced.
 */
struct sent_note {
	uint32_t first; /* index of its first pending record; UINT32_MAX: none
			   is pending, and it stays */
	uint64_t tokens;
};

struct situation {
	enum mode mode;
	bool notes_only;      /* never replace */
	enum epoch free;      /* COLD or BROKEN: why more than the new items is
				 uncached; else NONE */
	uint32_t cached;      /* items that the cache holds */
	uint32_t since_epoch; /* requests since an epoch that was paid for */
	uint32_t expected;    /* requests expected to come */
	uint64_t tokens;      /* of the request */
	const struct price *price;
};

enum decision { DECISION_NONE, DECISION_NOTE, DECISION_REPLACE };

/* `stale` is strictly rising by item. Writes a decision for each. */
enum epoch decide(const struct situation *s, const struct stale *stale,
		  size_t stale_count, const struct sent_note *notes,
		  size_t notes_count, enum decision *ret_decisions);

#endif
