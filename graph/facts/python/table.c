/*
 * Open addressing, at most half full. A slot is in use only if it carries the
 * current epoch, so that incrementing the epoch empties the table.
 */
#include "graph/facts/python/table.h"

#include <assert.h>

/* Names are short: a call into the library would take longer. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "graph/base/alloc.h"

#define SLOTS_MIN 256

struct strings_slot {
	uint32_t epoch;
	uint32_t string;
};

struct pairs_slot {
	uint32_t epoch;
	uint32_t a, b;
	uint32_t value;
};

void strings_clear(struct strings *s)
{
	s->ends.count = 0;
	s->text.count = 0;
	s->hashes.count = 0;
	/* After 2^32 files the slots of the first would be in use again. */
	if (++s->epoch == 0) {
		free(s->slots);
		s->slots = NULL;
		s->mask = 0;
		s->epoch = 1;
	}
	(void)strings_add(s, "", 0);
}

void strings_release(struct strings *s)
{
	array_release(&s->ends);
	array_release(&s->text);
	array_release(&s->hashes);
	free(s->slots);
	s->slots = NULL;
}

static struct strings_slot *free_slot(const struct strings *s, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & s->mask;

	while (s->slots[i].epoch == s->epoch)
		i = (i + 1) & s->mask;
	return &s->slots[i];
}

static void grow_strings(struct strings *s)
{
	uint32_t size = s->mask ? 2 * (s->mask + 1) : SLOTS_MIN;
	uint32_t i;

	free(s->slots);
	s->slots = must_calloc(size, sizeof(*s->slots));
	s->mask = size - 1;
	s->epoch = 1;
	for (i = 0; i < s->ends.count; i++)
		*free_slot(s, s->hashes.at[i]) =
			(struct strings_slot){ s->epoch, i };
}

static bool is_string(const struct strings *s, uint32_t string, uint64_t hash,
		      const char *text, uint32_t len)
{
	uint32_t from;

	if (s->hashes.at[string] != hash)
		return false;
	from = string ? s->ends.at[string - 1] : 0;
	return s->ends.at[string] - from - 1 == len &&
	       !memcmp(s->text.at + from, text, len);
}

uint32_t strings_add(struct strings *s, const char *text, uint32_t len)
{
	uint64_t hash = XXH3_64bits(text, len);
	struct strings_slot *slot;
	uint32_t i;

	if (2 * (uint64_t)s->ends.count >= s->mask)
		grow_strings(s);
	for (i = (uint32_t)hash & s->mask;; i = (i + 1) & s->mask) {
		slot = &s->slots[i];
		if (slot->epoch != s->epoch)
			break;
		if (is_string(s, slot->string, hash, text, len))
			return slot->string;
	}
	*slot = (struct strings_slot){ s->epoch, s->ends.count };
	array_append(&s->text, text, len);
	array_push(&s->text, '\0');
	array_push(&s->ends, s->text.count);
	array_push(&s->hashes, hash);
	assert(s->ends.count == s->hashes.count && s->ends.count <= s->mask);
	return slot->string;
}

void pairs_clear(struct pairs *p)
{
	p->count = 0;
	if (++p->epoch == 0) {
		pairs_release(p);
		p->epoch = 1;
	}
}

void pairs_release(struct pairs *p)
{
	free(p->slots);
	p->slots = NULL;
	p->mask = 0;
}

static struct pairs_slot *find(const struct pairs *p, uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(h >> 32) & p->mask;

	while (p->slots[i].epoch == p->epoch &&
	       (p->slots[i].a != a || p->slots[i].b != b))
		i = (i + 1) & p->mask;
	return &p->slots[i];
}

static void grow_pairs(struct pairs *p)
{
	struct pairs old = *p;
	uint32_t size = p->mask ? 2 * (p->mask + 1) : SLOTS_MIN;
	uint32_t i;

	p->slots = must_calloc(size, sizeof(*p->slots));
	p->mask = size - 1;
	for (i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].epoch == old.epoch)
			*find(p, old.slots[i].a, old.slots[i].b) = old.slots[i];
	free(old.slots);
}

uint32_t *pairs_at(struct pairs *p, uint32_t a, uint32_t b, uint32_t fresh)
{
	struct pairs_slot *slot;

	if (2 * (uint64_t)p->count >= p->mask)
		grow_pairs(p);
	slot = find(p, a, b);
	if (slot->epoch != p->epoch) {
		*slot = (struct pairs_slot){ p->epoch, a, b, fresh };
		p->count++;
	}
	assert(p->count <= p->mask); /* a free slot is left: find() ends */
	return &slot->value;
}

bool pairs_has(const struct pairs *p, uint32_t a, uint32_t b)
{
	return p->count && find(p, a, b)->epoch == p->epoch;
}
