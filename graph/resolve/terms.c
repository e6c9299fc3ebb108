/*
 * Terms and sets are interned in two tables that only grow: the values of one
 * answer will be those of another. A set is a sorted run of term numbers in
 * `pool`, a tuple a run of set numbers there.
 */
#include "graph/resolve/terms.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#include "graph/base/alloc.h"

struct term_run {
	uint32_t from, count;
};

struct terms {
	struct {
		uint32_t terms_count, sets_count, tuples_count, pool_count;
		uint32_t term_mask, run_mask;
	} n;
	struct term *terms;
	struct term_run *sets;
	struct term_run *tuples;
	uint32_t *pool;
	uint32_t *term_slots, *run_slots; /* number + 1 */
	struct region homes[6];		  /* of these, in this order */
	terms_order *order;
	const void *arg; /* of order() */
};
enum { TERMS, SETS, TUPLES, POOL, TERM_SLOTS, RUN_SLOTS };

/* Sets and tuples share a table of runs; entries of tuples have this bit. */
#define TUPLE_BIT (1u << 31)

struct terms *terms_new(void)
{
	struct terms *t = must_calloc(1, sizeof(*t));

	for (int k = 0; k < 6; k++)
		region_init(&t->homes[k]);
	t->terms = (void *)t->homes[TERMS].at;
	t->sets = (void *)t->homes[SETS].at;
	t->tuples = (void *)t->homes[TUPLES].at;
	t->pool = (void *)t->homes[POOL].at;
	t->term_slots = (void *)t->homes[TERM_SLOTS].at;
	t->run_slots = (void *)t->homes[RUN_SLOTS].at;
	t->n.term_mask = t->n.run_mask = 1023;
	region_need(&t->homes[TERM_SLOTS], 1024, sizeof(uint32_t));
	region_need(&t->homes[RUN_SLOTS], 1024, sizeof(uint32_t));
	/* SET_NONE: an empty run that is not in the table. */
	region_need(&t->homes[SETS], 1, sizeof(*t->sets));
	t->n.sets_count = 1;
	return t;
}

void terms_set_order(struct terms *t, terms_order *order, const void *arg)
{
	t->order = order;
	t->arg = arg;
}

void terms_free(struct terms *t)
{
	if (!t)
		return;
	for (int k = 0; k < 6; k++)
		region_release(&t->homes[k]);
	free(t);
}

void terms_parts(struct terms *t, struct region_part *ret)
{
	const size_t bytes[] = {
		t->n.terms_count * sizeof(*t->terms),
		t->n.sets_count * sizeof(*t->sets),
		t->n.tuples_count * sizeof(*t->tuples),
		t->n.pool_count * sizeof(*t->pool),
		((size_t)t->n.term_mask + 1) * sizeof(*t->term_slots),
		((size_t)t->n.run_mask + 1) * sizeof(*t->run_slots),
	};

	ret[0] =
		(struct region_part){ .numbers = &t->n, .bytes = sizeof(t->n) };
	for (int k = 0; k < 6; k++)
		ret[k + 1] = (struct region_part){ .region = &t->homes[k],
						   .bytes = bytes[k] };
}

const struct term *term_of(const struct terms *t, term_t id)
{
	assert(id < t->n.terms_count);
	return &t->terms[id];
}

const set_t *term_items(const struct terms *t, const struct term *tuple)
{
	assert(tuple->kind == TERM_TUPLE || tuple->kind == TERM_RECORD);
	assert(tuple->b < t->n.tuples_count);
	return t->pool + t->tuples[tuple->b].from;
}

uint32_t term_length(const struct terms *t, const struct term *tuple)
{
	assert(tuple->kind == TERM_TUPLE || tuple->kind == TERM_RECORD);
	assert(tuple->b < t->n.tuples_count);
	return t->tuples[tuple->b].count;
}

size_t set_terms(const struct terms *t, set_t s, const term_t **ret)
{
	assert(s < t->n.sets_count);
	*ret = t->pool + t->sets[s].from;
	return t->sets[s].count;
}

static uint32_t term_hash(uint8_t kind, uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ULL;

	return (uint32_t)((h ^ (uint64_t)kind * 0xc2b2ae3d27d4eb4fULL) >> 29);
}

