/*
 * Texts lie one after the other in chunks that never move; an open table of
 * numbers, probed linearly, leads to them.
 */
#include "graph/base/intern.h"

#include <string.h>
#include <xxhash.h>

#include "graph/base/memory.h"

#define CHUNK (256u << 10)

struct text {
	const char *at;
	uint32_t len;
	uint32_t hash;
};

struct chunk {
	struct chunk *next;
	size_t used, size;
	char bytes[];
};

struct intern {
	struct chunk *chunks;
	size_t bytes;
	struct text *texts;
	uint32_t count, texts_size;
	uint32_t *slots; /* number + 1, 0: free */
	uint32_t mask;
};

struct intern *intern_new(void)
{
	struct intern *t = must_calloc(1, sizeof(*t));

	t->mask = 1023;
	t->slots = must_calloc(t->mask + 1, sizeof(*t->slots));
	(void)intern_add(t, "", 0);
	return t;
}

void intern_free(struct intern *t)
{
	struct chunk *next;

	if (!t)
		return;
	for (struct chunk *c = t->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(t->texts);
	free(t->slots);
	free(t);
}

/* Where it is, or the free slot where it would be. */
static uint32_t *probe(const struct intern *t, const char *text, size_t len,
		       uint32_t hash)
{
	for (uint32_t at = hash & t->mask;; at = (at + 1) & t->mask) {
		const struct text *have;

		if (!t->slots[at])
			return &t->slots[at];
		have = &t->texts[t->slots[at] - 1];
		if (have->hash == hash && have->len == len &&
		    memcmp(have->at, text, len) == 0)
			return &t->slots[at];
	}
}

static void grow_slots(struct intern *t)
{
	uint32_t mask = t->mask * 2 + 1;
	uint32_t *slots = must_calloc((size_t)mask + 1, sizeof(*slots));

	for (uint32_t id = 0; id < t->count; id++) {
		uint32_t at = t->texts[id].hash & mask;

		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = id + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->mask = mask;
}

static const char *keep(struct intern *t, const char *text, size_t len)
{
	struct chunk *c = t->chunks;
	char *at;

	if (!c || c->size - c->used < len + 1) {
		size_t size = len + 1 > CHUNK ? len + 1 : CHUNK;

		c = must_alloc(sizeof(*c) + size);
		c->next = t->chunks;
		c->used = 0;
		c->size = size;
		t->chunks = c;
		t->bytes += sizeof(*c) + size;
	}
	at = c->bytes + c->used;
	memcpy(at, text, len);
	at[len] = '\0';
	c->used += len + 1;
	return at;
}

uint32_t intern_add(struct intern *t, const char *text, size_t len)
{
	uint32_t hash = (uint32_t)XXH3_64bits(text, len);
	uint32_t *slot = probe(t, text, len, hash);
	uint32_t id;

	if (*slot)
		return *slot - 1;
	id = t->count++;
	*slot = id + 1;
	t->texts = must_grow(t->texts, &t->texts_size, t->count,
			     sizeof(*t->texts));
	t->texts[id] = (struct text){ .at = keep(t, text, len),
				      .len = (uint32_t)len,
				      .hash = hash };
	if (t->count > t->mask / 2)
		grow_slots(t);
	return id;
}

uint32_t intern_find(const struct intern *t, const char *text, size_t len)
{
	uint32_t *slot = probe(t, text, len, (uint32_t)XXH3_64bits(text, len));

	return *slot ? *slot - 1 : INTERN_NONE;
}

const char *intern_text(const struct intern *t, uint32_t id, size_t *ret_len)
{
	if (ret_len)
		*ret_len = t->texts[id].len;
	return t->texts[id].at;
}

uint32_t intern_count(const struct intern *t)
{
	return t->count;
}

size_t intern_bytes(const struct intern *t)
{
	return t->bytes + t->texts_size * sizeof(*t->texts) +
	       ((size_t)t->mask + 1) * sizeof(*t->slots);
}
