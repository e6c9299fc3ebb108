/*
 * Line blame against a model: the model keeps an owner beside each line and
 * splices both through every version, oldest first; lines.h goes back from the
 * newest version by ranges alone. Both must name the same entry for each line,
 * of every version.
 */
#include "tape/query/lines.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tape/ranges.h"

#define ROUNDS	  400
#define VERSIONS  24
#define LINES_MAX 60
#define TEXT_MAX  ((size_t)LINES_MAX * 2)

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) +
	       UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

/* A version, with the model's owner of each line. */
struct version {
	char text[TEXT_MAX];
	uint32_t count;
	uint64_t owner[LINES_MAX];
	struct ranges ranges; /* from the version before */
	bool opaque;	      /* ranges not kept */
};

/* Few letters, so that lines repeat and move. */
static void fill(struct version *v, uint32_t from, uint32_t count)
{
	for (uint32_t i = from; i < from + count; i++) {
		v->text[2 * (size_t)i] = (char)('a' + any(5));
		v->text[2 * (size_t)i + 1] = '\n';
	}
}

/* Copy `old`, with some lines replaced by others at a few places. */
static void change(const struct version *old, struct version *v)
{
	uint32_t done = 0;

	v->count = 0;
	while (done < old->count) {
		uint32_t added = any(8) ? 0 : any(4);

		if (v->count + added + 1 >= LINES_MAX)
			break;
		fill(v, v->count, added);
		v->count += added;
		if (any(6))
			memcpy(v->text + 2 * (size_t)v->count++,
			       old->text + 2 * (size_t)done, 2);
		done++;
	}
	if (v->count + 3 < LINES_MAX && any(3) == 0) {
		fill(v, v->count, 3);
		v->count += 3;
	}
}

/* The model. `n` 0: the version from before the tape. */
static void splice(const struct version *old, struct version *v, uint64_t n)
{
	uint32_t from = 0, to = 0;

	for (size_t k = 0; k <= v->ranges.count; k++) {
		const struct entry_range *r = &v->ranges.ranges[k];
		bool last = k == v->ranges.count;
		uint32_t stop = last ? old->count
				     : r->before - (r->before_count ? 1 : 0);

		while (from < stop)
			v->owner[to++] = old->owner[from++];
		for (uint32_t i = 0; !last && i < r->after_count; i++)
			v->owner[to++] = n;
		from += last ? 0 : r->before_count;
	}
	assert_int_equal(to, v->count);
	for (uint32_t i = 0; v->opaque && i < v->count; i++)
		v->owner[i] = n;
}

static void make(struct version *all)
{
	all[0].count = any(LINES_MAX / 2);
	fill(&all[0], 0, all[0].count);
	for (uint32_t i = 0; i < all[0].count; i++)
		all[0].owner[i] = 0;
	for (uint64_t n = 1; n < VERSIONS; n++) {
		struct version *v = &all[n], *old = &all[n - 1];

		change(old, v);
		v->opaque = any(20) == 0;
		ranges_init(&v->ranges, old->text, 2 * (size_t)old->count,
			    v->text, 2 * (size_t)v->count);
		splice(old, v, n);
	}
}

static void check(const struct version *all, uint64_t newest)
{
	const struct version *v = &all[newest];
	struct lines l;
	uint32_t left = 0;

	lines_init(&l, v->count);
	for (uint64_t n = newest; n > 0; n--) {
		if (all[n].opaque)
			lines_rest(&l, n);
		else
			lines_back(&l, n, all[n].ranges.ranges,
				   all[n].ranges.count);
	}
	for (uint32_t i = 0; i < v->count; i++) {
		assert_int_equal(l.entry[i], v->owner[i]);
		left += !l.entry[i];
	}
	assert_int_equal(l.left, left);
	lines_release(&l);
}

static void going_back_finds_the_owners_that_splicing_kept(void **state)
{
	static struct version all[VERSIONS];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		make(all);
		for (uint64_t n = 0; n < VERSIONS; n++)
			check(all, n);
		for (int n = 1; n < VERSIONS; n++)
			ranges_release(&all[n].ranges);
	}
}

static uint32_t any_number(void)
{
	return any(2) ? any(9) : UINT32_MAX - any(9);
}

/* A store may be damaged: such ranges must not lead out of the arrays. */
static void senseless_ranges_do_no_harm(void **state)
{
	struct entry_range r[3];
	struct lines l;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		lines_init(&l, any(20));
		for (uint64_t n = 1; n < 20; n++) {
			for (int k = 0; k < 3; k++)
				r[k] = (struct entry_range){
					any_number(),
					any_number(),
					any_number(),
					any_number(),
				};
			lines_back(&l, n, r, 3);
		}
		for (uint32_t k = 0; k < l.count; k++)
			assert_true(l.entry[k] || l.place[k]);
		lines_release(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			going_back_finds_the_owners_that_splicing_kept),
		cmocka_unit_test(senseless_ranges_do_no_harm),
	};
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads yet. */
	const char *given = getenv("SEED");

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	(void)printf("SEED=%" PRIu64 "\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
