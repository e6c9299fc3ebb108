#include "manager/http/route.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "graph/base/cleanup.h"

static bool same(const char *a, const char *b)
{
	return strcasecmp(a, b) == 0;
}

const char *header_find(const struct header *headers, size_t count,
			const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (same(headers[i].name, name))
			return headers[i].value;
	return NULL;
}

static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (;;) {
		list += strspn(list, " \t,");
		if (!*list)
			return false;
		if (strncasecmp(list, word, len) == 0 &&
		    strchr(" \t,;", list[len]))
			return true;
		list += strcspn(list, ",");
	}
}

bool header_has_word(const struct header *headers, size_t count,
		     const char *name, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (same(headers[i].name, name) &&
		    list_has(headers[i].value, word))
			return true;
	return false;
}

static const char *find(const struct request *r, const char *name)
{
	return header_find(r->headers, r->headers_count, name);
}

/* Is the target `path`, or a path below it, with or without a query? */
static bool is_below(const char *target, const char *path)
{
	size_t len = strlen(path);

	return strncmp(target, path, len) == 0 &&
	       strchr("/?", target[len]) != NULL;
}

static bool is_openais(const char *target)
{
	return is_below(target, "/v1/responses") ||
	       is_below(target, "/v1/chat/completions") ||
	       is_below(target, "/responses") ||
	       is_below(target, "/chat/completions");
}

enum api route_api(const struct request *r)
{
	if (find(r, "chatgpt-account-id"))
		return API_CHATGPT;
	if (find(r, "anthropic-version") || is_below(r->target, "/v1/messages"))
		return API_ANTHROPIC;
	if (is_openais(r->target))
		return API_OPENAI;
	/* Anthropic's clients ask for /api/hello and the like without it. */
	if (find(r, "x-api-key") || !is_below(r->target, "/v1"))
		return API_ANTHROPIC;
	return API_OPENAI;
}

bool route_is_turn(const struct request *r)
{
	static const char *const paths[] = {
		"/v1/messages", "/v1/responses", "/v1/chat/completions",
		"/messages",	"/responses",	 "/chat/completions",
	};
	size_t len = strcspn(r->target, "?");

	if (strcmp(r->method, "POST") != 0)
		return false;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strlen(paths[i]) == len &&
		    strncmp(r->target, paths[i], len) == 0)
			return true;
	return false;
}

/* Do the first `len` bytes of the URL have a path? */
static bool has_path(const char *base, size_t len)
{
	const char *host = memmem(base, len, "://", 3);

	host = host ? host + 3 : base;
	return memchr(host, '/', len - (size_t)(host - base)) != NULL;
}

char *route_url(enum api api, const char *base, const char *target)
{
	size_t len = strlen(base);
	char *url;

	assert(api < APIS);
	while (len > 0 && base[len - 1] == '/')
		len--;
	if (is_below(target, "/v1")) {
		if (len > 3 && strncmp(base + len - 3, "/v1", 3) == 0)
			len -= 3;
		else if (api != API_ANTHROPIC && has_path(base, len))
			target += strlen("/v1");
	}
	url = malloc(len + strlen(target) + 1);
	if (!url)
		return NULL;
	memcpy(url, base, len);
	memcpy(url + len, target, strlen(target) + 1);
	return url;
}

bool route_is_hop(const struct header *headers, size_t count, const char *name)
{
	static const char *const hops[] = {
		"Connection",
		"Content-Length",
		"Expect",
		"Host",
		"Keep-Alive",
		"Proxy-Connection",
		"Proxy-Authorization",
		"TE",
		"Trailer",
		"Transfer-Encoding",
		"Upgrade",
	};

	for (size_t i = 0; i < sizeof(hops) / sizeof(hops[0]); i++)
		if (same(name, hops[i]))
			return true;
	return header_has_word(headers, count, "Connection", name);
}

/*
 * A Host that only this machine's programs use. A web page whose own name was
 * made to resolve to 127.0.0.1 (DNS rebinding) sends that name.
 */
