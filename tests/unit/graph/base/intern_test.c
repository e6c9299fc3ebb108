#include "graph/base/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int make(void **state)
{
	*state = intern_new();
	return 0;
}

static int make_whole(void **state)
{
	*state = intern_new_whole();
	return 0;
}

static int release(void **state)
{
	intern_free(*state);
	return 0;
}

static void equal_bytes_have_one_number(void **state)
{
	struct intern *t = *state;
	uint32_t a = intern_add(t, "load", 4), b = intern_add(t, "loaded", 6);

	assert_int_equal(intern_add(t, "loader", 4), a);
	assert_int_not_equal(a, b);
	assert_int_equal(intern_find(t, "loaded", 6), b);
}

static void the_empty_string_is_number_nought(void **state)
{
	assert_int_equal(intern_add(*state, "", 0), 0);
	assert_int_equal(intern_find(*state, "x", 0), 0);
}

static void what_was_never_added_is_not_found(void **state)
{
	assert_int_equal(intern_find(*state, "nobody", 6), INTERN_NONE);
	assert_int_equal(intern_count(*state), 1);
}

static void bytes_may_be_anything(void **state)
{
	static const char text[] = { 'a', '\0', (char)0xff, 'b' };
	uint32_t id = intern_add(*state, text, sizeof(text));
	size_t len;
	const char *kept = intern_text(*state, id, &len);

	assert_int_equal(len, sizeof(text));
	assert_memory_equal(kept, text, sizeof(text));
	assert_int_equal(kept[len], '\0');
	assert_int_not_equal(intern_add(*state, "a", 1), id);
}

static void texts_stay_where_they_are_while_the_table_grows(void **state)
{
	struct intern *t = *state;
	const char *first = intern_text(t, intern_add(t, "first", 5), NULL);
	char text[16];

	for (uint32_t k = 0; k < 100000; k++) {
		int len = snprintf(text, sizeof(text), "name%u", k);

		assert_int_equal(intern_add(t, text, (size_t)len), k + 2);
	}
	assert_ptr_equal(intern_text(t, intern_find(t, "first", 5), NULL),
			 first);
	for (uint32_t k = 0; k < 100000; k++) {
		int len = snprintf(text, sizeof(text), "name%u", k);

		assert_int_equal(intern_find(t, text, (size_t)len), k + 2);
		assert_string_equal(intern_text(t, k + 2, NULL), text);
	}
}

/* In both kinds of memory. */
#define EACH(test)                                            \
	cmocka_unit_test_setup_teardown(test, make, release), \
		cmocka_unit_test_setup_teardown(test, make_whole, release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(equal_bytes_have_one_number),
		EACH(the_empty_string_is_number_nought),
		EACH(what_was_never_added_is_not_found),
		EACH(bytes_may_be_anything),
		EACH(texts_stay_where_they_are_while_the_table_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
