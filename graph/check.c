/*
 * The consistency check that tests run after every step: indexes against each
 * other, and the graph against one built from scratch from the same facts.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/graph_i.h"

struct graph_checker {
	const struct graph *g;
	char *why;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static int
wrong(const struct graph_checker *c, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): false alarm */
	(void)vsnprintf(c->why, c->size, format, ap);
	va_end(ap);
	return -EBADMSG;
}

static const char *name_of(const struct graph *g, symbol_t s)
{
	return intern_text(g->names, s, NULL);
}

/* Every pair is made in as many places as it counts. */
static int check_pairs(const struct graph_checker *c)
{
	const struct graph *g = c->g;
	uint32_t *counts = must_calloc(g->pairs_count, sizeof(*counts));
	int r = 0;

	for (uint32_t k = 0; k < g->slots_count; k++) {
		const struct slot *s = &g->slots[k];
		const struct made *made = slot_made(g, s);

		for (uint32_t m = 0; m < s->count; m++)
			counts[made[m].pair]++;
	}
	for (uint32_t k = 0; k < g->pairs_count && r == 0; k++) {
		const struct pair *p = &g->pairs[k];

		if (p->kind == EDGE_KINDS)
			continue;
		if (p->count == 0 || p->count != counts[k])
			r = wrong(c, "%s -> %s is counted %u, made by %u",
				  name_of(g, p->caller), name_of(g, p->callee),
				  p->count, counts[k]);
		else if (symbol_callers(g, &g->symbols[p->callee])[p->place] !=
			 k)
			r = wrong(c, "%s -> %s is not among its callers",
				  name_of(g, p->caller), name_of(g, p->callee));
	}
	free(counts);
	return r;
}

static int check_units(const struct graph_checker *c)
{
	const struct graph *g = c->g;

	for (uint32_t k = 0; k < g->files_count; k++) {
		const struct source_file *f = &g->files[k];

		for (uint32_t m = 0; f->exists && m < f->units_count; m++) {
			const struct unit *u = &g->units[f->units[m]];

			if (!u->sheet || u->file != k || u->index != m)
				return wrong(c, "unit %u of %s is out of place",
					     m, atom_text(g, f->path));
			if (m && (u->start < g->units[u->parent].start ||
				  u->end > g->units[u->parent].end))
				return wrong(c, "%s lies outside its parent",
					     name_of(g, u->symbol));
		}
	}
	for (node_t n = 0; n < g->nodes_count; n++)
		if (g->nodes[n].state == NODE_OPEN ||
		    g->nodes[n].state == NODE_HELD)
			return wrong(c, "a question was left open");
	return 0;
}

/* Put the file into another graph, which borrows the facts. */
static void put_lent(const struct graph *g, const struct source_file *f,
		     struct graph *to)
{
	uint32_t file = file_get(to, atom_text(g, f->path));
	struct unit_piece *pieces =
		must_alloc(f->units_count * sizeof(*pieces));
	struct sheet **sheets =
		must_calloc(f->units_count, sizeof(struct sheet *));

	for (uint32_t k = 0; k < f->units_count; k++) {
		const struct unit *u = &g->units[f->units[k]];
		bool same = k && u->sheet == g->units[f->units[k - 1]].sheet;

		sheets[k] =
			same ? sheets[k - 1] : sheet_new(to, u->sheet->facts);
		sheets[k]->refs += same;
		sheets[k]->lent = true;
		pieces[k] = (struct unit_piece){ sheets[k], u->u };
	}
	/* file_switch() takes over a reference to the module's sheet. */
	sheets[0]->refs++;
	file_switch(to, file, sheets[0], pieces, f->units_count);
	for (uint32_t k = 0; k < f->units_count; k++)
		sheet_unref(to, sheets[k]);
	free(sheets);
	free(pieces);
}

static int compare_symbols(const struct graph_checker *c,
			   const struct graph *other)
{
	for (symbol_t s = 0; s < graph_symbols_max(c->g); s++) {
		struct symbol a, b;
		symbol_t t = graph_find(other, name_of(c->g, s));
		bool here = graph_symbol(c->g, s, &a);
		bool there = t != SYMBOL_NONE && graph_symbol(other, t, &b);

		if (here != there)
			return wrong(c, "%s is %s when built from nothing",
				     a.name, there ? "there" : "not there");
		if (here && (a.kind != b.kind || a.hash.low64 != b.hash.low64 ||
			     a.hash.high64 != b.hash.high64))
			return wrong(c, "%s has another body or kind", a.name);
	}
	return 0;
}

struct sought {
	symbol_t callee;
	bool found;
};

static bool seek(const struct edge *e, void *arg)
{
	struct sought *s = arg;

	s->found |= e->other == s->callee;
	return !s->found;
}

static bool has_edge(const struct graph *g, const char *caller,
		     const char *callee, uint8_t kind)
{
	struct sought s = { .callee = graph_find(g, callee) };
	symbol_t from = graph_find(g, caller);

	if (from != SYMBOL_NONE && s.callee != SYMBOL_NONE)
		graph_out(g, from, 1u << kind, seek, &s);
	return s.found;
}

static int compare_edges(const struct graph_checker *c,
			 const struct graph *other, bool extra)
{
	const struct graph *g = extra ? other : c->g;

	for (uint32_t k = 0; k < g->pairs_count; k++) {
		const struct pair *p = &g->pairs[k];

		if (p->kind == EDGE_KINDS || !p->count ||
		    has_edge(extra ? c->g : other, name_of(g, p->caller),
			     name_of(g, p->callee), p->kind))
			continue;
		return wrong(c, "%s -> %s (kind %u) is %s",
			     name_of(g, p->caller), name_of(g, p->callee),
			     p->kind, extra ? "missing" : "too much");
	}
	return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through c. */
int graph_check(const struct graph *g, char *why, size_t size)
{
	struct graph_checker c = { .g = g, .why = why, .size = size };
	struct graph *other;
	int r = check_units(&c);

	if (r == 0)
		r = check_pairs(&c);
	if (r < 0)
		return r;
	other = graph_new();
	for (uint32_t k = 0; k < g->files_count; k++)
		if (g->files[k].exists)
			put_lent(g, &g->files[k], other);
	(void)graph_settle(other, NULL);
	r = compare_symbols(&c, other);
	if (r == 0)
		r = compare_edges(&c, other, false);
	if (r == 0)
		r = compare_edges(&c, other, true);
	graph_free(other);
	return r;
}
