/*
 * Which API a request is for, which of its headers are forwarded, and the
 * errors we answer ourselves. Pure.
 */
#ifndef STATETAPE_MANAGER_HTTP_ROUTE_H
#define STATETAPE_MANAGER_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "manager/decide/brain.h"

enum api {
	API_ANTHROPIC,
	API_OPENAI,
	API_CHATGPT, /* Codex with a ChatGPT login */
	APIS,
};

/* The value of the first header of that name, case ignored; NULL: none. */
const char *header_find(const struct header *headers, size_t count,
			const char *name);

/* Does a list header ("a, b") of that name have this word, case ignored? */
bool header_has_word(const struct header *headers, size_t count,
		     const char *name, const char *word);

/* By headers that only one API has, else by the path. */
enum api route_api(const struct request *r);

/* Does it carry a transcript, by method and path? */
bool route_is_turn(const struct request *r);

/*
 * `base` and the target joined (free it; NULL: no memory). A base may end with
 * the "/v1" that targets begin with. With any other path in the base
 * (".../api/paas/v4"), OpenAI's clients leave the "/v1" of the target out;
 * Anthropic's append it.
 */
char *route_url(enum api api, const char *base, const char *target);

/*
 * Is this header hop-by-hop, so that it is not forwarded? Includes those named
 * by the Connection header; and Host, Content-Length and Expect, of which the
 * next connection has its own.
 */
bool route_is_hop(const struct header *headers, size_t count, const char *name);

/*
 * Why we refuse a request, as a sentence, and the status to answer with; NULL:
 * we do not. A request that two HTTP parsers may frame differently is refused.
 */
const char *route_refusal(const struct request *r, int *ret_status);

/* The JSON body of an error in that API's format (free it; NULL: no memory). */
char *route_error(enum api api, int status, const char *message);

#endif
