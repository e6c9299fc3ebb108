#include "manager/decide/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct price usual = { "*", 0.1, 1.25, 300, 200000, 1024 };

static struct situation pinned(uint32_t cached)
{
	return (struct situation){ .mode = MODE_PINNED,
				   .cached = cached,
				   .since_epoch = 100,
				   .expected = 30,
				   .tokens = 50000,
				   .price = &usual };
}

static struct stale stale_at(uint32_t item, uint64_t behind)
{
	return (struct stale){ .item = item,
			       .action = ACTION_REFRESH,
			       .unnotified = true,
			       .pending = true,
			       .tokens = 5000,
			       .replaced = 500,
			       .behind = behind };
}

static enum epoch one(const struct situation *s, const struct stale *r,
		      enum decision *ret)
{
	return decide(s, r, 1, NULL, 0, ret);
}

static void in_the_cached_part_it_is_told_of_by_a_note(void **state)
{
	struct situation s = pinned(20);
	struct stale r = stale_at(3, 40000);
	enum decision d;

	(void)state;
	assert_int_equal(one(&s, &r, &d), EPOCH_NONE);
	assert_int_equal(d, DECISION_NOTE);
	r.unnotified = false;
	assert_int_equal(one(&s, &r, &d), EPOCH_NONE);
	assert_int_equal(d, DECISION_NONE);
}

static void what_is_not_cached_is_changed_in_place(void **state)
{
	struct situation s = pinned(3);
	struct stale r = stale_at(3, 0);
	enum decision d;

	(void)state;
	assert_int_equal(one(&s, &r, &d), EPOCH_NONE);
	assert_int_equal(d, DECISION_REPLACE);
	s.cached = 0;
	s.free = EPOCH_COLD;
	assert_int_equal(one(&s, &r, &d), EPOCH_COLD);
	assert_int_equal(d, DECISION_REPLACE);
}

static void an_epoch_comes_when_it_pays_and_not_too_often(void **state)
{
	struct situation s = pinned(20);
	struct stale r = stale_at(15, 8000);
	enum decision d;

	(void)state;
	assert_int_equal(one(&s, &r, &d), EPOCH_PROFIT);
	assert_int_equal(d, DECISION_REPLACE);
	s.since_epoch = DECIDE_EPOCH_GAP - 1;
	assert_int_equal(one(&s, &r, &d), EPOCH_NONE);
	assert_int_equal(d, DECISION_NOTE);
}

static void a_context_that_runs_full_is_an_epoch(void **state)
{
	struct situation s = pinned(20);
	struct stale r = stale_at(1, 119000);
	enum decision d;

	(void)state;
	s.tokens = 121000;
	assert_int_equal(one(&s, &r, &d), EPOCH_FULL);
	assert_int_equal(d, DECISION_REPLACE);
}

static void all_that_waits_behind_goes_with_it(void **state)
{
	struct situation s = pinned(20);
	struct stale r[] = { stale_at(2, 90000), stale_at(14, 9000),
			     stale_at(16, 3000) };
	struct sent_note t[] = { { .first = 0, .tokens = 50 },
				 { .first = 1, .tokens = 50 },
				 { .first = UINT32_MAX, .tokens = 50 } };
	enum decision d[3];

	(void)state;
	r[2].unnotified = false;
	assert_int_equal(decide(&s, r, 3, t, 3, d), EPOCH_PROFIT);
	assert_int_equal(d[0], DECISION_NOTE);
	assert_int_equal(d[1], DECISION_REPLACE);
	assert_int_equal(d[2], DECISION_REPLACE);
}

static void eager_is_in_place_at_once_and_off_does_nothing(void **state)
{
	struct situation s = pinned(20);
	struct stale r = stale_at(2, 90000);
	enum decision d;

	(void)state;
	s.mode = MODE_EAGER;
	(void)one(&s, &r, &d);
	assert_int_equal(d, DECISION_REPLACE);
	s.notes_only = true;
	(void)one(&s, &r, &d);
	assert_int_equal(d, DECISION_NOTE);
	s.mode = MODE_OFF;
	(void)one(&s, &r, &d);
	assert_int_equal(d, DECISION_NONE);
}

static void a_subscription_gets_notes_alone(void **state)
{
	struct situation s = pinned(0);
	struct stale r = stale_at(2, 0);
	enum decision d;

	(void)state;
	s.notes_only = true;
	s.free = EPOCH_COLD;
	assert_int_equal(one(&s, &r, &d), EPOCH_NONE);
	assert_int_equal(d, DECISION_NOTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_cached_part_it_is_told_of_by_a_note),
		cmocka_unit_test(what_is_not_cached_is_changed_in_place),
		cmocka_unit_test(an_epoch_comes_when_it_pays_and_not_too_often),
		cmocka_unit_test(a_context_that_runs_full_is_an_epoch),
		cmocka_unit_test(all_that_waits_behind_goes_with_it),
		cmocka_unit_test(
			eager_is_in_place_at_once_and_off_does_nothing),
		cmocka_unit_test(a_subscription_gets_notes_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
