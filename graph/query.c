/* Queries of the settled graph. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/graph_i.h"

size_t graph_symbols_max(const struct graph *g)
{
	uint32_t names = intern_count(g->names);

	return names < g->symbols_size ? names : g->symbols_size;
}

bool graph_symbol(const struct graph *g, symbol_t s, struct symbol *ret)
{
	if (s < g->symbols_size)
		return symbol_now(g, s, ret);
	*ret = (struct symbol){ .name = intern_text(g->names, s, NULL) };
	return false;
}

symbol_t graph_find(const struct graph *g, const char *name)
{
	uint32_t s = intern_find(g->names, name, strlen(name));

	return s == INTERN_NONE || s >= g->symbols_size ? SYMBOL_NONE : s;
}

/* A variable whose statement holds that line. */
static symbol_t variable_at(const struct graph *g, const struct source_file *f,
			    uint32_t line)
{
	for (symbol_t s = 0; s < g->symbols_size; s++) {
		struct symbol now;

		if (g->symbols[s].variable_file == NONE ||
		    &g->files[g->symbols[s].variable_file] != f ||
		    g->symbols[s].units_count)
			continue;
		if (symbol_now(g, s, &now) && now.start_line <= line &&
		    line <= now.end_line)
			return s;
	}
	return SYMBOL_NONE;
}

symbol_t graph_at(const struct graph *g, const char *path, uint32_t line)
{
	uint32_t file = file_find(g, path);
	const struct source_file *f;
	symbol_t s;
	unit_t best;

	if (file == NONE || !g->files[file].exists)
		return SYMBOL_NONE;
	f = &g->files[file];
	best = f->units[0];
	for (uint32_t k = 1; k < f->units_count; k++) {
		const struct unit *u = &g->units[f->units[k]];

		if (u->line < line && line <= u->line + u->lines)
			best = f->units[k];
	}
	s = best == f->units[0] ? variable_at(g, f, line) : SYMBOL_NONE;
	return s == SYMBOL_NONE ? g->units[best].symbol : s;
}

/* The line to report for an edge of this slot. */
static uint32_t made_line(const struct graph *g, const struct slot *s,
			  const struct made *made)
{
	const struct unit *u = &g->units[s->unit];

	assert(u->sheet);
	if (s->kind == SLOT_SITES)
		return unit_line(u, site_of(u, made->site)->line);
	if (s->kind == SLOT_IMPORT)
		return unit_line(u, bind_of(u, s->bind)->line);
	return unit_line(u, u->u->name_line);
}

/* false: the visitor stopped. */
static bool out_of_unit(const struct graph *g, unit_t n, unsigned kinds,
			edge_visit *visit, void *arg)
{
	const struct unit *u = &g->units[n];

	for (uint32_t k = 0; k < u->slots_count; k++) {
		const struct slot *s = &g->slots[u->slots[k]];
		const struct made *made = slot_made(g, s);

		for (uint32_t m = 0; m < s->count; m++) {
			const struct pair *p = &g->pairs[made[m].pair];
			struct edge e = { .other = p->callee, .kind = p->kind };

			if (!(kinds & 1u << p->kind))
				continue;
			e.line = made_line(g, s, &made[m]);
			if (!visit(&e, arg))
				return false;
		}
	}
	return true;
}

/* The module is the caller of all imports, those in functions included. */
static bool imports_of_file(const struct graph *g, const struct source_file *f,
			    edge_visit *visit, void *arg)
{
	for (uint32_t k = 1; k < f->units_count; k++)
		if (!out_of_unit(g, f->units[k], 1u << EDGE_IMPORTS, visit,
				 arg))
			return false;
	return true;
}

void graph_out(const struct graph *g, symbol_t s, unsigned kinds,
	       edge_visit *visit, void *arg)
{
	const struct symbol_slot *slot;

	if (s >= g->symbols_size)
		return;
	slot = &g->symbols[s];
	for (uint32_t k = 0; k < slot->units_count; k++) {
		unit_t n = symbol_units(g, slot)[k];
		const struct unit *u = &g->units[n];
		bool module = u->u->kind == UNIT_MODULE;
		unsigned own = module ? kinds : kinds & ~(1u << EDGE_IMPORTS);

		if (!out_of_unit(g, n, own, visit, arg))
			return;
		if (module && kinds & 1u << EDGE_IMPORTS &&
		    !imports_of_file(g, &g->files[u->file], visit, arg))
			return;
	}
}

