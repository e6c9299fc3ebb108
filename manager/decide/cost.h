/*
 * What a prompt cache makes of a rewritten request, in money. Pure.
 *
 * A provider keeps the prefix of a request for a while: what the next request
 * repeats byte for byte is read at a fraction of the price, what is new is
 * written at a premium, and what comes after the first changed byte is
 * written anew. All costs are in tokens of plain input.
 *
 * Tokens are estimated: four bytes each. The provider's count differs by a
 * factor that is much the same for all of a conversation, and every rule here
 * compares one amount with another.
 */
#ifndef STATETAPE_MANAGER_DECIDE_COST_H
#define STATETAPE_MANAGER_DECIDE_COST_H

#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"

struct price {
	char model[48];	   /* glob on the model's name */
	double read;	   /* of a token in the cache, relative to input */
	double write;	   /* of a token put there */
	uint32_t life_s;   /* how long an unused prefix is kept */
	uint32_t window;   /* tokens of context the model has */
	uint32_t shortest; /* prefix that is kept at all, in tokens */
};

struct prices {
	ARRAY(struct price) rows; /* the first that matches counts */
};

/* The table that is built in. */
void prices_init(struct prices *ret);
void prices_release(struct prices *p);
/*
 * Put rows in front: [{"model":"claude-*","read":0.1,"write":1.25,
 * "life_s":300,"window":200000,"shortest":1024},...]. Members left out are as
 * the row found so far has them. -EINVAL: *ret_why (free it) says what is
 * wrong, and nothing was changed.
 */
int prices_override(struct prices *p, const char *json, char **ret_why);
const struct price *prices_of(const struct prices *p, const char *model,
			      size_t len);

/* Where a request asks for an hour: twelve times as long, at 2 for 1.25. */
struct price price_of_hour(const struct price *p);

static inline uint64_t cost_tokens(size_t bytes)
{
	return (bytes + 3) / 4;
}

/* What a request was, or would be, charged for. */
struct charge {
	uint64_t read, written, plain;
};

double cost_of(const struct price *p, const struct charge *c);

/*
 * A change that waits: text of the cached prefix that would become shorter
 * (or, negative, longer) by `shrink` tokens. `behind` is how many cached
 * tokens there are from its place on, so that much is written anew.
 */
struct cost_change {
	uint64_t behind;
	int64_t shrink;
};

/*
 * Changes are given in the order of the request. Those from some place on go
 * together, for all behind the first of them is written anew. Returns the
 * first of the run worth most if `requests` more are to come, `n` if none is
 * worth anything: gain = requests * read * shrink - (write - read) * behind.
 */
size_t cost_best_cut(const struct price *p, const struct cost_change *c,
		     size_t n, uint32_t requests, double *ret_gain);

/*
 * What a request costs next to the one before it in the same conversation:
 * `same` of its `tokens` repeat that one's beginning, `cold` if the cache has
 * forgotten it.
 */
struct charge cost_request(const struct price *p, uint64_t tokens,
			   uint64_t same, int cold);

#endif
