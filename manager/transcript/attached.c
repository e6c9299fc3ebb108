/*
 * Files that the client attaches by itself: Claude Code does so with files that
 * a user names with an @, and with those read last when it has compacted a
 * conversation. There is no call; two consecutive user texts imitate one:
 *
 *	<system-reminder>
 *	Called the Read tool with the following input: {"file_path":"/r/a.py"}
 *	</system-reminder>
 *
 *	<system-reminder>
 *	Result of calling the Read tool:
 *	1	import os
 *	</system-reminder>
 *
 * And ids for other user texts that may get a note: there is no call whose id
 * it could be.
 */
#include "manager/transcript/dialect.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const char end[] = "\n</system-reminder>";

/* The text between `before` and the end, if the item is such a text. */
static bool inside(struct transcript *all, const struct item *i,
		   const char *before, struct text *ret)
{
	size_t len = strlen(before);
	const struct item_piece *p = i->pieces;
	struct text t;
	const char *at;

	if (i->kind != ITEM_USER || i->pieces_count != 1)
		return false;
	if (!transcript_begins(all, p, before, len))
		return false;
	t = transcript_piece(all, p, &all->arena);
	at = t.at + t.len;
	while (at > t.at + len && at[-1] == '\n')
		at--;
	at -= strlen(end);
	if (at < t.at + len || memcmp(at, end, strlen(end)) != 0)
		return false;
	*ret = (struct text){ t.at + len, (size_t)(at - t.at) - len };
	return true;
}

/* How many files with the hash of an item came before it: a hash table. */
struct attached_seen {
	uint64_t hash;
	uint32_t count; /* 0: a free slot */
};

struct attached_table {
	struct attached_seen *slots; /* NULL: there was none yet */
	uint32_t mask;
};

static uint32_t count_equal(struct transcript *t, struct attached_table *seen,
			    uint64_t hash)
{
	struct attached_seen *s;
	uint32_t at = (uint32_t)hash;

	if (!seen->slots) {
		for (seen->mask = 15; seen->mask < 2 * t->items_count;)
			seen->mask = 2 * seen->mask + 1;
		seen->slots = arena_take(&t->arena,
					 ((size_t)seen->mask + 1) * sizeof(*s));
		memset(seen->slots, 0, ((size_t)seen->mask + 1) * sizeof(*s));
	}
	while ((s = &seen->slots[at & seen->mask])->count && s->hash != hash)
		at++;
	s->hash = hash;
	return s->count++;
}

/* An id; of several equal texts each has its own. */
static struct text make_id(struct transcript *t, struct attached_table *seen,
			   const struct item *i, const char *what)
{
	uint64_t hash =
		i->hash ^ XXH3_64bits(i->arguments.at, i->arguments.len);
	char id[48];
	int len;

	hash += count_equal(t, seen, i->hash);
	len = snprintf(id, sizeof(id), "%s-%016" PRIx64, what, hash);
	return (struct text){ arena_copy(&t->arena, id, (size_t)len),
			      (size_t)len };
}

/* Is item `i` such a file? Then *ret is its part of the text. */
static bool is_attached(struct transcript *t, uint32_t i, struct text *ret)
{
	return i > 0 &&
	       inside(t, &t->items[i],
		      "<system-reminder>\nResult of calling the Read tool:\n",
		      ret) &&
	       inside(t, &t->items[i - 1],
		      "<system-reminder>\nCalled the Read tool with the "
		      "following input: ",
		      &t->items[i].arguments);
}

void attached_find(struct transcript *t)
{
	struct attached_table seen = { 0 };

	for (uint32_t i = 0; i < t->items_count; i++) {
		struct item *item = &t->items[i];
		struct text body;
		/* A block: another can be put behind it. */
		bool block = t->dialect == DIALECT_MESSAGES &&
			     t->body[item->span.start] == '{';

		if (is_attached(t, i, &body)) {
			item->name = (struct text){ "Read", 4 };
			item->attached = body;
			item->id = make_id(t, &seen, item, "attached");
			item->place = block ? i : ITEM_NONE;
		} else if (item->kind == ITEM_USER &&
			   item->place != ITEM_NONE) {
			item->id = make_id(t, &seen, item, "said");
		}
	}
}