static void grow_terms(struct terms *t)
{
	uint32_t mask = t->n.term_mask * 2 + 1;

	region_need(&t->homes[TERM_SLOTS], (size_t)mask + 1, sizeof(uint32_t));
	memset(t->term_slots, 0,
	       ((size_t)t->n.term_mask + 1) * sizeof(*t->term_slots));
	for (uint32_t id = 0; id < t->n.terms_count; id++) {
		const struct term *e = &t->terms[id];
		uint32_t at = term_hash(e->kind, e->a, e->b) & mask;

		while (t->term_slots[at])
			at = (at + 1) & mask;
		t->term_slots[at] = id + 1;
	}
	t->n.term_mask = mask;
}

static uint8_t set_depth(const struct terms *t, set_t s)
{
	uint8_t depth = 0;

	for (uint32_t n = 0; n < t->sets[s].count; n++) {
		const struct term *e = &t->terms[t->pool[t->sets[s].from + n]];

		if (e->depth > depth)
			depth = e->depth;
	}
	return depth;
}

static uint8_t tuple_depth(const struct terms *t, uint32_t tuple)
{
	uint8_t depth = 0;

	for (uint32_t n = 0; n < t->tuples[tuple].count; n++) {
		uint8_t d = set_depth(t, t->pool[t->tuples[tuple].from + n]);

		if (d > depth)
			depth = d;
	}
	return depth;
}

static uint8_t depth_of(const struct terms *t, uint8_t kind, uint32_t a,
			uint32_t b)
{
	uint8_t x, y;

	switch (kind) {
	case TERM_TUPLE:
	case TERM_RECORD:
		return (uint8_t)(tuple_depth(t, b) + 1);
	case TERM_DICT:
		x = set_depth(t, a);
		y = set_depth(t, b);
		return (uint8_t)((x > y ? x : y) + 1);
	case TERM_INSTANCE:
	case TERM_WRAPPED:
		return b ? (uint8_t)(set_depth(t, b) + 1) : 0;
	case TERM_OF:
		return (uint8_t)(t->terms[a].depth + 1);
	case TERM_BOUND:
	case TERM_SUPER:
		return (uint8_t)(t->terms[b].depth + 1);
	default:
		return kind < TERM_JOINED ? 0 : (uint8_t)(set_depth(t, a) + 1);
	}
}

term_t term_make(struct terms *t, enum term_kind kind, uint32_t a, uint32_t b)
{
	uint32_t at = term_hash((uint8_t)kind, a, b) & t->n.term_mask;
	term_t id;

	for (; t->term_slots[at]; at = (at + 1) & t->n.term_mask) {
		const struct term *e = &t->terms[t->term_slots[at] - 1];

		if (e->kind == kind && e->a == a && e->b == b)
			return t->term_slots[at] - 1;
	}
	id = t->n.terms_count++;
	t->term_slots[at] = id + 1;
	region_need(&t->homes[TERMS], t->n.terms_count, sizeof(*t->terms));
	t->terms[id] = (struct term){ .kind = (uint8_t)kind,
				      .depth = depth_of(t, (uint8_t)kind, a, b),
				      .a = a,
				      .b = b };
	if (t->n.terms_count > t->n.term_mask / 2)
		grow_terms(t);
	/* set_one() cuts what is one too deep; no set holds it. */
	assert(t->terms[id].depth <= TERM_DEPTH + 1);
	assert(t->n.terms_count <= t->n.term_mask / 2);
	return id;
}

static uint32_t run_hash(const uint32_t *items, uint32_t count, bool tuple)
{
	return (uint32_t)XXH3_64bits_withSeed(items, count * sizeof(*items),
					      tuple);
}

static struct term_run run_of(const struct terms *t, uint32_t slot)
{
	return slot & TUPLE_BIT ? t->tuples[(slot & ~TUPLE_BIT) - 1]
				: t->sets[slot - 1];
}

static void run_enter(struct terms *t, uint32_t slot, uint32_t mask)
{
	struct term_run run = run_of(t, slot);
	uint32_t at =
		run_hash(t->pool + run.from, run.count, slot & TUPLE_BIT) &
		mask;

	while (t->run_slots[at])
		at = (at + 1) & mask;
	t->run_slots[at] = slot;
}

