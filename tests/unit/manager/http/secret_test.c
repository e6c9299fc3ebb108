#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager/http/secret.h"

static void each_secret_is_another_and_allowed(void **state)
{
	char one[SECRET_MAX + 1], other[SECRET_MAX + 1];

	(void)state;
	assert_int_equal(secret_draw(one), 0);
	assert_int_equal(secret_draw(other), 0);
	assert_true(strlen(one) >= SECRET_MIN);
	assert_true(secret_allows(one));
	assert_string_not_equal(one, other);
}

static void a_word_is_the_secret_or_is_not(void **state)
{
	static const char secret[] = "0123456789abcdef0123456789abcdef";
	const size_t len = sizeof(secret) - 1;
	char word[sizeof(secret)];

	(void)state;
	assert_true(secret_is(secret, secret, len));
	assert_false(secret_is(secret, secret, len - 1));
	assert_false(secret_is(secret, "", 0));
	for (size_t i = 0; i < len; i++) {
		memcpy(word, secret, sizeof(word));
		word[i] ^= 1;
		assert_false(secret_is(secret, word, len));
	}
}

static void short_long_and_odd_ones_are_not_allowed(void **state)
{
	char text[SECRET_MAX + 2];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[SECRET_MAX + 1] = '\0';
	assert_false(secret_allows(text));
	text[SECRET_MAX] = '\0';
	assert_true(secret_allows(text));
	text[3] = '/';
	assert_false(secret_allows(text));
	text[3] = 'a';
	text[SECRET_MIN - 1] = '\0';
	assert_false(secret_allows(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_secret_is_another_and_allowed),
		cmocka_unit_test(a_word_is_the_secret_or_is_not),
		cmocka_unit_test(short_long_and_odd_ones_are_not_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
