#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager/transcript/sse.h"

#define EVENT(type, rest) \
	"event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"

/* clang-format off */
static const char messages[] =
	EVENT("message_start",
	      ",\"message\":{\"content\":[],\"usage\":{\"input_tokens\":3,"
	      "\"cache_creation_input_tokens\":40,\"cache_read_input_tokens\":"
	      "500,\"cache_creation\":{\"ephemeral_1h_input_tokens\":8},"
	      "\"output_tokens\":1}}") ": a comment\n" EVENT("ping", "")
		EVENT("content_block_start",
		      ",\"index\":0,\"content_block\":{\"type\":\"text\","
		      "\"text\":\"\"}")
			EVENT("content_block_delta",
			      ",\"index\":0,\"delta\":{\"type\":\"text_delta\","
			      "\"text\":\"hi\"}") EVENT("content_block_stop",
							",\"index\":0")
				EVENT("content_block_start",
				      ",\"index\":1,\"content_block\":"
				      "{\"type\":\"tool_use\",\"id\":"
				      "\"t1\",\"name\":\"Read\","
				      "\"input\":{}}")
					EVENT("content_block_delta",
					      ",\"index\":1,\"delta\":{"
					      "\"partial_json\":"
					      "\"{\\\"file_path\\\":\"}")
						EVENT("content_block_"
						      "delta",
						      ",\"index\":1,"
						      "\"delta\":{"
						      "\"partial_json\""
						      ":\" "
						      "\\\"a\\\"}\"}");
/* clang-format on */
/* clang-format off */
static const char messages_end[] = EVENT("content_block_stop", ",\"index\":1")
	EVENT("message_delta",
	      ",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{"
	      "\"output_tokens\":77}") EVENT("message_stop", "");
/* clang-format on */

static void check_call(const struct sse_seen *s, uint32_t i, const char *id,
		       const char *name, const char *arguments)
{
	assert_true(i < s->calls_count);
	assert_int_equal(s->calls[i].id.len, strlen(id));
	assert_memory_equal(s->calls[i].id.at, id, strlen(id));
	assert_memory_equal(s->calls[i].name.at, name, strlen(name));
	assert_int_equal(s->calls[i].arguments.len, strlen(arguments));
	assert_memory_equal(s->calls[i].arguments.at, arguments,
			    strlen(arguments));
}

static void a_call_is_known_when_its_block_ends(void **state)
{
	struct sse *s = sse_new(DIALECT_MESSAGES, "text/event-stream");
	const struct sse_seen *seen = sse_seen(s);

	(void)state;
	sse_feed(s, messages, strlen(messages));
	assert_int_equal(seen->calls_count, 0);
	sse_feed(s, messages_end, strlen(messages_end));
	check_call(seen, 0, "t1", "Read", "{\"file_path\": \"a\"}");
	assert_int_equal(seen->stop, STOP_CALL);
	assert_true(seen->over && !seen->lost);
	assert_int_equal(seen->usage.input, 3);
	assert_int_equal(seen->usage.cache_write, 40);
	assert_int_equal(seen->usage.cache_write_1h, 8);
	assert_int_equal(seen->usage.cache_read, 500);
	assert_int_equal(seen->usage.output, 77);
	sse_free(s);
}

static void check_pieces(enum dialect d, const char *text, size_t step,
			 bool carriage)
{
	struct sse *s = sse_new(d, NULL);
	size_t i, n, len = strlen(text);

	for (i = 0; i < len; i += n) {
		n = len - i < step ? len - i : step;
		if (carriage && text[i] == '\n')
			sse_feed(s, "\r", 1);
		sse_feed(s, text + i, n);
	}
	sse_end(s);
	assert_int_equal(sse_seen(s)->calls_count, 2);
	check_call(sse_seen(s), 0, "c1", "exec", "ls \"x\"");
	check_call(sse_seen(s), 1, "c2", "read", "{\"p\":1}");
	assert_int_equal(sse_seen(s)->stop, STOP_CALL);
	assert_int_equal(sse_seen(s)->usage.input, 30);
	assert_int_equal(sse_seen(s)->usage.cache_read, 70);
	assert_int_equal(sse_seen(s)->usage.output, 5);
	assert_true(sse_seen(s)->over && !sse_seen(s)->lost);
	sse_free(s);
}

#define RESPONSE                                                               \
	"{\"object\":\"response\",\"status\":\"completed\",\"output\":["       \
	"{\"type\":\"reasoning\"},{\"type\":\"custom_tool_call\",\"call_id\":" \
	"\"c1\",\"name\":\"exec\",\"input\":\"ls \\\"x\\\"\"},{\"type\":"      \
	"\"function_call\",\"call_id\":\"c2\",\"name\":\"read\",\"arguments\"" \
	":\"{\\\"p\\\":1}\"}],\"usage\":{\"input_tokens\":100,"                \
	"\"input_tokens_details\":{\"cached_tokens\":70},\"output_tokens\":5}" \
	"}"

