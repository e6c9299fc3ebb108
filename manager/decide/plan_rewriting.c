/* From a conversation's replacements and notes to the edits of one request. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "manager/decide/plan.h"

static int note_order(const void *a, const void *b)
{
	const struct rewrite_note *x = a, *y = b;

	return x->item < y->item ? -1 : x->item > y->item;
}

static void join_notes(const struct plan *p, struct plan_rewriting *ret)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; ret->notes.at && i < ret->notes.count; i++) {
		struct rewrite_note *n = &ret->notes.at[i];
		struct rewrite_note *last =
			kept ? &ret->notes.at[kept - 1] : NULL;
		char *both;

		if (!last || p->t->items[last->item].place !=
				     p->t->items[n->item].place) {
			ret->notes.at[kept++] = *n;
			continue;
		}
		both = must_alloc(last->len + n->len + 1);
		memcpy(both, last->text, last->len);
		memcpy(both + last->len, n->text, n->len);
		both[last->len + n->len] = '\0';
		array_push(&ret->joined, both);
		last->text = both;
		last->len += n->len;
	}
	assert(kept <= ret->notes.count);
	ret->notes.count = kept;
}

void plan_rewriting(const struct plan *p, struct plan_rewriting *ret)
{
	struct pin *pin, *next;

	*ret = (struct plan_rewriting){ 0 };
	for (uint32_t i = 0; i < p->r->count; i++) {
		const struct held *h = p->held[i];

		if (h->text)
			array_push(&ret->replacements,
				   ((struct replacement){ h->item, h->text,
							  h->len }));
	}
	HASH_ITER (hh, p->c->pins, pin, next)
		if (pin->item != ITEM_NONE && pin->len && !pin->gone)
			array_push(&ret->notes,
				   ((struct rewrite_note){ pin->item, pin->text,
							   pin->len }));
	if (ret->notes.count)
		qsort(ret->notes.at, ret->notes.count, sizeof(*ret->notes.at),
		      note_order);
	join_notes(p, ret);
	ret->all = (struct rewriting){
		ret->replacements.at,
		ret->replacements.count,
		ret->notes.at,
		ret->notes.count,
	};
}

static const char *own(struct plan_rewriting *r, const char *text, size_t len)
{
	char *copy = must_memdup(text, len);

	array_push(&r->joined, copy);
	return copy;
}

void plan_rewriting_own(struct plan_rewriting *r)
{
	for (uint32_t i = 0; i < r->replacements.count; i++) {
		struct replacement *x = &r->replacements.at[i];

		x->text = own(r, x->text, x->len);
	}
	for (uint32_t i = 0; i < r->notes.count; i++) {
		struct rewrite_note *x = &r->notes.at[i];

		x->text = own(r, x->text, x->len);
	}
}

void plan_rewriting_release(struct plan_rewriting *r)
{
	for (uint32_t i = 0; i < r->joined.count; i++)
		free(r->joined.at[i]);
	array_release(&r->joined);
	array_release(&r->replacements);
	array_release(&r->notes);
}
