#include "tape/anchor/against.h"

#include <errno.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "tape/store/store.h"

#define LINE_MAX_BYTES 8192

/* Numbers of entries whose checkpoint agrees, to find the last good one. */
struct good {
	ARRAY(uint64_t) of;
};

static void good_release(struct good *g)
{
	array_release(&g->of);
}

static void add(struct against_some *some, const struct checkpoint *c)
{
	if (some->count == 0 || c->n < some->first.n)
		some->first = *c;
	if (some->count == 0 || c->n >= some->last.n)
		some->last = *c;
	some->count++;
}

struct chain_at {
	uint8_t chain[ENTRY_CHAIN_SIZE];
};

static int take_chain(const struct entry *e, void *arg)
{
	memcpy(((struct chain_at *)arg)->chain, e->chain, ENTRY_CHAIN_SIZE);
	return 0;
}

/* 1: the store has this chain hash there. 0: another, or a damaged entry. */
static int agrees(struct store *s, const struct checkpoint *c)
{
	struct chain_at at = { 0 };
	int rc = 0;

	if (c->n + 1 == store_first(s))
		memcpy(at.chain, store_root(s), ENTRY_CHAIN_SIZE);
	else
		rc = store_entry(s, c->n, take_chain, &at);
	if (rc == -ENOENT || rc == -EBADMSG)
		return 0;
	if (rc < 0)
		return rc;
	return memcmp(at.chain, c->chain, ENTRY_CHAIN_SIZE) == 0;
}

static struct store *store_of(const struct checkpoint *c,
			      struct store *const *stores, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (store_tape(stores[i]) == c->tape)
			return stores[i];
	return NULL;
}

static int compare(struct store *s, const struct checkpoint *c,
		   struct good *good, struct against *ret)
{
	int rc;

	if (!s)
		add(&ret->other, c);
	else if (c->n > store_head(s))
		add(&ret->behind, c);
	else if (c->n + 1 < store_first(s))
		add(&ret->retired, c);
	else if ((rc = agrees(s, c)) <= 0) {
		add(&ret->differ, c);
		return rc;
	} else {
		add(&ret->agree, c);
		array_push(&good->of, c->n);
	}
	return 0;
}

int against_read(FILE *in, const char *id, struct store *const *stores,
		 size_t count, struct against *ret)
{
	CLEANUP(free_p) char *line = must_alloc(LINE_MAX_BYTES);
	CLEANUP(good_release) struct good good = { 0 };
	struct against a = { 0 };
	struct checkpoint c;
	int rc = 0;

	while (rc == 0 && fgets(line, LINE_MAX_BYTES, in)) {
		if (!checkpoint_parse(line, &c))
			continue;
		if (strcmp(c.repo, id) != 0)
			a.elsewhere++;
		else
			rc = compare(store_of(&c, stores, count), &c, &good,
				     &a);
	}
	if (rc == 0 && ferror(in))
		rc = -EIO;
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; a.differ.count && i < good.of.count; i++)
		if (good.of.at[i] < a.differ.first.n &&
		    good.of.at[i] > a.before_differ)
			a.before_differ = good.of.at[i];
	*ret = a;
	return 0;
}
