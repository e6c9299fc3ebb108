#include "tape/query/lines.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "graph/base/alloc.h"

void lines_init(struct lines *l, uint32_t count)
{
	*l = (struct lines){
		.entry = must_calloc(count, sizeof(*l->entry)),
		.place = must_calloc(count, sizeof(*l->place)),
		.count = count,
		.left = count,
	};
	for (uint32_t i = 0; i < count; i++)
		l->place[i] = i + 1;
}

void lines_release(struct lines *l)
{
	free(l->entry);
	free(l->place);
	*l = (struct lines){ 0 };
}

static void own(struct lines *l, uint32_t i, uint64_t n)
{
	assert(!l->entry[i] && l->left > 0);
	l->entry[i] = n;
	l->left--;
}

/* The last line of the new version that lies in the range or before it. */
static uint64_t range_last(const struct entry_range *r)
{
	return r->after_count ? (uint64_t)r->after + r->after_count - 1
			      : r->after;
}

static bool wrote(const struct entry_range *r, uint32_t place)
{
	return r->after_count && r->after <= place && place <= range_last(r);
}

/*
 * Places rise from line to line, and so do the ranges: one pass over both.
 * Ranges come from disk: a place that they lead out of the file is not
 * followed any further.
 */
void lines_back(struct lines *l, uint64_t n, const struct entry_range *ranges,
		size_t count)
{
	int64_t shift = 0;
	size_t k = 0;

	assert(n > 0);
	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t place = l->place[i];
		int64_t before;

		if (l->entry[i])
			continue;
		for (; k < count && range_last(&ranges[k]) < place; k++)
			shift += (int64_t)ranges[k].before_count -
				 ranges[k].after_count;
		before = place + shift;
		if ((k < count && wrote(&ranges[k], place)) || before < 1 ||
		    before > UINT32_MAX)
			own(l, i, n);
		else
			l->place[i] = (uint32_t)before;
	}
}

void lines_rest(struct lines *l, uint64_t n)
{
	for (uint32_t i = 0; n && i < l->count; i++)
		if (!l->entry[i])
			own(l, i, n);
}
