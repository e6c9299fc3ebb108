/*
 * Symbols and paths are interned; the id of a name is its index in an array.
 * Each path has a list of touches, oldest first, with copies of the changed
 * line ranges. An entry with more than RANGES_MAX ranges gets a single one,
 * from the first to the last: a record between two of them then counts as
 * changed, which costs one needless check.
 */
#include "tape/query/drift.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/array.h"
#include "graph/base/intern.h"

#define RANGES_MAX 32

struct path_slot {
	ARRAY(struct drift_touch) touches;
	uint64_t names;	   /* newest entry that changed names in it */
	uint64_t appeared; /* newest entry that created it, or a file below */
};

struct drift {
	struct intern *symbols;
	ARRAY(struct drift_last) last; /* by id in symbols */
	struct intern *paths;
	ARRAY(struct path_slot) slots; /* by id in paths */
	uint64_t floor, head, gap;
	size_t touches, bytes;
};

struct drift *drift_new(uint64_t head)
{
	struct drift *d = must_calloc(1, sizeof(*d));

	d->symbols = intern_new();
	d->paths = intern_new();
	d->floor = d->head = head;
	return d;
}

static void touch_release(struct drift *d, const struct drift_touch *t)
{
	/* Const for callers; we allocated it. */
	union {
		const struct entry_range *ranges;
		void *memory;
	} u = { .ranges = t->ranges };

	assert(d->bytes >= t->ranges_count * sizeof(*t->ranges));
	d->bytes -= t->ranges_count * sizeof(*t->ranges);
	free(u.memory);
}

static void slot_release(struct drift *d, struct path_slot *p)
{
	for (uint32_t k = 0; k < p->touches.count; k++)
		touch_release(d, &p->touches.at[k]);
	array_release(&p->touches);
}

static void slots_release(struct drift *d)
{
	for (uint32_t k = 0; k < d->slots.count; k++)
		slot_release(d, &d->slots.at[k]);
	array_release(&d->slots);
	d->touches = 0;
}

void drift_free(struct drift *d)
{
	if (!d)
		return;
	slots_release(d);
	array_release(&d->last);
	intern_free(d->symbols);
	intern_free(d->paths);
	free(d);
}

/* -- Symbols. */

void drift_set(struct drift *d, const char *symbol, enum entry_set set,
	       uint64_t n, bool removed)
{
	uint32_t s = intern_add(d->symbols, symbol, strlen(symbol));
	struct drift_last *l;

	assert(set < ENTRY_SETS && n > 0);
	while (d->last.count <= s)
		(void)array_add(&d->last);
	l = &d->last.at[s];
	if (n < l->n[set])
		return;
	l->n[set] = n;
	if (set == ENTRY_X)
		l->removed = removed;
}

bool drift_find(const struct drift *d, const char *symbol,
		struct drift_last *ret)
{
	uint32_t s = intern_find(d->symbols, symbol, strlen(symbol));

	if (s == INTERN_NONE || s >= d->last.count)
		return false;
	*ret = d->last.at[s];
	return true;
}

/* -- Paths. */

static struct path_slot *slot_of(struct drift *d, const char *path, size_t len)
{
	uint32_t n = intern_add(d->paths, path, len);

	while (d->slots.count <= n)
		(void)array_add(&d->slots);
	return &d->slots.at[n];
}

static const struct path_slot *slot_find(const struct drift *d,
					 const char *path)
{
	uint32_t n = intern_find(d->paths, path, strlen(path));

	return n == INTERN_NONE || n >= d->slots.count ? NULL : &d->slots.at[n];
}

/*
 * The number of lines before one side of a range. As in a diff, an empty side
 * names the line before it.
 */
static uint32_t lines_before(uint32_t at, uint32_t count)
{
	return count ? at - 1 : at;
}

/* The range from the first of `r` to the last. */
static struct entry_range hull(const struct entry_range *r, size_t count)
{
	const struct entry_range *last = &r[count - 1];
	uint32_t before = lines_before(r->before, r->before_count);
	uint32_t after = lines_before(r->after, r->after_count);
	struct entry_range h = {
		.before_count = lines_before(last->before, last->before_count) +
				last->before_count - before,
		.after_count = lines_before(last->after, last->after_count) +
			       last->after_count - after,
	};

	h.before = before + (h.before_count ? 1 : 0);
	h.after = after + (h.after_count ? 1 : 0);
	return h;
}

static void copy_ranges(struct drift *d, struct drift_touch *t,
			const struct entry *e)
{
	struct entry_range one, *copy;
	const struct entry_range *from = e->ranges;
	size_t n = e->ranges_count;

	if (n > RANGES_MAX) {
		one = hull(from, n);
		from = &one;
		n = 1;
	}
	if (!n)
		return;
	copy = must_alloc(n * sizeof(*copy));
	memcpy(copy, from, n * sizeof(*copy));
	t->ranges = copy;
	t->ranges_count = (uint32_t)n;
	d->bytes += n * sizeof(*copy);
}

