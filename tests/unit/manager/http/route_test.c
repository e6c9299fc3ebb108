#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "manager/http/route.h"

#define REQUEST(m, t, ...)                                                  \
	(&(struct request){                                                 \
		.method = (m),                                              \
		.target = (t),                                              \
		.headers = (const struct header[]){ __VA_ARGS__ },          \
		.headers_count = sizeof((struct header[]){ __VA_ARGS__ }) / \
				 sizeof(struct header),                     \
	})
#define HOST                           \
	{                              \
		"Host", "127.0.0.1:80" \
	}

static void the_api_follows_from_headers_then_from_the_path(void **state)
{
	(void)state;
	assert_int_equal(route_api(REQUEST("POST", "/v1/messages", HOST)),
			 API_ANTHROPIC);
	assert_int_equal(
		route_api(REQUEST("POST", "/v1/messages/count_tokens", HOST)),
		API_ANTHROPIC);
	assert_int_equal(route_api(REQUEST("GET", "/v1/models", HOST,
					   { "Anthropic-Version", "x" })),
			 API_ANTHROPIC);
	assert_int_equal(route_api(REQUEST("HEAD", "/api/hello", HOST)),
			 API_ANTHROPIC);
	assert_int_equal(route_api(REQUEST("POST", "/v1/responses", HOST)),
			 API_OPENAI);
	assert_int_equal(route_api(REQUEST("GET", "/v1/models?x=1", HOST)),
			 API_OPENAI);
	assert_int_equal(route_api(REQUEST("POST", "/v1/chat/completions", HOST,
					   { "x-api-key", "x" })),
			 API_OPENAI);
	assert_int_equal(route_api(REQUEST("POST", "/chat/completions", HOST)),
			 API_OPENAI);
	assert_int_equal(route_api(REQUEST("GET", "/v1/models", HOST,
					   { "x-api-key", "x" })),
			 API_ANTHROPIC);
	assert_int_equal(route_api(REQUEST("POST", "/v1/responses", HOST,
					   { "ChatGPT-Account-ID", "x" })),
			 API_CHATGPT);
}

static void turns_are_posts_to_three_paths(void **state)
{
	(void)state;
	assert_true(route_is_turn(REQUEST("POST", "/v1/messages", HOST)));
	assert_true(
		route_is_turn(REQUEST("POST", "/v1/messages?beta=true", HOST)));
	assert_true(route_is_turn(REQUEST("POST", "/v1/responses", HOST)));
	assert_true(
		route_is_turn(REQUEST("POST", "/v1/chat/completions", HOST)));
	assert_false(route_is_turn(REQUEST("GET", "/v1/messages", HOST)));
	assert_false(route_is_turn(
		REQUEST("POST", "/v1/messages/count_tokens", HOST)));
	assert_false(
		route_is_turn(REQUEST("POST", "/v1/responses/compact", HOST)));
}

static void assert_url(enum api api, const char *base, const char *target,
		       const char *want)
{
	CLEANUP(free_p) char *url = route_url(api, base, target);

	assert_string_equal(url, want);
}

static void base_and_target_are_joined_without_a_second_v1(void **state)
{
	(void)state;
	assert_url(API_ANTHROPIC, "https://a", "/v1/messages?x",
		   "https://a/v1/messages?x");
	assert_url(API_ANTHROPIC, "https://a/", "/v1/messages",
		   "https://a/v1/messages");
	assert_url(API_OPENAI, "https://a/v1", "/v1/responses",
		   "https://a/v1/responses");
	assert_url(API_OPENAI, "https://a/p/v1/", "/v1/models",
		   "https://a/p/v1/models");
	assert_url(API_OPENAI, "https://a/v1", "/other", "https://a/v1/other");
	assert_url(API_OPENAI, "https://a/", "/v1/models",
		   "https://a/v1/models");
	assert_url(API_OPENAI, "https://a/paas/v4/", "/v1/chat/completions",
		   "https://a/paas/v4/chat/completions");
	assert_url(API_ANTHROPIC, "https://a/anthropic", "/v1/messages",
		   "https://a/anthropic/v1/messages");
	assert_url(API_CHATGPT, "https://c/backend-api/codex", "/v1/responses",
		   "https://c/backend-api/codex/responses");
	assert_url(API_CHATGPT, "https://c/backend-api/codex", "/responses",
		   "https://c/backend-api/codex/responses");
}

