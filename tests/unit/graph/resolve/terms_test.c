/*
 * Sets of terms are a lattice: joining gives the same in any order and loses
 * nothing; deep nesting and large sets are cut in one way.
 */
#include "graph/resolve/terms.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int make(void **state)
{
	*state = terms_new();
	return 0;
}

static int release(void **state)
{
	terms_free(*state);
	return 0;
}

static struct term only(struct terms *t, set_t s)
{
	const term_t *terms;

	assert_int_equal(set_terms(t, s, &terms), 1);
	return *term_of(t, terms[0]);
}

static void equal_sets_have_one_number(void **state)
{
	struct terms *t = *state;
	set_t a = set_one(t, TERM_CLASS, 1, 0);
	set_t b = set_one(t, TERM_CLASS, 2, 0);
	set_t c = set_one(t, TERM_FUNCTION, 1, 0);

	assert_int_equal(set_one(t, TERM_CLASS, 1, 0), a);
	assert_int_equal(set_join(t, a, b), set_join(t, b, a));
	assert_int_equal(set_join(t, set_join(t, a, b), c),
			 set_join(t, a, set_join(t, c, b)));
	assert_int_equal(set_join(t, a, set_join(t, a, b)), set_join(t, a, b));
	assert_int_equal(set_join(t, a, SET_NONE), a);
}

static void a_set_holds_one_list_and_joins_what_is_in_it(void **state)
{
	struct terms *t = *state;
	set_t a = set_one(t, TERM_INSTANCE, 1, 0);
	set_t b = set_one(t, TERM_INSTANCE, 2, 0);
	set_t both = set_join(t, set_one(t, TERM_LIST, a, 0),
			      set_one(t, TERM_LIST, b, 0));

	assert_int_equal(only(t, both).kind, TERM_LIST);
	assert_int_equal(only(t, both).a, set_join(t, a, b));
}

static void tuples_of_one_length_join_item_by_item(void **state)
{
	struct terms *t = *state;
	set_t a = set_one(t, TERM_INSTANCE, 1, 0);
	set_t b = set_one(t, TERM_INSTANCE, 2, 0);
	set_t ab[] = { a, b }, ba[] = { b, a }, aba[] = { a, b, a };
	set_t joined = set_join(t, set_tuple(t, ab, 2), set_tuple(t, ba, 2));
	struct term tuple = only(t, joined);
	const term_t *terms;

	assert_int_equal(term_items(t, &tuple)[0], set_join(t, a, b));
	assert_int_equal(term_items(t, &tuple)[1], set_join(t, a, b));
	joined = set_join(t, set_tuple(t, ab, 2), set_tuple(t, aba, 3));
	assert_int_equal(set_terms(t, joined, &terms), 2);
}

static void records_join_by_their_keys(void **state)
{
	struct terms *t = *state;
	set_t a = set_one(t, TERM_INSTANCE, 1, 0);
	set_t b = set_one(t, TERM_INSTANCE, 2, 0);
	uint32_t keys[] = { 8, 7 }, others[] = { 7, 9 };
	set_t ab[] = { a, b };
	struct term r = only(t, set_join(t, set_record(t, keys, ab, 2),
					 set_record(t, others, ab, 2)));

	assert_int_equal(term_length(t, &r), 3);
	assert_int_equal(record_at(t, &r, 7), set_join(t, a, b));
	assert_int_equal(record_at(t, &r, 8), a);
	assert_int_equal(record_at(t, &r, 9), b);
	assert_int_equal(record_at(t, &r, 10), SET_NONE);
}

static void of_equal_keys_in_a_record_the_last_counts(void **state)
{
	struct terms *t = *state;
	set_t a = set_one(t, TERM_INSTANCE, 1, 0);
	set_t b = set_one(t, TERM_INSTANCE, 2, 0);
	uint32_t keys[] = { 7, 8, 7 };
	set_t values[] = { a, a, b };
	struct term r = only(t, set_record(t, keys, values, 3));

	assert_int_equal(term_length(t, &r), 2);
	assert_int_equal(record_at(t, &r, 7), b);
}

/* In any order, and with repetitions. */
static void a_record_of_too_many_keys_keeps_its_values(void **state)
{
	struct terms *t = *state;
	set_t a = set_one(t, TERM_INSTANCE, 1, 0), up = SET_NONE;
	set_t b = set_one(t, TERM_INSTANCE, 2, 0), down = SET_NONE;
	struct term r;

	for (uint32_t k = 0; k <= TUPLE_MAX; k++) {
		uint32_t other = TUPLE_MAX - k;

		up = set_join(t, up, set_record(t, &k, k ? &a : &b, 1));
		down = set_join(t, down,
				set_record(t, &other, other ? &a : &b, 1));
	}
	assert_int_equal(up, down);
	assert_int_equal(
		set_join(t, up, set_record(t, &(uint32_t){ 3 }, &a, 1)), up);
	r = only(t, up);
	assert_int_equal(record_at(t, &r, 3), set_join(t, a, b));
}

static void nested_lists_are_cut_at_the_depth_limit(void **state)
{
	struct terms *t = *state;
	set_t s = SET_NONE, before;
	uint32_t steps = 0;

	do {
		before = s;
		s = set_join(t, s, set_one(t, TERM_LIST, s, 0));
		steps++;
	} while (s != before && steps < 100);
	assert_in_range(steps, 1, TERM_DEPTH + 2);
}

/* Those with the greatest `a` come first. */
static int backwards(const void *arg, term_t a, term_t b)
{
	const struct terms *t = arg;
	uint32_t x = term_of(t, a)->a, y = term_of(t, b)->a;

	return x > y ? -1 : x < y;
}

static void a_set_of_too_many_terms_keeps_the_first(void **state)
{
	struct terms *t = *state;
	set_t up = SET_NONE, down = SET_NONE, halves[2] = { 0, 0 };
	const term_t *terms;

	terms_set_order(t, backwards, t);
	for (uint32_t k = 0; k < 3 * SET_MAX; k++)
		up = set_join(t, up, set_one(t, TERM_CLASS, k, 0));
	for (uint32_t k = 3 * SET_MAX; k-- > 0;)
		down = set_join(t, down, set_one(t, TERM_CLASS, k, 0));
	for (uint32_t k = 0; k < 3 * SET_MAX; k++)
		halves[k % 2] = set_join(t, halves[k % 2],
					 set_one(t, TERM_CLASS, k, 0));
	assert_int_equal(up, down);
	assert_int_equal(up, set_join(t, halves[0], halves[1]));
	assert_int_equal(set_terms(t, up, &terms), SET_MAX);
	for (uint32_t k = 0; k < SET_MAX; k++)
		assert_in_range(term_of(t, terms[k])->a, 2 * SET_MAX,
				3 * SET_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_sets_have_one_number,
						make, release),
		cmocka_unit_test_setup_teardown(
			a_set_holds_one_list_and_joins_what_is_in_it, make,
			release),
		cmocka_unit_test_setup_teardown(
			tuples_of_one_length_join_item_by_item, make, release),
		cmocka_unit_test_setup_teardown(records_join_by_their_keys,
						make, release),
		cmocka_unit_test_setup_teardown(
			of_equal_keys_in_a_record_the_last_counts, make,
			release),
		cmocka_unit_test_setup_teardown(
			a_record_of_too_many_keys_keeps_its_values, make,
			release),
		cmocka_unit_test_setup_teardown(
			nested_lists_are_cut_at_the_depth_limit, make, release),
		cmocka_unit_test_setup_teardown(
			a_set_of_too_many_terms_keeps_the_first, make, release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
