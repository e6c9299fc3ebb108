/*
 * The graph as a whole. A change takes effect at once as far as it needs no
 * resolving: units are replaced, keys compared, dependents invalidated.
 * graph_settle() resolves the invalidated slots and reports the difference to
 * the last settled state.
 */
#include "graph/graph.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

#include "graph/base/alloc.h"
#include "graph/graph_i.h"
#include "graph/resolve/order.h"
#include "graph/resolve/stdlib.h"
#include "graph/resolve/words.h"

static void words_add(struct graph *g)
{
	static const char *const words[] = { "",
#define W(name, text) text,
					     WORDS(W)
#undef W
	};
	static const struct {
		const char *text;
		uint8_t what;
	} known[] = {
#define W(text, what) { text, what },
		LIBRARY(W)
#undef W
	};
	size_t count = sizeof(known) / sizeof(*known);

	for (size_t k = 0; k < WORD_COUNT; k++)
		(void)atom_intern(g, words[k], strlen(words[k]));
	/* Each word has the number of its enum constant. */
	assert(intern_count(g->atoms) == WORD_COUNT);
	graph_need(g, library, WORD_COUNT + count + sizeof(stdlib_modules));
	for (size_t k = 0; k < count; k++)
		g->library[atom_intern(g, known[k].text,
				       strlen(known[k].text))] = known[k].what;
	for (const char *at = stdlib_modules; *at; at += strcspn(at, " ") + 1)
		g->library[atom_intern(g, at, strcspn(at, " "))] =
			LIBRARY_STDLIB;
	g->library_count = (uint32_t)intern_count(g->atoms);
	assert(g->library_count <= WORD_COUNT + count + sizeof(stdlib_modules));
}

struct graph *graph_new(void)
{
	struct graph *g = must_calloc(1, sizeof(*g));

