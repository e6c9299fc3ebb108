/*
 * What a request costs with a prompt cache. Pure.
 *
 * A provider caches the prefix of a request for a while. Bytes that the next
 * request repeats are read at a fraction of the price; everything from the
 * first changed byte on is written to the cache at a premium. All costs are in
 * tokens of plain input.
 *
 * Tokens are estimated at four bytes each. The provider's count differs by a
 * factor that is nearly constant within a conversation, and every rule here
 * compares one count with another.
 */
#ifndef STATETAPE_MANAGER_DECIDE_COST_H
#define STATETAPE_MANAGER_DECIDE_COST_H

#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"

struct price {
	char model[48];	   /* glob on the model's name */
	double read;	   /* price of a cached token, relative to input */
	double write;	   /* price of a token written to the cache */
	uint32_t life_s;   /* how long an unused prefix stays cached */
	uint32_t window;   /* the model's context, in tokens */
	uint32_t shortest; /* the shortest prefix that is cached, in tokens */
};

struct prices {
	ARRAY(struct price) rows; /* the first match counts; never empty */
};

/* The built-in table. */
void prices_init(struct prices *ret);
void prices_release(struct prices *p);
/*
 * Insert rows in front: [{"model":"claude-*","read":0.1,"write":1.25,
 * "life_s":300,"window":200000,"shortest":1024},...]. A missing member keeps
 * the value of the row that matched so far. -EINVAL: *ret_why (free it) says
 * what is wrong, and nothing was changed.
 */
int prices_override(struct prices *p, const char *json, char **ret_why);
const struct price *prices_of(const struct prices *p, const char *model,
			      size_t len);

/* For a one-hour cache: twelve times the life, writes at 2 instead of 1.25. */
struct price price_of_hour(const struct price *p);

static inline uint64_t cost_tokens(size_t bytes)
{
	return (bytes + 3) / 4;
}

/* The tokens of a request by price. */
struct charge {
	uint64_t read, written, plain;
};

double cost_of(const struct price *p, const struct charge *c);

/*
 * A pending change in the cached prefix, which would become `shrink` tokens
 * shorter (negative: longer). The `behind` cached tokens from there on would be
 * written anew.
 */
struct cost_change {
	uint64_t behind;
	int64_t shrink;
};

/*
 * `c` is in the order of the request. All changes from some index on are made
 * together, since everything behind the first is written anew. Returns the
 * index with the highest gain over the next `requests` requests, or `n` if no
 * gain is positive: gain = requests * read * shrink - (write - read) * behind.
 */
size_t cost_best_cut(const struct price *p, const struct cost_change *c,
		     size_t n, uint32_t requests, double *ret_gain);

/*
 * The charge for a request of `tokens`, of which the first `same` repeat the
 * previous request of the conversation; `cold`: the cache no longer has it.
 */
struct charge cost_request(const struct price *p, uint64_t tokens,
			   uint64_t same, int cold);

#endif