static void grow_runs(struct terms *t)
{
	uint32_t mask = t->n.run_mask * 2 + 1;

	region_need(&t->homes[RUN_SLOTS], (size_t)mask + 1, sizeof(uint32_t));
	memset(t->run_slots, 0,
	       ((size_t)t->n.run_mask + 1) * sizeof(*t->run_slots));
	for (uint32_t n = SET_NONE + 1; n < t->n.sets_count; n++)
		run_enter(t, n + 1, mask);
	for (uint32_t n = 0; n < t->n.tuples_count; n++)
		run_enter(t, (n + 1) | TUPLE_BIT, mask);
	t->n.run_mask = mask;
}

static struct term_run run_keep(struct terms *t, const uint32_t *items,
				uint32_t count)
{
	struct term_run run = { t->n.pool_count, count };

	region_need(&t->homes[POOL], (size_t)t->n.pool_count + count,
		    sizeof(*t->pool));
	memcpy(t->pool + run.from, items, count * sizeof(*items));
	t->n.pool_count += count;
	return run;
}

/* The number of the run of these items, which must not lie in the pool. */
static uint32_t run_make(struct terms *t, const uint32_t *items, uint32_t count,
			 bool tuple)
{
	uint32_t bit = tuple ? TUPLE_BIT : 0;
	uint32_t at = run_hash(items, count, tuple) & t->n.run_mask;
	uint32_t id;

	/* The empty set is SET_NONE, which is not in the table. */
	assert(tuple || (count > 0 && count <= SET_MAX));
	for (; t->run_slots[at]; at = (at + 1) & t->n.run_mask) {
		struct term_run run = run_of(t, t->run_slots[at]);

		if ((t->run_slots[at] & TUPLE_BIT) == bit &&
		    run.count == count &&
		    memcmp(t->pool + run.from, items, count * sizeof(*items)) ==
			    0)
			return (t->run_slots[at] & ~TUPLE_BIT) - 1;
	}
	if (tuple) {
		id = t->n.tuples_count++;
		region_need(&t->homes[TUPLES], t->n.tuples_count,
			    sizeof(*t->tuples));
		t->tuples[id] = run_keep(t, items, count);
	} else {
		id = t->n.sets_count++;
		region_need(&t->homes[SETS], t->n.sets_count, sizeof(*t->sets));
		t->sets[id] = run_keep(t, items, count);
	}
	t->run_slots[at] = (id + 1) | bit;
	if (t->n.sets_count + t->n.tuples_count > t->n.run_mask / 2)
		grow_runs(t);
	assert(t->n.sets_count + t->n.tuples_count <= t->n.run_mask / 2);
	return id;
}

set_t set_term(struct terms *t, term_t id)
{
	return run_make(t, &id, 1, false);
}

/*
 * Leave out what is nested deeper than `depth`, term by term, and nothing
 * else. So cutting is monotone, and cutting then joining gives the same as
 * joining then cutting.
 */
static set_t cut(struct terms *t, set_t s, uint8_t depth);

static uint32_t cut_items(struct terms *t, const set_t *from, uint32_t count,
			  uint8_t depth)
{
	set_t items[TUPLE_MAX];

	assert(count <= TUPLE_MAX);
	memcpy(items, from, count * sizeof(*items));
	for (uint32_t n = 0; n < count; n++)
		items[n] = cut(t, items[n], depth);
	return run_make(t, items, count, true);
}

static set_t cut_term(struct terms *t, term_t id, uint8_t depth)
{
	struct term e = t->terms[id];

	if (e.depth <= depth)
		return set_term(t, id);
	switch (e.kind) {
	case TERM_INSTANCE:
	case TERM_WRAPPED:
		e.b = depth ? cut(t, e.b, (uint8_t)(depth - 1)) : SET_NONE;
		break;
	case TERM_TUPLE:
	case TERM_RECORD:
		if (!depth)
			return SET_NONE;
		e.b = cut_items(t, term_items(t, &e), term_length(t, &e),
				(uint8_t)(depth - 1));
		break;
	default:
		if (!depth || e.kind < TERM_JOINED)
			return SET_NONE;
		e.a = cut(t, e.a, (uint8_t)(depth - 1));
		if (e.kind == TERM_DICT)
			e.b = cut(t, e.b, (uint8_t)(depth - 1));
		break;
	}
	return set_term(t, term_make(t, e.kind, e.a, e.b));
}

