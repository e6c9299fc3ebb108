/*
 * Strings are stored one after the other, each with a NUL, and never move. An
 * open-addressing table of their numbers (tagged.h) finds them.
 *
 * The memory is of one of two kinds. A whole table, which can be written to a
 * file, has regions (region.h), and a string is known by its offset from the
 * first. Tables that are not written may number thousands, more than a process
 * can have regions; they have chunks from malloc(), and a string is known by
 * its address, which is its offset from 0.
 */
#include "graph/base/intern.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
/* Inlined: strings are short, and a call would take longer than the hash. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/tagged.h"

#define CHUNK (16u << 10)

struct interned {
	uint64_t at; /* offset from `base` */
	uint32_t len;
	uint32_t hash;
};

struct intern_chunk {
	struct intern_chunk *next;
	size_t used, size;
	char bytes[];
};

struct intern {
	struct {
		uint64_t bytes; /* of all strings, with their NULs */
		uint32_t count;
		uint32_t mask;
	} numbers;
	uintptr_t base;
	struct interned *texts;
	uint32_t *slots; /* as in tagged.h */

	bool whole; /* in regions; otherwise in chunks */
	struct region bytes_home, texts_home, slots_home;
	struct intern_chunk *chunks;
	uint32_t texts_size;
};

static void begin(struct intern *t)
{
	t->numbers.mask = 1023;
	(void)intern_add(t, "", 0);
}

struct intern *intern_new(void)
{
	struct intern *t = must_calloc(1, sizeof(*t));

	t->slots = must_calloc(1024, sizeof(*t->slots));
	begin(t);
	return t;
}

struct intern *intern_new_whole(void)
{
	struct intern *t = must_calloc(1, sizeof(*t));

	t->whole = true;
	region_init(&t->bytes_home);
	region_init(&t->texts_home);
	region_init(&t->slots_home);
	t->base = (uintptr_t)t->bytes_home.at;
	t->texts = (void *)t->texts_home.at;
	t->slots = (void *)t->slots_home.at;
	region_need(&t->slots_home, 1024, sizeof(*t->slots));
	begin(t);
	return t;
}

static void free_chunks(struct intern *t)
{
	struct intern_chunk *next;

	for (struct intern_chunk *c = t->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
}

void intern_free(struct intern *t)
{
	if (!t)
		return;
	if (t->whole) {
		region_release(&t->bytes_home);
		region_release(&t->texts_home);
		region_release(&t->slots_home);
	} else {
		free_chunks(t);
		free(t->texts);
		free(t->slots);
	}
	free(t);
}

static const char *text_of(const struct intern *t, const struct interned *text)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address, see above. */
	return (const char *)(t->base + (uintptr_t)text->at);
}

/* The slot of a string, or the empty one where it belongs. */
static uint32_t *probe(const struct intern *t, const char *text, size_t len,
		       uint32_t hash)
{
	uint32_t mask = t->numbers.mask;

	for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
		const struct interned *have;

		if (!t->slots[at])
			return &t->slots[at];
		if (!tagged_may_be(t->slots[at], hash, mask))
			continue;
		have = &t->texts[tagged_number(t->slots[at], mask)];
		if (have->hash == hash && have->len == len &&
		    memcmp(text_of(t, have), text, len) == 0)
			return &t->slots[at];
	}
}

/* Twice as many slots, all empty. */
static void clear_slots(struct intern *t)
{
	size_t had = (size_t)t->numbers.mask + 1;

	if (t->whole) {
		region_need(&t->slots_home, had * 2, sizeof(*t->slots));
		memset(t->slots, 0, had * sizeof(*t->slots));
	} else {
		free(t->slots);
		t->slots = must_calloc(had * 2, sizeof(*t->slots));
	}
	t->numbers.mask = t->numbers.mask * 2 + 1;
}

static void grow_slots(struct intern *t)
{
	uint32_t mask;

	clear_slots(t);
	mask = t->numbers.mask;
	for (uint32_t id = 0; id < t->numbers.count; id++) {
		uint32_t hash = t->texts[id].hash, at = hash & mask;

		while (t->slots[at])
			at = (at + 1) & mask;
		t->slots[at] = tagged_of(hash, mask, id);
	}
}

static char *take_chunk(struct intern *t, size_t len)
{
	struct intern_chunk *c = t->chunks;

	if (!c || c->size - c->used < len) {
		size_t size = len > CHUNK ? len : CHUNK;

		c = must_alloc(sizeof(*c) + size);
		c->next = t->chunks;
		c->used = 0;
		c->size = size;
		t->chunks = c;
	}
	c->used += len;
	return c->bytes + c->used - len;
}

static uint64_t keep(struct intern *t, const char *text, size_t len)
{
	uint64_t at = t->numbers.bytes;
	char *to;

	if (t->whole)
		region_need(&t->bytes_home, at + len + 1, 1);
	to = t->whole ? t->bytes_home.at + at : take_chunk(t, len + 1);
	if (len)
		memcpy(to, text, len);
	to[len] = '\0';
	t->numbers.bytes += len + 1;
	return (uintptr_t)to - t->base;
}

uint32_t intern_add(struct intern *t, const char *text, size_t len)
{
	uint32_t hash = (uint32_t)XXH3_64bits(text, len);
	uint32_t *slot = probe(t, text, len, hash);
	uint32_t id;

	if (*slot)
		return tagged_number(*slot, t->numbers.mask);
	id = t->numbers.count++;
	*slot = tagged_of(hash, t->numbers.mask, id);
	if (t->whole)
		region_need(&t->texts_home, t->numbers.count,
			    sizeof(*t->texts));
	else
		t->texts = must_grow(t->texts, &t->texts_size, t->numbers.count,
				     sizeof(*t->texts));
	t->texts[id] = (struct interned){ .at = keep(t, text, len),
					  .len = (uint32_t)len,
					  .hash = hash };
	if (t->numbers.count > t->numbers.mask / 2)
		grow_slots(t);
	/* An empty slot ends every probe. */
	assert(t->numbers.count <= t->numbers.mask / 2);
	return id;
}

uint32_t intern_find(const struct intern *t, const char *text, size_t len)
{
	uint32_t *slot = probe(t, text, len, (uint32_t)XXH3_64bits(text, len));

	/* Of an empty slot: INTERN_NONE. */
	return tagged_number(*slot, t->numbers.mask);
}

const char *intern_text(const struct intern *t, uint32_t id, size_t *ret_len)
{
	if (ret_len)
		*ret_len = t->texts[id].len;
	return text_of(t, &t->texts[id]);
}

uint32_t intern_count(const struct intern *t)
{
	return t->numbers.count;
}

size_t intern_bytes(const struct intern *t)
{
	return t->numbers.bytes + t->numbers.count * sizeof(*t->texts) +
	       ((size_t)t->numbers.mask + 1) * sizeof(*t->slots);
}

void intern_parts(struct intern *t, struct region_part *ret)
{
	ret[0] = (struct region_part){ .numbers = &t->numbers,
				       .bytes = sizeof(t->numbers) };
	ret[1] = (struct region_part){ .region = &t->bytes_home,
				       .bytes = t->numbers.bytes };
	ret[2] = (struct region_part){ .region = &t->texts_home,
				       .bytes = t->numbers.count *
						sizeof(*t->texts) };
	ret[3] = (struct region_part){ .region = &t->slots_home,
				       .bytes = ((size_t)t->numbers.mask + 1) *
						sizeof(*t->slots) };
}
