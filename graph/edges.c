/*
 * The present state of symbols, and edges as counts: a pair of symbols has an
 * edge as long as some slot makes it. Edges that a change adds or removes are
 * the pairs whose count left 0 or came back to it.
 */
#include <assert.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/graph_i.h"
#include "graph/resolve/names.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/units.h"

static uint32_t pair_hash(uint32_t kind, symbol_t a, symbol_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ULL;

	return (uint32_t)((h ^ kind * 0xc2b2ae3d27d4eb4fULL) >> 27);
}

static void grow_pairs(struct graph *g)
{
	uint32_t mask = g->pair_mask ? g->pair_mask * 2 + 1 : 1023;

	graph_need(g, pair_table, mask + 1ULL);
	memset(g->pair_table, 0,
	       (g->pair_mask + 1ULL) * sizeof(*g->pair_table));
	for (uint32_t n = 0; n < g->pairs_count; n++) {
		struct pair *p = &g->pairs[n];
		uint32_t at;

		if (p->kind == EDGE_KINDS)
			continue;
		at = pair_hash(p->kind, p->caller, p->callee) & mask;
		p->hashed = g->pair_table[at];
		g->pair_table[at] = n + 1;
	}
	g->pair_mask = mask;
}

static uint32_t pair_new(struct graph *g)
{
	uint32_t n = g->pairs_free;

	if (n) {
		assert(g->pairs[n - 1].kind == EDGE_KINDS);
		g->pairs_free = g->pairs[n - 1].hashed;
		return n - 1;
	}
	graph_need(g, pairs, g->pairs_count + 1);
	return g->pairs_count++;
}

static uint32_t pair_get(struct graph *g, uint8_t kind, symbol_t caller,
			 symbol_t callee)
{
	struct symbol_slot *s = &g->symbols[callee];
	uint32_t at, n;

	assert(caller < g->symbols_size && callee < g->symbols_size);
	if (g->pairs_count >= g->pair_mask)
		grow_pairs(g);
	at = pair_hash(kind, caller, callee) & g->pair_mask;
	for (n = g->pair_table[at]; n; n = g->pairs[n - 1].hashed) {
		const struct pair *p = &g->pairs[n - 1];

		if (p->kind == kind && p->caller == caller &&
		    p->callee == callee)
			return n - 1;
	}
	n = pair_new(g);
	heap_grow(&g->heap, &s->callers, &s->callers_size, s->callers_count + 1,
		  sizeof(uint32_t));
	g->pairs[n] = (struct pair){ .caller = caller,
				     .callee = callee,
				     .kind = kind,
				     .place = s->callers_count,
				     .hashed = g->pair_table[at] };
	g->pair_table[at] = n + 1;
	symbol_callers(g, s)[s->callers_count++] = n;
	assert(s->callers_count <= s->callers_size);
	return n;
}

/* Remember what the count was before this change. */
static void pair_note(struct graph *g, uint32_t n)
{
	struct pair *p = &g->pairs[n];

	if (p->noted)
		return;
	p->noted = 1;
	p->was = p->count;
	g->noted = must_grow(g->noted, &g->noted_size, g->noted_count + 1,
			     sizeof(*g->noted));
	g->noted[g->noted_count++] = n;
}

void pair_add(struct graph *g, enum edge_kind kind, symbol_t caller,
	      symbol_t callee, uint32_t *ret)
{
	uint32_t n = pair_get(g, (uint8_t)kind, caller, callee);

	pair_note(g, n);
	g->pairs[n].count++;
	*ret = n;
}

bool pair_has(const struct graph *g, enum edge_kind kind, symbol_t caller,
	      symbol_t callee)
{
	uint32_t at;

	if (!g->pairs_count)
		return false;
	at = pair_hash(kind, caller, callee) & g->pair_mask;
	for (uint32_t n = g->pair_table[at]; n; n = g->pairs[n - 1].hashed) {
		const struct pair *p = &g->pairs[n - 1];

		if (p->kind == kind && p->caller == caller &&
		    p->callee == callee)
			return p->count;
	}
	return false;
}