static void touch(struct drift *d, const struct entry *e, const char *path,
		  struct drift_touch t)
{
	struct path_slot *p = slot_of(d, path, strlen(path));

	assert(!p->touches.count ||
	       p->touches.at[p->touches.count - 1].n <= e->n);
	t.n = e->n;
	if (t.changed && t.had && t.has)
		copy_ranges(d, &t, e);
	array_push(&p->touches, t);
	d->touches++;
}

static size_t parent_len(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);

	return slash ? (size_t)(slash - path) : 0;
}

static void name_changes(struct drift *d, const char *path, uint64_t n,
			 bool appeared)
{
	size_t len = strlen(path);

	slot_of(d, path, parent_len(path, len))->names = n;
	for (; appeared && len; len = parent_len(path, len))
		slot_of(d, path, len)->appeared = n;
}

static bool same_hash(const struct entry *e)
{
	return e->had && e->has && e->before.low64 == e->after.low64 &&
	       e->before.high64 == e->after.high64;
}

static void touch_paths(struct drift *d, const struct entry *e)
{
	if (e->kind == ENTRY_GAP) {
		d->gap = e->n;
		return;
	}
	if (e->kind == ENTRY_RENAME && e->path2) {
		touch(d, e, e->path, (struct drift_touch){ .had = true });
		touch(d, e, e->path2,
		      (struct drift_touch){ .has = true, .changed = true });
		name_changes(d, e->path, e->n, false);
		name_changes(d, e->path2, e->n, true);
		return;
	}
	touch(d, e, e->path,
	      (struct drift_touch){
		      .had = e->had, .has = e->has, .changed = !same_hash(e) });
	if (e->kind != ENTRY_EDIT || e->had != e->has)
		name_changes(d, e->path, e->n, e->has);
}

static void slot_forget(struct drift *d, struct path_slot *p, uint64_t n)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < p->touches.count; k++) {
		if (p->touches.at[k].n > n)
			p->touches.at[kept++] = p->touches.at[k];
		else
			touch_release(d, &p->touches.at[k]);
	}
	p->touches.count = kept;
	d->touches += kept;
	if (!kept)
		array_release(&p->touches);
}

/* Forget touches up to entry `n`. */
static void raise_floor(struct drift *d, uint64_t n)
{
	d->touches = 0;
	for (uint32_t k = 0; k < d->slots.count; k++)
		slot_forget(d, &d->slots.at[k], n);
	d->floor = n;
}

void drift_add_touches(struct drift *d, const struct entry *e)
{
	touch_paths(d, e);
	if (e->n > d->head)
		d->head = e->n;
	if (d->touches > 2 * (size_t)DRIFT_ENTRIES_MAX &&
	    d->head > DRIFT_ENTRIES_MAX)
		raise_floor(d, d->head - DRIFT_ENTRIES_MAX);
	assert(d->floor <= d->head);
}

void drift_add_entry(struct drift *d, const struct entry *e)
{
	for (size_t k = 0; k < e->symbols_count; k++) {
		const struct entry_symbol *s = &e->symbols[k];

		drift_set(d, s->name, s->set, e->n, s->removed);
	}
	drift_add_touches(d, e);
}

uint64_t drift_floor(const struct drift *d)
{
	return d->floor;
}

uint64_t drift_head(const struct drift *d)
{
	return d->head;
}

void drift_restart(struct drift *d, uint64_t n)
{
	assert(n <= d->head);
	slots_release(d);
	assert(d->bytes == 0);
	d->floor = n;
	d->gap = 0;
}

size_t drift_path(const struct drift *d, const char *path,
		  const struct drift_touch **ret)
{
	const struct path_slot *p = slot_find(d, path);

	*ret = p ? p->touches.at : NULL;
	return p ? p->touches.count : 0;
}

uint64_t drift_names(const struct drift *d, const char *directory)
{
	const struct path_slot *p = slot_find(d, directory);

	return p ? p->names : 0;
}

uint64_t drift_appeared(const struct drift *d, const char *path)
{
	const struct path_slot *p = slot_find(d, path);

	return p ? p->appeared : 0;
}

uint64_t drift_gap(const struct drift *d)
{
	return d->gap;
}

size_t drift_bytes(const struct drift *d)
{
	return d->bytes + intern_bytes(d->symbols) + intern_bytes(d->paths) +
	       d->last.size * sizeof(*d->last.at) +
	       d->slots.size * sizeof(*d->slots.at) +
	       d->touches * sizeof(struct drift_touch);
}
