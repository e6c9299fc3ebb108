#include "graph/base/base64.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void base64_comes_back(void **state)
{
	static const char bytes[] = "\0\1\2\xff\xfe\xfd~z";

	(void)state;
	for (size_t len = 0; len < sizeof(bytes); len++) {
		char *text = base64_encode(bytes, len), *back = NULL;
		size_t back_len = 99;

		assert_int_equal(base64_decode(text, &back, &back_len), 0);
		assert_int_equal(back_len, len);
		assert_memory_equal(back, bytes, len);
		free(text);
		free(back);
	}
}

static void what_is_no_base64_is_refused(void **state)
{
	static const char *const texts[] = {
		"a", "ab=", "a===", "=abc", "ab=c", "a b=", "====",
		/* white space */
		"QQ==\n\n\n\n", "QU I= \t\r",
		/* unused bits set, text after the end */
		"QR==", "QQ==QQ=="
	};
	char *back;
	size_t len;

	(void)state;
	for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
		assert_int_equal(base64_decode(texts[k], &back, &len),
				 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64_comes_back),
		cmocka_unit_test(what_is_no_base64_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
