#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager/transcript/rewrite.h"
#include "manager/transcript/transcript.h"

static void read_body(struct transcript *t, enum dialect d, const char *body)
{
	assert_int_equal(transcript_init(t, d, body, strlen(body)), 0);
}

static void the_dialect_follows_from_the_target(void **state)
{
	(void)state;
	assert_int_equal(transcript_dialect("POST", "/v1/messages?beta=true"),
			 DIALECT_MESSAGES);
	assert_int_equal(transcript_dialect("POST", "/api/codex/responses"),
			 DIALECT_RESPONSES);
	assert_int_equal(transcript_dialect("POST", "/v1/chat/completions"),
			 DIALECT_CHAT);
	assert_int_equal(
		transcript_dialect("POST", "/v1/messages/count_tokens"),
		DIALECTS);
	assert_int_equal(transcript_dialect("GET", "/v1/responses"), DIALECTS);
	assert_int_equal(transcript_dialect("POST", "/x?a=/v1/messages"),
			 DIALECTS);
}

static void other_shapes_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"messages\":{}}",
		"{\"messages\":[1]}",
		"{\"messages\":[{\"role\":\"user\",\"content\":1}]}",
		"{\"messages\":[{\"role\":\"user\",\"content\":[1]}]}",
		"{\"input\":1}",
		"{\"input\":[[]]}",
	};
	struct transcript t;
	size_t i;
	int d;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		for (d = 0; d < DIALECTS; d++) {
			if (d == DIALECT_CHAT && i > 4)
				continue;
			assert_int_equal(transcript_init(&t, (enum dialect)d,
							 bad[i],
							 strlen(bad[i])),
					 -EBADMSG);
			transcript_release(&t);
		}
	}
}

/* Clients send a system message as a list first, and later as a string. */
static void the_hash_does_not_depend_on_escapes_lists_or_marks(void **state)
{
	struct transcript a, b;

	(void)state;
	read_body(&a, DIALECT_MESSAGES,
		  "{\"messages\":[{\"role\":\"system\",\"content\":[{\"type\":"
		  "\"text\",\"text\":\"a\\u0062\",\"cache_control\":{\"type\":"
		  "\"ephemeral\"}}]}]}");
	read_body(&b, DIALECT_MESSAGES,
		  "{\"messages\":[{\"content\":\"ab\",\"role\":\"system\"}]}");
	assert_int_equal(a.items_count, 1);
	assert_true(a.items[0].marked);
	assert_int_equal(a.marks, 1);
	assert_int_equal(b.marks, 0);
	assert_true(a.items[0].hash == b.items[0].hash);
	transcript_release(&a);
	transcript_release(&b);
	read_body(&b, DIALECT_MESSAGES,
		  "{\"messages\":[{\"content\":\"ab\",\"role\":\"user\"}]}");
	assert_false(a.items && a.items[0].hash == b.items[0].hash);
	transcript_release(&b);
}

static void results_find_their_calls_in_any_order(void **state)
{
	struct transcript t;

	(void)state;
	read_body(
		&t, DIALECT_RESPONSES,
		"{\"input\":["
		"{\"type\":\"function_call\",\"call_id\":\"0\",\"name\":\"f\","
		"\"arguments\":\"{}\"},"
		"{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"g\","
		"\"arguments\":\"{}\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"1\","
		"\"output\":\"b\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"0\","
		"\"output\":\"a\"},"
		"{\"type\":\"function_call\",\"call_id\":\"0\",\"name\":\"h\","
		"\"arguments\":\"{}\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"0\","
		"\"output\":\"c\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"9\","
		"\"output\":\"orphan\"}]}");
	assert_int_equal(t.items[2].other, 1);
	assert_int_equal(t.items[3].other, 0);
	assert_int_equal(t.items[0].other, 3);
	assert_int_equal(t.items[5].other, 4);
	assert_int_equal(t.items[6].other, ITEM_NONE);
	assert_int_equal(t.items[2].place, 3);
	assert_int_equal(t.items[5].place, 6);
	assert_true(t.repeated);
	transcript_release(&t);
}