	for (int k = 0; k < GRAPH_ARRAYS_COUNT; k++)
		region_init(&g->homes[k]);
#define A(name, type, used, addresses) \
	g->name = (void *)g->homes[ARRAY_##name].at;
	GRAPH_ARRAYS(A)
#undef A
	heap_init(&g->heap);
	g->atoms = intern_new_whole();
	g->names = intern_new_whole();
	g->terms = terms_new();
	terms_set_order(g->terms, order_terms, g);
	words_add(g);
	return g;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	for (uint32_t n = 0; n < g->sheets_count; n++)
		if (g->sheets[n].refs && !g->sheets[n].lent)
			free(g->sheets[n].facts);
	for (int k = 0; k < GRAPH_ARRAYS_COUNT; k++)
		region_release(&g->homes[k]);
	heap_release(&g->heap);
	intern_free(g->atoms);
	intern_free(g->names);
	terms_free(g->terms);
	if (g->map)
		(void)munmap(g->map, g->map_size);
	free(g->touched);
	free(g->dirty);
	free(g->noted);
	free(g->frames);
	free(g->held);
	free(g->found);
	free(g->memo);
	free(g->delta.symbols);
	free(g->delta.edges);
	free(g);
}

int graph_put(struct graph *g, const char *path, struct facts *f)
{
	uint32_t file = file_get(g, path);
	struct sheet *sheet = sheet_new(g, f);
	struct unit_piece *pieces =
		must_alloc(f->units_count * sizeof(*pieces));

	for (uint32_t k = 0; k < f->units_count; k++)
		pieces[k] = (struct unit_piece){ sheet, facts_units(f) + k };
	file_switch(g, file, sheet, pieces, f->units_count);
	g->files[file].length = facts_units(f)[0].end;
	free(pieces);
	return 0;
}

int graph_remove(struct graph *g, const char *path)
{
	uint32_t file = file_find(g, path);

	if (file != NONE)
		file_drop(g, file);
	return 0;
}

/* Puts the same facts at the new path: nothing is parsed. */
int graph_rename(struct graph *g, const char *from, const char *to)
{
	uint32_t file = file_find(g, from), target;
	struct unit_piece *pieces;
	struct sheet *sheet;
	uint32_t count, length;

	if (file == NONE || !g->files[file].exists)
		return -ENOENT;
	count = g->files[file].units_count;
	length = g->files[file].length;
	pieces = must_alloc(count * sizeof(*pieces));
	for (uint32_t k = 0; k < count; k++) {
		const struct unit *u = &g->units[g->files[file].units[k]];

		if (u->sheet != g->files[file].sheet) {
			free(pieces);
			return -ESTALE;
		}
		pieces[k] = (struct unit_piece){ u->sheet, u->u };
	}
	sheet = g->files[file].sheet;
	sheet->refs++;
	target = file_get(g, to);
	file_drop(g, file);
	file_switch(g, target, sheet, pieces, count);
	g->files[target].length = length;
	free(pieces);
	return 0;
}

/* V is one sort of symbol, modules another, variables a third. */
static bool other_sort(enum symbol_kind a, enum symbol_kind b)
{
	return a != b && (a >= SYMBOL_MODULE || b >= SYMBOL_MODULE);
}

/* A symbol was removed, and one of another sort took its name. */
static void settle_crossing(struct graph_delta *d,
			    const struct touched_symbol *t,
			    enum symbol_kind now)
{
	d->symbols[d->symbols_count++] = (struct symbol_change){
		.symbol = t->symbol, .kind = t->kind, .before = true
	};
	d->symbols[d->symbols_count++] = (struct symbol_change){
		.symbol = t->symbol, .kind = now, .after = true
	};
}

static void settle_symbols(struct graph *g, struct graph_delta *d)
{
	d->symbols =
		must_grow(d->symbols, &g->symbol_changes_size,
			  (size_t)g->touched_count * 2, sizeof(*d->symbols));
	d->symbols_count = 0;
	for (uint32_t k = 0; k < g->touched_count; k++) {
		const struct touched_symbol *t = &g->touched[k];
		struct symbol now;
		bool after = symbol_now(g, t->symbol, &now);
		bool body = t->before && after &&
			    (now.hash.low64 != t->hash.low64 ||
			     now.hash.high64 != t->hash.high64);

		g->symbols[t->symbol].touched = 0;
		if (t->before && after && other_sort(t->kind, now.kind)) {
			settle_crossing(d, t, now.kind);
			continue;
		}
		if ((t->before == after && !body) || (!t->before && !after))
			continue;
		d->symbols[d->symbols_count++] = (struct symbol_change){
			.symbol = t->symbol,
			.kind = after ? now.kind : t->kind,
			.before = t->before,
			.after = after,
			.body = body,
		};
	}
	assert(d->symbols_count <= (size_t)g->touched_count * 2);
	g->touched_count = 0;
}

static void settle_edges(struct graph *g, struct graph_delta *d)
{
	d->edges = must_grow(d->edges, &g->edge_changes_size, g->noted_count,
			     sizeof(*d->edges));
	d->edges_count = 0;
	for (uint32_t k = 0; k < g->noted_count; k++) {
		uint32_t n = g->noted[k];
		struct pair *p = &g->pairs[n];

		assert(p->noted && p->kind < EDGE_KINDS);
		p->noted = 0;
		if (!p->was != !p->count)
			d->edges[d->edges_count++] = (struct edge_change){
				.caller = p->caller,
				.callee = p->callee,
				.kind = p->kind,
				.added = p->count > 0,
			};
		if (!p->count)
			pair_free(g, n);
	}
	g->noted_count = 0;
}

static void *shrunk(void *p, uint32_t *size, uint32_t count, size_t element)
{
	if (!p || !count || *size == count)
		return p;
	*size = count;
	return must_realloc(p, count * element);
}

void graph_trim(struct graph *g)
{
	g->dirty = shrunk(g->dirty, &g->dirty_size, 1, sizeof(*g->dirty));
	g->noted = shrunk(g->noted, &g->noted_size, 1, sizeof(*g->noted));
	g->touched =
		shrunk(g->touched, &g->touched_size, 1, sizeof(*g->touched));
	g->delta.edges = shrunk(g->delta.edges, &g->edge_changes_size, 1,
				sizeof(*g->delta.edges));
	g->delta.symbols = shrunk(g->delta.symbols, &g->symbol_changes_size, 1,
				  sizeof(*g->delta.symbols));
	(void)malloc_trim(0);
}

int graph_settle(struct graph *g, struct graph_delta *ret)
{
	uint64_t sites = 0;

	for (uint32_t k = 0; k < g->dirty_count; k++) {
		struct slot *s = &g->slots[g->dirty[k]];

		if (!s->dirty || s->unit == NONE)
			continue;
		s->dirty = 0;
		slot_clear(g, g->dirty[k]);
		slot_solve(g, g->dirty[k]);
		sites++;
	}
	g->dirty_count = 0;
	settle_symbols(g, &g->delta);
	settle_edges(g, &g->delta);
	assert(!g->touched_count && !g->noted_count);
	g->delta.sites = sites;
	if (ret)
		*ret = g->delta;
	return 0;
}