/* Freed when settling, not before: the count may rise again until then. */
void pair_free(struct graph *g, uint32_t n)
{
	struct pair *p = &g->pairs[n];
	struct symbol_slot *s = &g->symbols[p->callee];
	uint32_t *callers = symbol_callers(g, s);
	uint32_t *at = &g->pair_table[pair_hash(p->kind, p->caller, p->callee) &
				      g->pair_mask];

	assert(p->count == 0 && p->kind < EDGE_KINDS);
	assert(callers[p->place] == n);
	while (*at != n + 1)
		at = &g->pairs[*at - 1].hashed;
	*at = p->hashed;
	callers[p->place] = callers[--s->callers_count];
	g->pairs[callers[p->place]].place = p->place;
	p->kind = EDGE_KINDS;
	p->hashed = g->pairs_free;
	g->pairs_free = n + 1;
}

void slot_clear(struct graph *g, uint32_t slot)
{
	struct slot *s = &g->slots[slot];
	const struct made *made = slot_made(g, s);

	for (uint32_t k = 0; k < s->count; k++) {
		assert(g->pairs[made[k].pair].count);
		pair_note(g, made[k].pair);
		g->pairs[made[k].pair].count--;
	}
	if (s->count > 1)
		heap_give(&g->heap, s->made.many, s->count * sizeof(*made));
	s->count = 0;
}

static uint32_t slot_new(struct graph *g)
{
	uint32_t n = g->slots_free;

	if (n) {
		assert(g->slots[n - 1].unit == NONE);
		g->slots_free = g->slots[n - 1].bind;
		return n - 1;
	}
	graph_need(g, slots, g->slots_count + 1);
	n = g->slots_count++;
	g->slots[n] = (struct slot){ .count = 0 };
	return n;
}

static void slot_make(struct graph *g, unit_t unit, enum slot_kind kind,
		      uint32_t bind)
{
	uint32_t n = slot_new(g);
	struct unit *u = &g->units[unit];

	g->slots[n] = (struct slot){ .kind = (uint8_t)kind,
				     .dirty = 1,
				     .version = g->slots[n].version + 1,
				     .unit = unit,
				     .bind = bind };
	u->slots[u->slots_count++] = n;
	g->dirty = must_grow(g->dirty, &g->dirty_size, g->dirty_count + 1,
			     sizeof(*g->dirty));
	g->dirty[g->dirty_count++] = n;
}

static bool is_import(const struct unit *u, uint32_t bind)
{
	uint8_t kind = bind_of(u, bind)->kind;

	return kind == BIND_IMPORT || kind == BIND_FROM || kind == BIND_STAR;
}

static uint32_t count_imports(const struct unit *u)
{
	uint32_t count = 0;

	for (uint32_t k = 0; k < u->u->binds.count; k++)
		count += is_import(u, k);
	return count;
}

void slots_make(struct graph *g, unit_t n)
{
	struct unit *u = &g->units[n];
	bool bases = u->u->kind == UNIT_CLASS;
	bool overrides = u->u->flags & UNIT_METHOD;
	uint32_t imports = count_imports(u);
	bool sites = u->u->sites.count;

	assert(!u->slots_count);
	u->slots = list_take(g, (sites + bases + overrides + imports) *
					sizeof(*u->slots));
	u->slots_count = 0;
	if (sites)
		slot_make(g, n, SLOT_SITES, 0);
	if (bases)
		slot_make(g, n, SLOT_BASES, 0);
	if (overrides)
		slot_make(g, n, SLOT_OVERRIDES, 0);
	for (uint32_t k = 0; imports && k < u->u->binds.count; k++)
		if (is_import(u, k))
			slot_make(g, n, SLOT_IMPORT, k);
	assert(u->slots_count == sites + bases + overrides + imports);
}

void slots_drop(struct graph *g, unit_t n)
{
	struct unit *u = &g->units[n];

	for (uint32_t k = 0; k < u->slots_count; k++) {
		struct slot *s = &g->slots[u->slots[k]];

		slot_clear(g, u->slots[k]);
		s->version++;
		s->dirty = 0;
		s->unit = NONE;
		s->bind = g->slots_free;
		g->slots_free = u->slots[k] + 1;
	}
	list_give(g, u->slots, u->slots_count * sizeof(*u->slots));
	u->slots = NULL;
	u->slots_count = 0;
}

/* Its definitions, sorted by path and place in the text. */
static uint32_t definitions(const struct graph *g, symbol_t s, unit_t **ret)
{
	const struct symbol_slot *slot = &g->symbols[s];
	unit_t *units = symbol_units(g, slot);

	*ret = units;
	for (uint32_t k = 1; k < slot->units_count; k++) {
		for (uint32_t m = k; m > 0; m--) {
			const struct unit *a = &g->units[units[m - 1]];
			const struct unit *b = &g->units[units[m]];
			unit_t swap = units[m];
			int by = a->file == b->file
					 ? 0
					 : strcmp(atom_text(g, g->files[a->file]
								       .path),
						  atom_text(g, g->files[b->file]
								       .path));

			if (by < 0 || (by == 0 && a->index < b->index))
				break;
			units[m] = units[m - 1];
			units[m - 1] = swap;
		}
	}
	return slot->units_count;
}

