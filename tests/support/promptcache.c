#include "tests/support/promptcache.h"

#include <stdlib.h>

#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"

#define LIFE_NS	  (300 * 1000000000LL)
#define LOOK_BACK 20
#define SHORTEST  1024
#define READ	  0.1
#define WRITE	  1.25

/* A cached prefix. */
struct kept {
	uint64_t hash;
	uint64_t tokens;
	int64_t used_ns;
};

struct promptcache {
	ARRAY(struct kept) kept;
	ARRAY(uint64_t) last; /* chain of the last request's blocks */
	uint32_t last_marked;
};

struct promptcache *promptcache_new(void)
{
	return must_calloc(1, sizeof(struct promptcache));
}

void promptcache_free(struct promptcache *c)
{
	if (!c)
		return;
	array_release(&c->kept);
	array_release(&c->last);
	free(c);
}

static uint64_t chain(uint64_t before, uint64_t hash)
{
	const uint64_t both[2] = { before, hash };

	return XXH3_64bits(both, sizeof(both));
}

static void forget_old(struct promptcache *c, int64_t now_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->kept.count; i++)
		if (now_ns - c->kept.at[i].used_ns <= LIFE_NS)
			c->kept.at[n++] = c->kept.at[i];
	c->kept.count = n;
}

/* The longest cached prefix of the blocks up to the last mark. */
static struct kept *find_kept(const struct promptcache *c,
			      const uint64_t *blocks, uint32_t marked)
{
	struct kept *found = NULL;

	for (uint32_t i = 0; i < c->kept.count; i++) {
		struct kept *k = &c->kept.at[i];

		for (uint32_t b = marked; b-- > 0 && marked - b <= LOOK_BACK;)
			if (blocks[b] == k->hash &&
			    (!found || k->tokens > found->tokens))
				found = k;
	}
	return found;
}

static bool is_rewritten(const struct promptcache *c, const uint64_t *blocks,
			 uint32_t count)
{
	uint32_t same = 0;

	while (same < c->last.count && same < count &&
	       c->last.at[same] == blocks[same])
		same++;
	return same < c->last_marked;
}

/* The tokens in front of the items, and behind them, and of some items. */
static uint64_t tokens_upto(const struct transcript *t, uint32_t items)
{
	const struct item *last = &t->items[t->items_count - 1];
	size_t inside = last->span.end - t->items[0].span.start, end = 0;

	if (items)
		end = t->items[items - 1].span.end - t->items[0].span.start;
	return (t->len - inside) / 4 + end / 4;
}

struct promptcache_charge promptcache_request(struct promptcache *c,
					      const struct transcript *t,
					      int64_t now_ns)
{
	ARRAY(uint64_t) blocks = { 0 };
	uint64_t at = chain(t->system_hash, t->tools_hash), upto;
	struct promptcache_charge ret = { 0 };
	uint32_t marked = 0;
	struct kept *found;

	forget_old(c, now_ns);
	for (uint32_t i = 0; i < t->items_count; i++) {
		at = chain(at, t->items[i].hash);
		array_push(&blocks, at);
		if (t->items[i].marked)
			marked = i + 1;
	}
	found = find_kept(c, blocks.at, marked);
	if (found) {
		found->used_ns = now_ns;
		ret.read = found->tokens;
	} else if (c->last.count) {
		ret.read = tokens_upto(t, 0);
	}
	upto = tokens_upto(t, marked);
	if (upto < SHORTEST)
		ret.read = upto = marked = 0;
	ret.written = upto > ret.read ? upto - ret.read : 0;
	ret.plain = tokens_upto(t, t->items_count) - upto;
	ret.cost = READ * (double)ret.read + WRITE * (double)ret.written +
		   (double)ret.plain;
	ret.rewritten = is_rewritten(c, blocks.at, blocks.count);
	if (marked)
		array_push(&c->kept, ((struct kept){ blocks.at[marked - 1],
						     upto, now_ns }));
	array_release(&c->last);
	c->last.at = blocks.at;
	c->last.count = blocks.count;
	c->last.size = blocks.size;
	c->last_marked = marked;
	return ret;
}
