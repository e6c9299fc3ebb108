#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/arena.h"
#include "graph/base/buf.h"
#include "tape/store/pack.h"

static void assert_bytes(const struct packed *p, const char *want, size_t len)
{
	struct buf b = BUF(4096);

	assert_int_equal(store_pack(p, &b), 0);
	assert_int_equal(b.len, len);
	assert_memory_equal(b.data, want, len);
	buf_release(&b);
}

static void packed_bytes_match_the_format(void **state)
{
	static const struct entry_range ranges[] = { { 10, 2, 10, 3 },
						     { 5, 0, 300, 1 } };
	static const struct packed_symbol symbols[] = {
		{ 200, 3, ENTRY_DX, false }, { 1, 0, ENTRY_X, true }
	};
	struct packed p = {
		.origin = ENTRY_OUTSIDE,
		.syntax = ENTRY_BROKEN,
		.had = true,
		.kept = true,
		.bytes = 300,
		.plus = 1,
		.minus = 2,
		.journal_first = 127,
		.journal_last = 255,
		.ranges = ranges,
		.ranges_count = 2,
		.symbols = symbols,
		.symbols_count = 2,
	};

	(void)state;
	/* 5 is 7 before 12; 300 is 287 behind 13. */
	assert_bytes(&p,
		     "\x99\xac\x02\x01\x02\x7f\x80\x01"
		     "\x02\x14\x02\x14\x03\x0d\x00\xbe\x04\x01"
		     "\x02\xc8\x01\x19\x01\x04",
		     24);
}

static void an_empty_entry_packs_into_eight_bytes(void **state)
{
	struct packed p = { 0 };

	(void)state;
	assert_bytes(&p, "\0\0\0\0\0\0\0\0", 8);
}

static void modes_follow_if_they_are_known(void **state)
{
	struct packed p = { .mode_after = 0100644 };

	(void)state;
	assert_bytes(&p, "\0\0\0\0\0\0\0\0\0\0\xa4\x83\x02", 13);
}

static void assert_bad(const char *bytes, size_t len)
{
	struct arena a = { 0 };
	struct packed p;

	assert_int_equal(store_unpack(bytes, len, &a, &p), -EBADMSG);
	arena_release(&a);
}

static void invalid_bytes_are_refused(void **state)
{
	(void)state;
	assert_bad("", 0);
	assert_bad("\0\0\0\0\0\0\0", 7);	  /* too short */
	assert_bad("\0\0\0\0\0\0\0\0\0", 9);	  /* too long */
	assert_bad("\0\0\0\0\0\0\0\0\0\0\0", 11); /* modes of nothing */
	assert_bad("\x03\0\0\0\0\0\0\0", 8);	  /* no such origin */
	assert_bad("\0\x80\0\0\0\0\0\0\0", 9);	  /* 0 in two bytes */
	assert_bad("\0\0\xff\xff\xff\xff\x10\0\0\0\0\0", 12); /* 33 bits */
	assert_bad("\0\0\0\0\0\0\xff\x7f\0", 9);    /* more ranges than bytes */
	assert_bad("\0\0\0\0\0\0\1\1\0\0\0\0", 12); /* line -1 */
	assert_bad("\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\0\0",
		   17); /* 65 bits */
}

static void packing_beyond_the_maximum_fails(void **state)
{
	struct packed p = { .bytes = 300 };

	(void)state;
	for (size_t max = 0; max < 9; max++) {
		struct buf b = BUF(max);

		assert_int_equal(store_pack(&p, &b), -EMSGSIZE);
		buf_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_bytes_match_the_format),
		cmocka_unit_test(an_empty_entry_packs_into_eight_bytes),
		cmocka_unit_test(modes_follow_if_they_are_known),
		cmocka_unit_test(invalid_bytes_are_refused),
		cmocka_unit_test(packing_beyond_the_maximum_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