static enum symbol_kind kind_of(const struct unit *u)
{
	if (u->u->kind == UNIT_MODULE)
		return SYMBOL_MODULE;
	if (u->u->kind == UNIT_CLASS)
		return SYMBOL_CLASS;
	return u->u->flags & UNIT_METHOD ? SYMBOL_METHOD : SYMBOL_FUNCTION;
}

static XXH128_hash_t unit_body(const struct graph *g, const struct unit *u)
{
	return u->u->kind == UNIT_MODULE
		       ? g->files[u->file].sheet->facts->module_hash
		       : u->u->hash;
}

static bool variable_now(const struct graph *g, symbol_t s, struct symbol *ret)
{
	const struct symbol_slot *slot = &g->symbols[s];
	const struct source_file *f;
	const struct facts_variable *v;

	if (slot->variable_file == NONE)
		return false;
	f = &g->files[slot->variable_file];
	v = facts_variables(f->sheet->facts) + slot->variable;
	ret->file = atom_text(g, f->path);
	ret->kind = SYMBOL_VARIABLE;
	ret->start_line = unit_line(&g->units[f->units[0]], v->line);
	ret->end_line = ret->start_line + (v->lines ? v->lines - 1 : 0);
	ret->definitions = 1;
	ret->hash = v->hash;
	return true;
}

bool symbol_now(const struct graph *g, symbol_t s, struct symbol *ret)
{
	unit_t *units;
	const struct unit *u;
	uint32_t n;

	assert(s < g->symbols_size);
	*ret = (struct symbol){ .name = intern_text(g->names, s, NULL) };
	n = definitions(g, s, &units);
	if (n == 0)
		return variable_now(g, s, ret);
	u = &g->units[units[0]];
	ret->file = atom_text(g, g->files[u->file].path);
	ret->kind = kind_of(u);
	ret->start_line = u->line + 1;
	ret->end_line = u->line + (u->lines ? u->lines : 1);
	ret->definitions = n;
	ret->hash = unit_body(g, u);
	for (uint32_t k = 0; k < n; k++) {
		XXH128_hash_t both[2];

		u = &g->units[units[k]];
		ret->broken |= u->u->flags & UNIT_BROKEN;
		if (k == 0)
			continue;
		both[0] = ret->hash;
		both[1] = unit_body(g, u);
		ret->hash = XXH3_128bits(both, sizeof(both));
	}
	return true;
}

void symbol_touch(struct graph *g, symbol_t s)
{
	struct symbol now;
	uint32_t at = g->symbols[s].touched;
	bool there;

	assert(!at || g->touched[at - 1].symbol == s);
	if (at)
		return;
	there = symbol_now(g, s, &now);
	g->touched = must_grow(g->touched, &g->touched_size,
			       g->touched_count + 1, sizeof(*g->touched));
	g->touched[g->touched_count++] = (struct touched_symbol){
		.symbol = s,
		.before = there,
		.kind = now.kind,
		.hash = now.hash,
	};
	g->symbols[s].touched = g->touched_count;
}

bool variable_is(struct graph *g, unit_t module, atom_t name, symbol_t *ret)
{
	const struct unit *u = &g->units[module];
	uint32_t k = name_first(u, name);
	const char *above, *below;
	char text[512];
	size_t n, m;
	symbol_t s;

	if (k >= u->names_count || u->names[k].atom != name)
		return false;
	above = intern_text(g->names, u->symbol, &n);
	below = intern_text(g->atoms, name, &m);
	if (n + m + 1 > sizeof(text))
		return false;
	memcpy(text, above, n);
	text[n] = '.';
	memcpy(text + n + 1, below, m);
	s = intern_find(g->names, text, n + m + 1);
	if (s == INTERN_NONE ||
	    (g->symbols[s].variable_file != u->file &&
	     variable_find(&g->files[u->file], name) == NONE))
		return false;
	/* A function of another file of that module, or a submodule, may have
	   the same name. */
	solve_need(g, KEY_SYMBOL, s, 0);
	*ret = s;
	return g->symbols[s].units_count == 0;
}