static void hop_by_hop_headers_are_not_forwarded(void **state)
{
	static const struct header h[] = {
		{ "connection", "close, X-Mine ,foo" },
		{ "X-Mine", "1" },
		{ "X-Mine-Too", "1" },
	};

	(void)state;
	assert_true(route_is_hop(h, 3, "Connection"));
	assert_true(route_is_hop(h, 3, "x-mine"));
	assert_true(route_is_hop(h, 3, "Foo"));
	assert_true(route_is_hop(h, 3, "transfer-encoding"));
	assert_true(route_is_hop(h, 3, "host"));
	assert_false(route_is_hop(h, 3, "X-Mine-Too"));
	assert_false(route_is_hop(h, 3, "X-Api-Key"));
}

static int refusal(const struct request *r)
{
	int status = 0;

	return route_refusal(r, &status) ? status : 0;
}

static void ambiguous_framing_is_refused(void **state)
{
	(void)state;
	assert_int_equal(
		refusal(REQUEST("POST", "/a", HOST, { "content-length", "5" })),
		0);
	assert_int_equal(refusal(REQUEST("POST", "/a", HOST,
					 { "transfer-encoding", "Chunked" })),
			 0);
	assert_int_equal(
		refusal(REQUEST("POST", "/a", HOST, { "content-length", "5" },
				{ "Transfer-Encoding", "chunked" })),
		400);
	assert_int_equal(
		refusal(REQUEST("POST", "/a", HOST, { "content-length", "5" },
				{ "Content-Length", "5" })),
		400);
	assert_int_equal(refusal(REQUEST("POST", "/a", HOST,
					 { "content-length", "+5" })),
			 400);
	assert_int_equal(refusal(REQUEST("GET", "http://a/", HOST)), 400);
	assert_int_equal(refusal(REQUEST("GET", "/a\x80", HOST)), 400);
	assert_int_equal(refusal(REQUEST("GET", "/a#b", HOST)), 400);
}

static void a_foreign_host_is_refused(void **state)
{
	static const char *const ours[] = { "127.0.0.1", "localhost:8080",
					    "LOCALHOST", "[::1]:1" };
	static const char *const others[] = { "evil.example",
					      "127.0.0.1.evil.example",
					      "localhost.evil.example:80" };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			refusal(REQUEST("GET", "/", { "Host", ours[i] })), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			refusal(REQUEST("GET", "/", { "host", others[i] })),
			421);
	assert_int_equal(refusal(REQUEST("GET", "/v1/responses", HOST,
					 { "Upgrade", "h2c, WebSocket" })),
			 426);
	assert_int_equal(
		refusal(REQUEST("GET", "/", HOST, { "Upgrade", "h2c" })), 0);
}

static void web_pages_are_refused(void **state)
{
	static const struct header theirs[] = {
		{ "Origin", "null" },
		{ "sec-fetch-site", "none" },
		{ "Sec-Fetch-Dest", "empty" },
		{ "Sec-Fetch-Mode", "no-cors" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		assert_int_equal(refusal(REQUEST("GET", "/", HOST, theirs[i])),
				 403);
	assert_int_equal(refusal(REQUEST("OPTIONS", "/", HOST)), 403);
	/* Node's fetch() */
	assert_int_equal(refusal(REQUEST("GET", "/", HOST,
					 { "sec-fetch-mode", "cors" })),
			 0);
	assert_int_equal(refusal(REQUEST("GET", "/", { "Accept", "a" })), 400);
}

static void errors_have_the_format_of_the_api(void **state)
{
	CLEANUP(free_p) char *a = route_error(API_ANTHROPIC, 502, "gone \"x\"");
	CLEANUP(free_p) char *o = route_error(API_OPENAI, 426, "no");

	(void)state;
	assert_string_equal(a,
			    "{\"type\":\"error\",\"error\":{\"type\":"
			    "\"api_error\",\"message\":\"gone \\\"x\\\"\"}}");
	assert_string_equal(o, "{\"error\":{\"message\":\"no\",\"type\":"
			       "\"invalid_request_error\",\"param\":null,"
			       "\"code\":null}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_api_follows_from_headers_then_from_the_path),
		cmocka_unit_test(turns_are_posts_to_three_paths),
		cmocka_unit_test(
			base_and_target_are_joined_without_a_second_v1),
		cmocka_unit_test(hop_by_hop_headers_are_not_forwarded),
		cmocka_unit_test(ambiguous_framing_is_refused),
		cmocka_unit_test(a_foreign_host_is_refused),
		cmocka_unit_test(web_pages_are_refused),
		cmocka_unit_test(errors_have_the_format_of_the_api),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
