#include "manager/decide/decide.h"

#include <assert.h>

#include "graph/base/array.h"

const char *const mode_names[MODES] = { "off", "pinned", "eager" };
const char *const epoch_names[EPOCHS] = { "none", "cold", "broken", "profit",
					  "full" };

/* Can it be replaced in place at all? */
static bool replaceable(const struct stale *r)
{
	return r->pending &&
	       (r->action == ACTION_REFRESH || r->action == ACTION_DROP ||
		r->action == ACTION_RERUN);
}

/* Per record, the tokens saved by replacing it. */
static void list_changes(const struct stale *stale, size_t n,
			 const struct sent_note *notes, size_t notes_count,
			 struct cost_change *ret)
{
	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct cost_change){ .behind = stale[i].behind };
		if (replaceable(&stale[i]))
			ret[i].shrink = (int64_t)stale[i].tokens -
					(int64_t)stale[i].replaced;
	}
	/* A note sent earlier goes together with the first record it names. */
	for (size_t i = 0; i < notes_count; i++)
		if (notes[i].first < n)
			ret[notes[i].first].shrink += (int64_t)notes[i].tokens;
}

static int64_t shrink_from(const struct cost_change *c, size_t from, size_t n)
{
	int64_t all = 0;

	for (size_t i = from; i < n; i++)
		all += c[i].shrink;
	return all;
}

/* Where an epoch that must be paid for begins; `n`: there is none. */
static size_t find_cut(const struct situation *s, const struct stale *stale,
		       size_t n, const struct cost_change *c, enum epoch *ret)
{
	size_t cut, first = n;

	*ret = EPOCH_NONE;
	if (s->since_epoch < DECIDE_EPOCH_GAP)
		return n;
	for (size_t i = n; i-- > 0;)
		if (replaceable(&stale[i]))
			first = i;
	if (first < n && s->tokens * 10 > (uint64_t)s->price->window * 6 &&
	    shrink_from(c, first, n) >= DECIDE_SHRINK_MIN) {
		*ret = EPOCH_FULL;
		return first;
	}
	cut = cost_best_cut(s->price, c, n, s->expected, NULL);
	if (cut == n || shrink_from(c, cut, n) < DECIDE_SHRINK_MIN)
		return n;
	*ret = EPOCH_PROFIT;
	return cut;
}

static enum decision choose(const struct situation *s, const struct stale *r,
			    uint32_t from)
{
	bool may = !s->notes_only && replaceable(r);

	bool at_once = s->mode == MODE_EAGER &&
		       (r->recent || r->unnotified || r->finished);

	if (may && (r->item >= from || at_once))
		return DECISION_REPLACE;
	return r->unnotified ? DECISION_NOTE : DECISION_NONE;
}

static void check_input(const struct situation *s, const struct stale *stale,
			size_t count)
{
	assert(s->mode < MODES && s->price);
	for (size_t i = 1; i < count; i++)
		assert(stale[i].item > stale[i - 1].item);
}

/* The invariants of decide.h. */
static void check_decision(const struct situation *s, const struct stale *r,
			   enum decision decision, enum epoch epoch)
{
	assert(!r->unnotified || decision != DECISION_NONE);
	assert(s->mode != MODE_PINNED || r->item >= s->cached ||
	       decision != DECISION_REPLACE || epoch != EPOCH_NONE);
}

/* NOLINTNEXTLINE(readability-function-size): two lists and an answer to each */
enum epoch decide(const struct situation *s, const struct stale *stale,
		  size_t stale_count, const struct sent_note *notes,
		  size_t notes_count, enum decision *ret_decisions)
{
	ARRAY(struct cost_change) changes = { 0 };
	enum epoch epoch = EPOCH_NONE, paid = EPOCH_NONE;
	uint32_t from = s->cached;
	size_t cut;

	check_input(s, stale, stale_count);
	if (s->mode == MODE_OFF) {
		for (size_t i = 0; i < stale_count; i++)
			ret_decisions[i] = DECISION_NONE;
		return EPOCH_NONE;
	}
	if (s->mode == MODE_PINNED && !s->notes_only && stale_count) {
		array_reserve(&changes, stale_count);
		list_changes(stale, stale_count, notes, notes_count,
			     changes.at);
		cut = find_cut(s, stale, stale_count, changes.at, &paid);
		if (cut < stale_count && stale[cut].item < from)
			from = stale[cut].item;
		array_release(&changes);
	}
	for (size_t i = 0; i < stale_count; i++) {
		ret_decisions[i] = choose(s, &stale[i], from);
		if (ret_decisions[i] == DECISION_REPLACE &&
		    stale[i].item < s->cached)
			epoch = paid;
		else if (ret_decisions[i] == DECISION_REPLACE && s->free &&
			 !epoch)
			epoch = s->free;
		check_decision(s, &stale[i], ret_decisions[i], epoch);
	}
	return epoch;
}