static set_t cut(struct terms *t, set_t s, uint8_t depth)
{
	term_t items[SET_MAX];
	const term_t *from;
	size_t count = set_terms(t, s, &from);
	set_t less = SET_NONE;

	if (set_depth(t, s) <= depth)
		return s;
	memcpy(items, from, count * sizeof(*items));
	for (size_t n = 0; n < count; n++)
		less = set_join(t, less, cut_term(t, items[n], depth));
	return less;
}

set_t set_one(struct terms *t, enum term_kind kind, uint32_t a, uint32_t b)
{
	if (depth_of(t, (uint8_t)kind, a, b) > TERM_DEPTH)
		return cut_term(t, term_make(t, kind, a, b), TERM_DEPTH);
	return set_term(t, term_make(t, kind, a, b));
}

/* A run of items, cut so that a tuple of them is not too deep. */
static uint32_t items_run(struct terms *t, const set_t *items, uint32_t count)
{
	return cut_items(t, items, count, TERM_DEPTH - 1);
}

set_t set_tuple(struct terms *t, const set_t *items, uint32_t count)
{
	set_t all = SET_NONE;

	if (count > TUPLE_MAX) {
		for (uint32_t n = 0; n < count; n++)
			all = set_join(t, all, items[n]);
		return set_one(t, TERM_LIST, all, 0);
	}
	return set_term(
		t, term_make(t, TERM_TUPLE, count, items_run(t, items, count)));
}

/* Sort by key, keep the last of equal keys; returns the new count. */
static uint32_t record_sort(uint32_t *keys, set_t *values, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t n = 0; n < count; n++) {
		uint32_t key = keys[n], at = kept;
		set_t value = values[n];

		while (at > 0 && keys[at - 1] > key)
			at--;
		if (at > 0 && keys[at - 1] == key) {
			values[at - 1] = value;
			continue;
		}
		memmove(keys + at + 1, keys + at, (kept - at) * sizeof(*keys));
		memmove(values + at + 1, values + at,
			(kept - at) * sizeof(*values));
		keys[at] = key;
		values[at] = value;
		kept++;
	}
	return kept;
}

/* From sorted keys; of too many keys only the joined values are kept. */
static term_t record_make(struct terms *t, const uint32_t *keys,
			  const set_t *values, uint32_t count)
{
	const uint32_t rest = RECORD_REST;
	set_t all = SET_NONE;

	if (count <= TUPLE_MAX && (count <= 1 || keys[count - 1] != rest))
		return term_make(t, TERM_RECORD, run_make(t, keys, count, true),
				 items_run(t, values, count));
	for (uint32_t n = 0; n < count; n++)
		all = set_join(t, all, values[n]);
	return term_make(t, TERM_RECORD, run_make(t, &rest, 1, true),
			 items_run(t, &all, 1));
}

set_t set_record(struct terms *t, const uint32_t *keys, const set_t *values,
		 uint32_t count)
{
	uint32_t sorted[TUPLE_MAX + 1];
	set_t of[TUPLE_MAX + 1];

	assert(count <= TUPLE_MAX + 1);
	memcpy(sorted, keys, count * sizeof(*keys));
	memcpy(of, values, count * sizeof(*values));
	count = record_sort(sorted, of, count);
	return set_term(t, record_make(t, sorted, of, count));
}

set_t record_at(const struct terms *t, const struct term *record, uint32_t key)
{
	const struct term_run *keys = &t->tuples[record->a];

	for (uint32_t n = 0; n < keys->count; n++)
		if (t->pool[keys->from + n] == key ||
		    t->pool[keys->from + n] == RECORD_REST)
			return term_items(t, record)[n];
	return SET_NONE;
}

static term_t join_records(struct terms *t, const struct term *a,
			   const struct term *b)
{
	uint32_t keys[TUPLE_MAX * 2], i = 0, k = 0, count = 0;
	set_t values[TUPLE_MAX * 2];
	struct term_run x = t->tuples[a->a], y = t->tuples[b->a];

	while (i < x.count || k < y.count) {
		uint32_t left = i < x.count ? t->pool[x.from + i] : 0;
		uint32_t right = k < y.count ? t->pool[y.from + k] : 0;
		bool take_left = i < x.count && (k == y.count || left <= right);
		bool take_right =
			k < y.count && (i == x.count || right <= left);

		keys[count] = take_left ? left : right;
		values[count++] =
			set_join(t, take_left ? term_items(t, a)[i] : SET_NONE,
				 take_right ? term_items(t, b)[k] : SET_NONE);
		i += take_left;
		k += take_right;
	}
	return record_make(t, keys, values, count);
}

