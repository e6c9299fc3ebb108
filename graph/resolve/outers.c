/*
 * Names that units bind outside of themselves: by `global` in their module, by
 * `nonlocal` in a function around them, by self.name in their class. A file
 * lists them sorted by name and then by unit index, so that the ones of a name
 * from inside one unit are adjacent.
 */
#include "graph/resolve/outers.h"

#include <assert.h>

#include "graph/base/alloc.h"

struct outers_list {
	struct outer *at;
	uint32_t count, size;
};

static void list_add(struct outers_list *l, const struct unit *u, unit_t n,
		     struct outer o)
{
	l->at = must_grow(l->at, &l->size, l->count + 1, sizeof(*l->at));
	o.unit = n;
	o.index = u->index;
	l->at[l->count++] = o;
}

static void list_unit(struct outers_list *l, const struct graph *g, unit_t n)
{
	const struct unit *u = &g->units[n];
	const struct facts_attr *attrs = facts_attrs(u->sheet->facts, u->u);

	for (uint32_t k = 0; k < u->u->binds.count; k++) {
		const struct facts_bind *b = bind_of(u, k);

		if (!b->outer || b->name == FACTS_NONE ||
		    (b->outer == OUTER_GLOBAL && u->u->kind != UNIT_FUNCTION))
			continue;
		list_add(l, u, n,
			 (struct outer){ .name = atom_of(u, b->name),
					 .kind = b->outer,
					 .item = k });
	}
	if (!(u->u->flags & UNIT_METHOD))
		return;
	for (uint32_t k = 0; k < u->u->attrs.count; k++)
		list_add(l, u, n,
			 (struct outer){ .name = atom_of(u, attrs[k].name),
					 .kind = OUTER_ATTR,
					 .item = k });
}

static int compare(const void *a, const void *b)
{
	const struct outer *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

void outers_make(struct graph *g, struct source_file *f)
{
	struct outers_list l = { .count = 0 };
	size_t bytes;

	for (uint32_t k = 0; k < f->units_count; k++)
		list_unit(&l, g, f->units[k]);
	list_give(g, f->outers, f->outers_count * sizeof(*f->outers));
	bytes = l.count * sizeof(*f->outers);
	f->outers = list_take(g, bytes);
	f->outers_count = l.count;
	if (bytes) {
		qsort(l.at, l.count, sizeof(*l.at), compare);
		memcpy(f->outers, l.at, bytes);
	}
	free(l.at);
}

uint64_t outers_fingerprint(const struct graph *g, unit_t n)
{
	struct outers_list l = { .count = 0 };
	uint64_t print;

	list_unit(&l, g, n);
	print = l.count ? XXH3_64bits(l.at, l.count * sizeof(*l.at)) : 0;
	free(l.at);
	return print;
}

struct outers outers_in(const struct graph *g, unit_t around, atom_t name,
			enum outer_kind kind)
{
	const struct unit *u = &g->units[around];
	const struct source_file *f = &g->files[u->file];
	const struct outer key = { .name = name, .index = u->index };
	uint32_t low = 0, high = f->outers_count;

	assert(u->sheet);
	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (compare(&f->outers[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return (struct outers){
		.around = around, .name = name, .kind = kind, .next = low
	};
}

const struct outer *outers_next(const struct graph *g, struct outers *o)
{
	const struct unit *u = &g->units[o->around];
	const struct source_file *f = &g->files[u->file];
	uint32_t last = u->index + u->u->units;

	while (o->next < f->outers_count) {
		const struct outer *at = &f->outers[o->next++];

		if (at->name != o->name || at->index > last)
			break;
		if (at->kind == o->kind &&
		    (o->kind != OUTER_ATTR ||
		     g->units[at->unit].parent == o->around))
			return at;
	}
	o->next = f->outers_count;
	return NULL;
}
