/* Both ways of keeping many things: array.h and arena.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/arena.h"
#include "graph/base/array.h"

static void what_is_pushed_stays_in_order(void **state)
{
	ARRAY(uint32_t) a = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		array_push(&a, i * i);
	assert_int_equal(a.count, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(a.at[i], i * i);
	assert_int_equal(*array_last(&a), 999 * 999);
	array_release(&a);
	assert_null(a.at);
	assert_int_equal(a.count, 0);
}

static void what_is_added_is_zero_after_others_were(void **state)
{
	ARRAY(struct {
		char c;
		uint64_t n;
	})
	a = { 0 };
	static const char zeros[sizeof(*a.at)];

	(void)state;
	for (int i = 0; i < 100; i++)
		memset(array_add(&a), 0xff, sizeof(*a.at));
	a.count = 0;
	assert_memory_equal(array_add(&a), zeros, sizeof(zeros));
	array_release(&a);
}

static void appending_nothing_needs_nothing(void **state)
{
	ARRAY(char) a = { 0 };

	(void)state;
	array_append(&a, NULL, 0);
	assert_int_equal(a.count, 0);
	array_append(&a, "abc", 3);
	array_append(&a, "def", 2);
	assert_int_equal(a.count, 5);
	assert_memory_equal(a.at, "abcde", 5);
	array_release(&a);
}

static void what_an_arena_gave_stays_apart_and_aligned(void **state)
{
	static const size_t sizes[] = { 1, 3, 16, 100, 5000, 70000, 0, 17 };
	struct arena a = { 0 };
	char *taken[800];
	size_t i, n = sizeof(sizes) / sizeof(sizes[0]);

	(void)state;
	for (i = 0; i < 800; i++) {
		taken[i] = arena_take(&a, sizes[i % n]);
		assert_int_equal((uintptr_t)taken[i] % _Alignof(max_align_t),
				 0);
		memset(taken[i], (int)i & 0xff, sizes[i % n]);
	}
	for (i = 0; i < 800; i++)
		for (size_t j = 0; j < sizes[i % n]; j++)
			assert_int_equal((unsigned char)taken[i][j], i & 0xff);
	assert_true(a.bytes >= 800 / n * 75137);
	arena_release(&a);
	assert_int_equal(a.bytes, 0);
	assert_non_null(arena_take(&a, 0));
	arena_release(&a);
}

static void a_copy_ends_in_nul(void **state)
{
	struct arena a = { 0 };

	(void)state;
	assert_string_equal(arena_copy(&a, "abcdef", 3), "abc");
	assert_string_equal(arena_copy(&a, NULL, 0), "");
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_pushed_stays_in_order),
		cmocka_unit_test(what_is_added_is_zero_after_others_were),
		cmocka_unit_test(appending_nothing_needs_nothing),
		cmocka_unit_test(what_an_arena_gave_stays_apart_and_aligned),
		cmocka_unit_test(a_copy_ends_in_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