static bool joins(const struct terms *t, term_t x, term_t y)
{
	const struct term *a = &t->terms[x], *b = &t->terms[y];

	return a->kind >= TERM_JOINED && a->kind == b->kind &&
	       (a->kind != TERM_TUPLE || a->a == b->a);
}

/* Two terms of one joined kind (tuples: of one length) become one. */
static term_t join_terms(struct terms *t, term_t x, term_t y)
{
	struct term a = t->terms[x], b = t->terms[y];
	set_t items[TUPLE_MAX];
	uint32_t count;
	set_t joined;
	const term_t *only;

	assert(joins(t, x, y));
	if (a.kind == TERM_RECORD)
		return join_records(t, &a, &b);
	if (a.kind == TERM_TUPLE) {
		count = term_length(t, &a);
		for (uint32_t n = 0; n < count; n++)
			items[n] = set_join(t, term_items(t, &a)[n],
					    term_items(t, &b)[n]);
		return term_make(t, a.kind, a.a, items_run(t, items, count));
	}
	joined = set_one(t, a.kind, set_join(t, a.a, b.a),
			 a.kind == TERM_DICT ? set_join(t, a.b, b.b) : 0);
	count = (uint32_t)set_terms(t, joined, &only);
	assert(count == 1);
	return only[0];
}

/* Is items[at] above its left and below its right neighbour? */
static bool is_ordered_at(const term_t *items, uint32_t count, uint32_t at)
{
	return (at == 0 || items[at - 1] < items[at]) &&
	       (at + 1 == count || items[at] < items[at + 1]);
}

/* Insert `x` into the sorted `items`; returns the new count. */
static uint32_t insert(struct terms *t, term_t *items, uint32_t count, term_t x)
{
	uint32_t at = 0;

	for (uint32_t n = 0; n < count; n++) {
		if (items[n] == x)
			return count;
		if (joins(t, items[n], x)) {
			x = join_terms(t, items[n], x);
			count--;
			memmove(items + n, items + n + 1,
				(count - n) * sizeof(*items));
			break;
		}
	}
	while (at < count && items[at] < x)
		at++;
	if (at < count && items[at] == x)
		return count;
	memmove(items + at + 1, items + at, (count - at) * sizeof(*items));
	items[at] = x;
	assert(is_ordered_at(items, count + 1, at));
	return count + 1;
}

static bool is_before(const struct terms *t, term_t a, term_t b)
{
	return t->order ? t->order(t->arg, a, b) < 0 : a < b;
}

/* Drop the last of the terms by t->order; returns the new count. */
static uint32_t drop_last(const struct terms *t, term_t *items, uint32_t count)
{
	uint32_t last = 0;

	for (uint32_t n = 1; n < count; n++)
		if (is_before(t, items[last], items[n]))
			last = n;
	memmove(items + last, items + last + 1,
		(count - 1 - last) * sizeof(*items));
	return count - 1;
}

set_t set_join(struct terms *t, set_t a, set_t b)
{
	term_t items[SET_MAX * 2 + 1], more[SET_MAX];
	uint32_t count, added;
	const term_t *from;

	if (a == b || b == SET_NONE)
		return a;
	if (a == SET_NONE)
		return b;
	count = (uint32_t)set_terms(t, a, &from);
	memcpy(items, from, count * sizeof(*items));
	added = (uint32_t)set_terms(t, b, &from);
	memcpy(more, from, added * sizeof(*more));
	assert(count <= SET_MAX && added <= SET_MAX);
	for (uint32_t n = 0; n < added; n++)
		count = insert(t, items, count, more[n]);
	while (count > SET_MAX)
		count = drop_last(t, items, count);
	return run_make(t, items, count, false);
}

uint32_t terms_run(struct terms *t, const uint32_t *items, uint32_t count)
{
	return run_make(t, items, count, true);
}

const uint32_t *terms_run_items(const struct terms *t, uint32_t run,
				uint32_t *ret_count)
{
	assert(run < t->n.tuples_count);
	*ret_count = t->tuples[run].count;
	return t->pool + t->tuples[run].from;
}
