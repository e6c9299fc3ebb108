#include "graph/base/buf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void what_is_added_stays_while_it_grows(void **state)
{
	struct buf b = BUF(100000);
	char c;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		c = (char)i;
		assert_int_equal(buf_add(&b, &c, 1), 0);
	}
	assert_int_equal(b.len, 100000);
	for (i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], (char)i);
	buf_release(&b);
}

static void the_maximum_is_reached_and_never_passed(void **state)
{
	struct buf b = BUF(10);

	(void)state;
	assert_int_equal(buf_add(&b, "0123456", 7), 0);
	assert_int_equal(buf_add(&b, "789a", 4), -EMSGSIZE);
	assert_int_equal(b.len, 7);
	assert_int_equal(buf_add(&b, "789", 3), 0);
	assert_memory_equal(b.data, "0123456789", 10);
	assert_int_equal(buf_reserve(&b, 1), -EMSGSIZE);
	assert_true(b.size <= 10);
	buf_release(&b);
}

static void a_size_that_would_wrap_is_refused(void **state)
{
	struct buf b = BUF(10);

	(void)state;
	assert_int_equal(buf_add(&b, "x", 1), 0);
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -EMSGSIZE);
	assert_int_equal(b.len, 1);
	buf_release(&b);
}

static void reserving_leaves_the_length_alone(void **state)
{
	struct buf b = BUF(4096);

	(void)state;
	assert_int_equal(buf_reserve(&b, 4096), 0);
	assert_int_equal(b.len, 0);
	memset(b.data, 'x', 4096);
	buf_release(&b);
}

static void a_released_one_can_be_used_again(void **state)
{
	struct buf b = BUF(16);

	(void)state;
	assert_int_equal(buf_add(&b, "one", 3), 0);
	buf_release(&b);
	assert_null(b.data);
	assert_int_equal(buf_add(&b, "two", 3), 0);
	assert_memory_equal(b.data, "two", 3);
	buf_release(&b);
	buf_release(&b);
}

static void adding_nothing_needs_nothing(void **state)
{
	struct buf b = BUF(0);

	(void)state;
	assert_int_equal(buf_add(&b, NULL, 0), 0);
	assert_int_equal(buf_add(&b, "x", 1), -EMSGSIZE);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_stays_while_it_grows),
		cmocka_unit_test(the_maximum_is_reached_and_never_passed),
		cmocka_unit_test(a_size_that_would_wrap_is_refused),
		cmocka_unit_test(reserving_leaves_the_length_alone),
		cmocka_unit_test(a_released_one_can_be_used_again),
		cmocka_unit_test(adding_nothing_needs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
