/* What a cache is read for when a request's items change from one on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/buf.h"
#include "manager/decide/conversation.h"

/* A talk of `count` messages, each one block, with marks at two of them. */
static struct transcript talk(uint32_t count, uint32_t one, uint32_t other,
			      struct buf *body)
{
	struct transcript t = { 0 };
	char text[256];

	*body = BUF((size_t)1 << 20);
	(void)buf_add(body, "{\"model\":\"m\",\"messages\":[", 25);
	for (uint32_t i = 0; i < count; i++) {
		const char *mark = i + 1 == one || i + 1 == other
					   ? ",\"cache_control\":{\"type\":"
					     "\"ephemeral\"}"
					   : "";
		int n = snprintf(text, sizeof(text),
				 "%s{\"role\":\"%s\",\"content\":[{\"type\":"
				 "\"text\",\"text\":\"%u\"%s}]}",
				 i ? "," : "", i % 2 ? "assistant" : "user", i,
				 mark);

		(void)buf_add(body, text, (size_t)n);
	}
	(void)buf_add(body, "]}", 2);
	assert_int_equal(
		transcript_init(&t, DIALECT_MESSAGES, body->data, body->len),
		0);
	assert_int_equal(t.items_count, count);
	return t;
}

static uint32_t reread(uint32_t count, uint32_t one, uint32_t other,
		       uint32_t same)
{
	struct buf body;
	struct transcript t = talk(count, one, other, &body);
	uint32_t n = conversation_reread(&t, same);

	transcript_release(&t);
	buf_release(&body);
	return n;
}

static void near_a_mark_all_in_front_of_the_change_is_read(void **state)
{
	(void)state;
	assert_int_equal(reread(41, 41, 41, 41), 41);
	assert_int_equal(reread(41, 41, 41, 39), 39);
	assert_int_equal(reread(41, 41, 41, 23), 23);
}

static void a_prefix_ends_where_a_request_did(void **state)
{
	(void)state;
	assert_int_equal(reread(41, 41, 41, 38), 37);
	assert_int_equal(reread(41, 41, 41, 22), 0);
}

static void far_from_it_nothing_is(void **state)
{
	(void)state;
	assert_int_equal(reread(41, 41, 41, 21), 0);
	assert_int_equal(reread(41, 41, 41, 3), 0);
}

static void a_mark_in_front_of_the_change_finds_its_own_prefix(void **state)
{
	(void)state;
	assert_int_equal(reread(41, 41, 15, 17), 15);
	assert_int_equal(reread(41, 41, 15, 12), 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			near_a_mark_all_in_front_of_the_change_is_read),
		cmocka_unit_test(a_prefix_ends_where_a_request_did),
		cmocka_unit_test(far_from_it_nothing_is),
		cmocka_unit_test(
			a_mark_in_front_of_the_change_finds_its_own_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