static bool is_loopback(const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost",
					     "[::1]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]);

		if (strncasecmp(host, names[i], len) == 0 &&
		    (host[len] == ':' || !host[len]))
			return true;
	}
	return false;
}

/* Bytes that a URL cannot contain, or a fragment, which is never sent. */
static bool is_odd(const char *target)
{
	for (; *target; target++)
		if (*target <= ' ' || *target > '~' || *target == '#' ||
		    *target == '\\')
			return true;
	return false;
}

static size_t count_of(const struct request *r, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < r->headers_count; i++)
		n += same(r->headers[i].name, name);
	return n;
}

static const char *framing_refusal(const struct request *r)
{
	const char *length = find(r, "Content-Length");
	const char *transfer = find(r, "Transfer-Encoding");

	if (length && transfer)
		return "The request has both a Content-Length and a "
		       "Transfer-Encoding.";
	if (count_of(r, "Content-Length") > 1 ||
	    count_of(r, "Transfer-Encoding") > 1)
		return "The request has more than one Content-Length or "
		       "Transfer-Encoding.";
	if (transfer && !same(transfer, "chunked"))
		return "The request has a Transfer-Encoding other than "
		       "chunked.";
	if (length && (!*length || length[strspn(length, "0123456789")]))
		return "The request's Content-Length is not a number.";
	return NULL;
}

/*
 * Headers that browsers add to the requests of web pages, and programs do not;
 * except that Node's fetch() sends "Sec-Fetch-Mode: cors", alone.
 */
static bool is_from_a_page(const struct request *r)
{
	static const char fetch[] = "Sec-Fetch-";

	for (size_t i = 0; i < r->headers_count; i++) {
		const struct header *h = &r->headers[i];

		if (same(h->name, "Origin"))
			return true;
		if (strncasecmp(h->name, fetch, strlen(fetch)) == 0 &&
		    !(same(h->name, "Sec-Fetch-Mode") &&
		      same(h->value, "cors")))
			return true;
	}
	return same(r->method, "OPTIONS");
}

const char *route_refusal(const struct request *r, int *ret_status)
{
	const char *host = find(r, "Host");
	const char *why = framing_refusal(r);

	*ret_status = 400;
	if (why)
		return why;
	if (!host)
		return "The request has no Host.";
	if (r->target[0] != '/' || is_odd(r->target))
		return "The request's target is not a path.";
	if (count_of(r, "Host") > 1)
		return "The request has more than one Host.";
	*ret_status = 403;
	if (is_from_a_page(r))
		return "Web pages may not use this proxy.";
	*ret_status = 421;
	if (!is_loopback(host))
		return "This proxy serves programs on this machine only; "
		       "the request's Host is another.";
	*ret_status = 426;
	if (header_has_word(r->headers, r->headers_count, "Upgrade",
			    "websocket"))
		return "Websockets are not supported; please use HTTP.";
	return NULL;
}

static bool put(cJSON *to, const char *name, const char *text)
{
	return cJSON_AddStringToObject(to, name, text) != NULL;
}

static bool put_anthropic(cJSON *top, int status, const char *message)
{
	cJSON *error;

	if (!put(top, "type", "error"))
		return false;
	error = cJSON_AddObjectToObject(top, "error");
	return put(error, "type",
		   status < 500 ? "invalid_request_error" : "api_error") &&
	       put(error, "message", message);
}

static bool put_openai(cJSON *top, int status, const char *message)
{
	cJSON *error = cJSON_AddObjectToObject(top, "error");

	return put(error, "message", message) &&
	       put(error, "type",
		   status < 500 ? "invalid_request_error" : "server_error") &&
	       cJSON_AddNullToObject(error, "param") &&
	       cJSON_AddNullToObject(error, "code");
}

char *route_error(enum api api, int status, const char *message)
{
	cJSON *top = cJSON_CreateObject();
	char *text = NULL;

	assert(api < APIS && status >= 400);
	if (api == API_ANTHROPIC ? put_anthropic(top, status, message)
				 : put_openai(top, status, message))
		text = cJSON_PrintUnformatted(top);
	cJSON_Delete(top);
	return text;
}
