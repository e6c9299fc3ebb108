/*
 * Which API a request is for, what of its headers goes on, and how we speak
 * to its sender when there is nobody else to do so. Pure.
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

/* The value of the first header of that name, in any case; NULL: none. */
const char *header_find(const struct header *headers, size_t count,
			const char *name);

/* Does a list header ("a, b") of that name hold this word, in any case? */
bool header_has_word(const struct header *headers, size_t count,
		     const char *name, const char *word);

/* By the headers that only one of them has, else by the path. */
enum api route_api(const struct request *r);

/* Is it one that carries a transcript, so that its body is worth reading? */
bool route_is_turn(const struct request *r);

/*
 * The URL to ask: `base` and the target joined (free it; NULL: no memory).
 * A base may end with the "/v1" that targets begin with. OpenAI's clients take
 * any other path of a base for all of it, as in ".../api/paas/v4"; Anthropic's
 * add theirs.
 */
char *route_url(enum api api, const char *base, const char *target);

/*
 * Is this header one between two neighbours, not for whoever is behind them?
 * Those that the Connection header names are, too. Host, Content-Length and
 * Expect count as such: the next connection has its own.
 */
bool route_is_hop(const struct header *headers, size_t count, const char *name);

/*
 * Why a request cannot be passed on, as a sentence, and the status that says
 * so; NULL: it can. Whatever two readers may read in two ways is refused.
 */
const char *route_refusal(const struct request *r, int *ret_status);

/* An error as that API words it (free it; NULL: no memory). */
char *route_error(enum api api, int status, const char *message);

#endif
