#include "manager/decide/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct price usual = { "*", 0.1, 1.25, 300, 200000, 1024 };

static void a_change_pays_when_what_it_saves_exceeds_what_it_costs(void **state)
{
	/* n * d > 11.5 * S: 30 * 1000 against 11.5 * 2600 and 2700. */
	struct cost_change pays = { .behind = 2600, .shrink = 1000 };
	struct cost_change does_not = { .behind = 2700, .shrink = 1000 };

	(void)state;
	assert_int_equal(cost_best_cut(&usual, &pays, 1, 30, NULL), 0);
	assert_int_equal(cost_best_cut(&usual, &does_not, 1, 30, NULL), 1);
}

static void changes_behind_the_first_come_for_nothing(void **state)
{
	struct cost_change c[] = { { 5000, 0 }, { 2000, 600 }, { 900, 600 } };
	double gain;

	(void)state;
	assert_int_equal(cost_best_cut(&usual, c, 3, 30, &gain), 1);
	assert_true(gain > 0);
	assert_int_equal(cost_best_cut(&usual, c, 0, 30, &gain), 0);
	assert_true(gain == 0);
}

static void a_request_reads_what_it_repeats_and_writes_the_rest(void **state)
{
	struct charge c = cost_request(&usual, 10000, 8000, 0);

	(void)state;
	assert_int_equal(c.read, 8000);
	assert_int_equal(c.written, 2000);
	assert_true(cost_of(&usual, &c) == 800 + 2500);
	c = cost_request(&usual, 10000, 8000, 1);
	assert_int_equal(c.read, 0);
	assert_int_equal(c.written, 10000);
	c = cost_request(&usual, 500, 400, 0);
	assert_int_equal(c.plain, 500);
}

static void an_hour_lasts_longer_and_costs_more(void **state)
{
	struct prices p;
	struct price hour;

	(void)state;
	prices_init(&p);
	hour = price_of_hour(prices_of(&p, "claude-opus-4-5", 15));
	assert_int_equal(hour.life_s, 3600);
	assert_true(hour.write == 2.0);
	assert_true(hour.read == 0.1);
	prices_release(&p);
}

static void rows_of_the_user_come_first(void **state)
{
	struct prices p;
	char *why = NULL;

	(void)state;
	prices_init(&p);
	assert_int_equal(prices_of(&p, "claude-x", 8)->life_s, 300);
	assert_int_equal(prices_override(&p,
					 "[{\"model\":\"claude-x\","
					 "\"life_s\":3600,\"write\":2}]",
					 &why),
			 0);
	assert_int_equal(prices_of(&p, "claude-x", 8)->life_s, 3600);
	assert_true(prices_of(&p, "claude-x", 8)->write == 2);
	assert_true(prices_of(&p, "claude-x", 8)->read == 0.1);
	assert_int_equal(prices_of(&p, "claude-y", 8)->life_s, 300);
	prices_release(&p);
}

static void a_table_that_makes_no_sense_changes_nothing(void **state)
{
	static const char *const bad[] = { "",
					   "{}",
					   "[{}]",
					   "[{\"model\":\"a\",\"read\":-1}]",
					   "[{\"model\":\"a\",\"read\":\"x\"}]",
					   "[{\"model\":\"a\",\"window\":0}]" };
	struct prices p;

	(void)state;
	prices_init(&p);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *why = NULL;

		assert_true(prices_override(&p, bad[i], &why) < 0);
		assert_non_null(why);
		free(why);
		assert_int_equal(prices_of(&p, "a", 1)->life_s, 300);
	}
	prices_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_change_pays_when_what_it_saves_exceeds_what_it_costs),
		cmocka_unit_test(changes_behind_the_first_come_for_nothing),
		cmocka_unit_test(
			a_request_reads_what_it_repeats_and_writes_the_rest),
		cmocka_unit_test(an_hour_lasts_longer_and_costs_more),
		cmocka_unit_test(rows_of_the_user_come_first),
		cmocka_unit_test(a_table_that_makes_no_sense_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