static void a_bodys_own_attributes_are_read(void **state)
{
	struct transcript t;

	(void)state;
	read_body(
		&t, DIALECT_MESSAGES,
		"{\"model\":\"m\",\"stream\":true,\"tools\":[{\"name\":\"a\","
		"\"cache_control\":{}}],\"metadata\":{\"user_id\":"
		"\"{\\\"session_id\\\":\\\"s-1\\\"}\"},\"system\":[{\"type\":"
		"\"text\",\"text\":\"x-anthropic-billing-header: "
		"cc_is_subagent=true;\"}],\"context_management\":{\"edits\":[{"
		"\"type\":\"clear_tool_uses_20250919\"}]},\"messages\":[{"
		"\"role\":\"user\",\"content\":\"CRITICAL: Respond with TEXT "
		"ONLY. Summarise.\"}]}");
	assert_true(t.stream && t.tools && t.subagent && t.clears);
	assert_true(t.compaction);
	assert_int_equal(t.marks, 1);
	assert_int_equal(t.system_hash, 0);
	assert_memory_equal(t.session.at, "s-1", 3);
	transcript_release(&t);
	read_body(&t, DIALECT_RESPONSES,
		  "{\"previous_response_id\":\"r\",\"prompt_cache_key\":\"k\","
		  "\"input\":[{\"type\":\"compaction_trigger\"},{\"type\":"
		  "\"additional_tools\",\"tools\":[{}]}]}");
	assert_true(t.partial && t.compaction && t.tools);
	assert_memory_equal(t.session.at, "k", 1);
	transcript_release(&t);
}

static const char one_result[] =
	"{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\","
	"\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":"
	"\"tool\",\"tool_call_id\":\"a\",\"content\":null}]}";

static void impossible_rewrites_are_refused(void **state)
{
	struct replacement x = { 1, "text", 4 };
	struct rewrite_note n[2] = { { 1, "text", 4 }, { 1, "text", 4 } };
	struct rewriting r = { &x, 1, NULL, 0 };
	struct transcript t;
	char *out = NULL;
	size_t len;

	(void)state;
	read_body(&t, DIALECT_CHAT, one_result);
	assert_int_equal(t.items_count, 2);
	assert_int_equal(rewrite(&t, &r, &out, &len), -ENODATA);
	x.item = 0;
	assert_int_equal(rewrite(&t, &r, &out, &len), -EINVAL);
	x = (struct replacement){ 1, "", 0 };
	assert_int_equal(rewrite(&t, &r, &out, &len), -EINVAL);
	/* Its content takes no note. */
	assert_int_equal(t.items[1].place, ITEM_NONE);
	r = (struct rewriting){ NULL, 0, n, 1 };
	assert_int_equal(rewrite(&t, &r, &out, &len), -EINVAL);
	r.notes_count = 2;
	assert_int_equal(rewrite(&t, &r, &out, &len), -EINVAL);
	assert_null(out);
	transcript_release(&t);
}

/* Time and memory are linear in the number of items. */
static void many_items_take_linear_time(void **state)
{
	const uint32_t count = 20000;
	char *body = malloc(256 * (size_t)count), *at = body;
	struct transcript t;
	uint32_t i;

	(void)state;
	at += snprintf(at, 64, "{\"input\":[{}");
	for (i = 0; i < count; i++)
		at += snprintf(
			at, 256,
			",{\"type\":\"function_call\",\"call_id\":\"%u\","
			"\"arguments\":\"\"},{\"type\":"
			"\"function_call_output\",\"call_id\":\"%u\","
			"\"output\":\"\\n\"}",
			i, i);
	at += snprintf(at, 8, "]}");
	assert_int_equal(transcript_init(&t, DIALECT_RESPONSES, body,
					 (size_t)(at - body)),
			 0);
	assert_int_equal(t.items_count, 2 * count + 1);
	for (i = 1; i < t.items_count; i++)
		assert_int_equal(t.items[i].other, i % 2 ? i + 1 : i - 1);
	/* A quadratic table would show here. */
	assert_true(t.arena.bytes < 600 * (size_t)t.items_count);
	transcript_release(&t);
	free(body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_dialect_follows_from_the_target),
		cmocka_unit_test(other_shapes_are_refused),
		cmocka_unit_test(
			the_hash_does_not_depend_on_escapes_lists_or_marks),
		cmocka_unit_test(results_find_their_calls_in_any_order),
		cmocka_unit_test(a_bodys_own_attributes_are_read),
		cmocka_unit_test(impossible_rewrites_are_refused),
		cmocka_unit_test(many_items_take_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