static void replies_of_responses_are_read_in_any_pieces(void **state)
{
	static const char stream[] = EVENT("response.created",
					   ",\"response\":{}")
		EVENT("response.output_item.done",
		      ",\"item\":{\"type\":\"custom_tool_call\","
		      "\"call_id\":\"c1\",\"name\":\"exec\",\"input\":"
		      "\"ls \\\"x\\\"\"}")
			EVENT("response.completed", ",\"response\":" RESPONSE);
	size_t step;

	(void)state;
	for (step = 1; step < 40; step++)
		check_pieces(DIALECT_RESPONSES, stream, step, false);
	check_pieces(DIALECT_RESPONSES, stream, 1, true);
	check_pieces(DIALECT_RESPONSES, RESPONSE, 7, false);
}

#define CHUNK(delta, rest) \
	"data: {\"choices\":[{\"delta\":{" delta "}" rest "}]}\n\n"
#define USAGE                                                       \
	"\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":5," \
	"\"prompt_tokens_details\":{\"cached_tokens\":70}}"

static void replies_of_chat_are_read_in_any_pieces(void **state)
{
	static const char stream[] = CHUNK("\"content\":\"hi\"",
					   ",\"finish_reason\":null")
		CHUNK("\"tool_calls\":[{\"index\":0,\"id\":\"c1\","
		      "\"function\":{\"name\":\"exec\",\"arguments\":\"\"}}]",
		      "") CHUNK("\"tool_calls\":[{\"index\":0,\"function\":{"
				"\"arguments\":\"ls \"}}]",
				"")
			CHUNK("\"tool_calls\":[{\"index\":0,\"function\":{"
			      "\"arguments\":\"\\\"x\\\"\"}},{\"index\":1,"
			      "\"id\":"
			      "\"c2\",\"function\":{\"name\":\"read\","
			      "\"arguments\":"
			      "\"{\\\"p\\\":1}\"}}]",
			      "") CHUNK("", ",\"finish_reason\":\"tool_"
					    "calls\"") "data: "
						       "{\"choices\":[]"
						       "," USAGE "}\n\ndata: "
						       "[DONE]\n\n";
	static const char whole[] =
		"{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"c1\","
		"\"function\":{\"name\":\"exec\",\"arguments\":\"ls "
		"\\\"x\\\"\"}},{\"id\":\"c2\",\"function\":{\"name\":\"read\","
		"\"arguments\":\"{\\\"p\\\":1}\"}}]},\"finish_reason\":"
		"\"tool_calls\"}]," USAGE "}";
	size_t step;

	(void)state;
	for (step = 1; step < 40; step++)
		check_pieces(DIALECT_CHAT, stream, step, false);
	check_pieces(DIALECT_CHAT, stream, 1, true);
	check_pieces(DIALECT_CHAT, whole, 5, false);
}

static void a_call_that_was_cut_off_is_dropped(void **state)
{
	struct sse *s = sse_new(DIALECT_MESSAGES, "text/event-stream");

	(void)state;
	sse_feed(s, messages, strlen(messages));
	sse_end(s);
	assert_int_equal(sse_seen(s)->calls_count, 0);
	assert_false(sse_seen(s)->over);
	assert_int_equal(sse_seen(s)->stop, STOP_NONE);
	sse_free(s);
}

static void errors_and_invalid_events_are_reported(void **state)
{
	static const char error[] = EVENT("error", ",\"error\":{}");
	struct sse *s = sse_new(DIALECT_MESSAGES, "text/event-stream");

	(void)state;
	sse_feed(s, "data: {nonsense\n\n", 17);
	assert_true(sse_seen(s)->lost);
	sse_feed(s, error, strlen(error));
	assert_int_equal(sse_seen(s)->stop, STOP_ERROR);
	sse_free(s);
	sse_free(NULL);
}

static void an_event_has_a_limit(void **state)
{
	struct sse *s = sse_new(DIALECT_MESSAGES, "text/event-stream");
	char *many = malloc(1 << 20);
	int i;

	(void)state;
	memset(many, 'x', 1 << 20);
	for (i = 0; i < 20; i++)
		sse_feed(s, many, 1 << 20);
	sse_feed(s, "\n\n", 2);
	assert_true(sse_seen(s)->lost);
	sse_feed(s, messages, strlen(messages));
	sse_feed(s, messages_end, strlen(messages_end));
	assert_int_equal(sse_seen(s)->calls_count, 1);
	free(many);
	sse_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_known_when_its_block_ends),
		cmocka_unit_test(replies_of_responses_are_read_in_any_pieces),
		cmocka_unit_test(replies_of_chat_are_read_in_any_pieces),
		cmocka_unit_test(a_call_that_was_cut_off_is_dropped),
		cmocka_unit_test(errors_and_invalid_events_are_reported),
		cmocka_unit_test(an_event_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