void graph_in(const struct graph *g, symbol_t s, unsigned kinds,
	      edge_visit *visit, void *arg)
{
	const struct symbol_slot *slot;

	if (s >= g->symbols_size)
		return;
	slot = &g->symbols[s];
	for (uint32_t k = 0; k < slot->callers_count; k++) {
		const struct pair *p = &g->pairs[symbol_callers(g, slot)[k]];
		struct edge e = { .other = p->caller, .kind = p->kind };

		assert(p->callee == s);
		if (p->count && kinds & 1u << p->kind && !visit(&e, arg))
			return;
	}
}

static enum file_state state_of(const struct source_file *file)
{
	const struct facts *f = file->sheet->facts;

	if (f->vast)
		return FILE_VAST;
	if (f->broken)
		return FILE_BROKEN;
	return f->deep ? FILE_DEEP : FILE_PARSES;
}

bool graph_has_edge(const struct graph *g, symbol_t caller, symbol_t callee,
		    enum edge_kind kind)
{
	return caller < g->symbols_size && callee < g->symbols_size &&
	       pair_has(g, kind, caller, callee);
}

void graph_files(const struct graph *g, file_visit *visit, void *arg)
{
	for (uint32_t k = 0; k < g->files_count; k++) {
		const struct source_file *f = &g->files[k];

		if (f->exists &&
		    !visit(atom_text(g, f->path), state_of(f), arg))
			return;
	}
}

int graph_file(const struct graph *g, const char *path)
{
	uint32_t file = file_find(g, path);

	if (file == NONE || !g->files[file].exists)
		return -ENOENT;
	return state_of(&g->files[file]);
}

/* Facts are not among the parts that snapshot_bytes() counts. */
static size_t facts_bytes(const struct graph *g)
{
	size_t bytes = 0;

	for (uint32_t k = 0; k < g->sheets_count; k++)
		if (g->sheets[k].refs)
			bytes += g->sheets[k].facts->size;
	return bytes;
}

/* Calls and decorators; the edges of a slot are in the order of its sites. */
static void stat_sites(const struct graph *g, const struct slot *s,
		       struct graph_stats *ret)
{
	const struct unit *u = &g->units[s->unit];
	const struct made *made = slot_made(g, s);
	uint32_t last = NONE;

	for (uint32_t k = 0; k < u->u->sites.count; k++)
		ret->sites += site_of(u, k)->kind <= SITE_DECORATOR;
	for (uint32_t k = 0; k < s->count; k++) {
		ret->resolved +=
			made[k].site != last &&
			site_of(u, made[k].site)->kind <= SITE_DECORATOR;
		last = made[k].site;
	}
}

static void stat_edges(const struct graph *g, struct graph_stats *ret)
{
	for (uint32_t k = 0; k < g->pairs_count; k++)
		if (g->pairs[k].kind < EDGE_KINDS && g->pairs[k].count)
			ret->edges[g->pairs[k].kind]++;
	for (uint32_t k = 0; k < g->slots_count; k++)
		if (g->slots[k].unit != NONE && g->slots[k].kind == SLOT_SITES)
			stat_sites(g, &g->slots[k], ret);
}

void graph_stat(const struct graph *g, struct graph_stats *ret)
{
	*ret = (struct graph_stats){ .keys = g->nodes_count,
				     .steps = g->steps };
	for (uint32_t k = 0; k < g->files_count; k++) {
		if (!g->files[k].exists)
			continue;
		ret->files++;
		ret->broken += g->files[k].sheet->facts->broken;
		ret->vast += g->files[k].sheet->facts->vast;
	}
	for (symbol_t s = 0; s < graph_symbols_max(g); s++) {
		struct symbol now;

		if (symbol_now(g, s, &now))
			ret->symbols[now.kind]++;
	}
	stat_edges(g, ret);
	for (uint32_t k = 0; k < g->nodes_count; k++)
		ret->postings += g->nodes[k].postings_count;
	ret->bytes = facts_bytes(g) + snapshot_bytes(g);
}
