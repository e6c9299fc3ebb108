/*
 * Arbitrary request heads and bodies: "METHOD TARGET", header lines, an empty
 * line, the body. Routing never leads to another server, refusals have a 4xx
 * status, and a brain without a tape leaves every body as it is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "graph/base/cleanup.h"
#include "manager/http/route.h"

#define HEADERS 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

/* Split the head into lines, in place. */
static void read_head(char *text, size_t len, struct header *headers,
		      struct request *r)
{
	char *body = memmem(text, len, "\n\n", 2), *line, *rest = text;

	r->body = text + len;
	if (body) {
		*body = '\0';
		r->body = body + 2;
		r->len = len - (size_t)(body + 2 - text);
	}
	line = strsep(&rest, "\n");
	r->method = strsep(&line, " ");
	r->target = line ? line : "/";
	while ((line = strsep(&rest, "\n")) && r->headers_count < HEADERS) {
		char *name = strsep(&line, ":");

		headers[r->headers_count++] =
			(struct header){ name, line ? line : "" };
	}
}

static void check_route(const struct request *r)
{
	static const char *const bases[APIS] = {
		[API_ANTHROPIC] = "https://a.example/base",
		[API_OPENAI] = "https://o.example/v1",
		[API_CHATGPT] = "https://c.example/backend-api/codex/",
	};
	enum api api = route_api(r);
	CLEANUP(free_p) char *url = NULL, *error = NULL;
	cJSON *json;
	int status = 0;

	require(api >= 0 && api < APIS);
	url = route_url(api, bases[api], r->target);
	/* No target may lead to another server. */
	require(url &&
		strncmp(url, bases[api], strlen("https://a.example/")) == 0);
	(void)route_is_turn(r);
	if (route_refusal(r, &status))
		require(status >= 400 && status < 500);
	else if (header_find(r->headers, r->headers_count, "Upgrade"))
		require(!header_has_word(r->headers, r->headers_count,
					 "Upgrade", "websocket"));
	for (size_t i = 0; i < r->headers_count; i++)
		(void)route_is_hop(r->headers, r->headers_count,
				   r->headers[i].name);
	require(route_is_hop(r->headers, r->headers_count, "content-LENGTH"));
	error = route_error(api, 502, r->target);
	json = cJSON_Parse(error);
	require(json != NULL);
	cJSON_Delete(json);
}

static void check_brain(const struct request *r)
{
	struct brain_options o = { .repo = "/repo", .mode = MODE_EAGER };
	struct brain *b = NULL;
	struct turn *turn = NULL;
	size_t len = 0;

	require(brain_new(&o, &b, NULL) == 0);
	require(brain_think(b, r, &len, &turn) == NULL && turn);
	turn_status(turn, 200, "text/event-stream");
	turn_reply(turn, r->body, r->len);
	turn_end(turn, true);
	brain_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free_p) char *text = malloc(size + 1);
	struct header headers[HEADERS];
	struct request r = { .headers = headers,
			     .at_ns = 1,
			     .deadline_ns = INT64_MAX };

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	read_head(text, size, headers, &r);
	check_route(&r);
	check_brain(&r);
	return 0;
}
