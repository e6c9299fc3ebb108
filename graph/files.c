/*
 * Files and their units. The new version of a file is a new list of units.
 * Units that both lists have, by name and meaning, stay as they are, with all
 * answers about them. For the others, the fingerprints of keys before and
 * after the change tell which answers to invalidate (resolve/changed.c).
 */
#include <assert.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/graph_i.h"
#include "graph/outline.h"
#include "graph/resolve/changed.h"
#include "graph/resolve/outers.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/units.h"
#include "graph/resolve/words.h"

struct sheet *sheet_new(struct graph *g, struct facts *f)
{
	uint32_t n = g->sheets_free;
	struct sheet *s;

	if (n)
		g->sheets_free = (uint32_t)g->sheets[--n].saved_at;
	else
		n = g->sheets_count++;
	graph_need(g, sheets, g->sheets_count);
	s = &g->sheets[n];
	assert(!s->refs);
	*s = (struct sheet){ .facts = f, .refs = 1, .units = f->units };
	s->atoms = list_take(g, f->strings_count * sizeof(*s->atoms));
	for (uint32_t k = 0; k < f->strings_count; k++) {
		size_t len;
		const char *text = facts_string(f, k, &len);

		s->atoms[k] = atom_intern(g, text, len);
	}
	return s;
}

void sheet_unref(struct graph *g, struct sheet *s)
{
	if (!s)
		return;
	assert(s->refs);
	if (--s->refs)
		return;
	list_give(g, s->atoms, s->facts->strings_count * sizeof(*s->atoms));
	if (!s->lent)
		free(s->facts);
	s->facts = NULL;
	s->saved_at = g->sheets_free;
	g->sheets_free = (uint32_t)(s - g->sheets) + 1;
}

static void file_names(struct graph *g, struct source_file *f, const char *path)
{
	size_t dir;
	char *module = outline_module(path, &dir, &f->package);

	f->dir = dir ? atom_intern(g, module, dir) : WORD_EMPTY;
	f->module = atom_intern(g, module, strlen(module));
	free(module);
}

uint32_t file_find(const struct graph *g, const char *path)
{
	atom_t a = intern_find(g->atoms, path, strlen(path));

	if (a == INTERN_NONE || a >= g->file_of_path_size)
		return NONE;
	return g->file_of_path[a] - 1;
}

uint32_t file_get(struct graph *g, const char *path)
{
	atom_t a = atom_intern(g, path, strlen(path));
	uint32_t n;

	graph_need(g, file_of_path, a + 1ULL);
	if (a >= g->file_of_path_size)
		g->file_of_path_size = a + 1;
	if (g->file_of_path[a])
		return g->file_of_path[a] - 1;
	n = g->files_count++;
	g->file_of_path[a] = n + 1;
	graph_need(g, files, g->files_count);
	g->files[n] = (struct source_file){ .path = a };
	file_names(g, &g->files[n], path);
	return n;
}

static struct module_slot *module_at(struct graph *g, atom_t dotted)
{
	graph_need(g, modules, dotted + 1ULL);
	if (dotted >= g->modules_size)
		g->modules_size = dotted + 1;
	return &g->modules[dotted];
}

static void module_changed(struct graph *g, atom_t dotted)
{
	solve_invalidate(g, node_get(g, KEY_MODULE, dotted, 0));
}

/* Count a file in, or out of, its directory and those above it. */
static void dirs_count(struct graph *g, atom_t dir, bool more)
{
	while (dir != WORD_EMPTY) {
		const char *text = atom_text(g, dir);
		const char *dot = strrchr(text, '.');
		struct module_slot *m = module_at(g, dir);

		assert(more || m->below);
		if (more ? m->below++ == 0 : --m->below == 0)
			module_changed(g, dir);
		dir = dot ? atom_intern(g, text, (size_t)(dot - text))
			  : WORD_EMPTY;
	}
}

static void file_appears(struct graph *g, uint32_t n)
{
	struct source_file *f = &g->files[n];
	struct module_slot *m = module_at(g, f->module);

	assert(!f->exists);
	f->exists = true;
	heap_grow(&g->heap, &m->files, &m->size, m->count + 1, sizeof(n));
	module_files(g, m)[m->count++] = n;
	module_changed(g, f->module);
	dirs_count(g, f->dir, true);
}

static void file_vanishes(struct graph *g, uint32_t n)
{
	struct source_file *f = &g->files[n];
	struct module_slot *m = module_at(g, f->module);
	uint32_t *files = module_files(g, m), k = 0;

	assert(f->exists);
	f->exists = false;
	while (k < m->count && files[k] != n)
		k++;
	assert(k < m->count);
	files[k] = files[--m->count];
	module_changed(g, f->module);
	dirs_count(g, f->dir, false);
}

static uint32_t unit_hash(uint32_t file, symbol_t s, uint32_t ordinal)
{
	uint64_t h = ((uint64_t)file << 32 | s) * 0x9e3779b97f4a7c15ULL;

	return (uint32_t)((h ^ ordinal * 0xc2b2ae3d27d4eb4fULL) >> 27);
}

static void grow_units(struct graph *g)
{
	uint32_t mask = g->unit_mask ? g->unit_mask * 2 + 1 : 1023;

	graph_need(g, unit_table, mask + 1ULL);
	memset(g->unit_table, 0,
	       (g->unit_mask + 1ULL) * sizeof(*g->unit_table));
	for (unit_t n = 0; n < g->units_count; n++) {
		struct unit *u = &g->units[n];
		uint32_t at = unit_hash(u->file, u->symbol, u->ordinal) & mask;

		u->hashed = g->unit_table[at];
		g->unit_table[at] = n + 1;
	}
	g->unit_mask = mask;
}

static unit_t unit_get(struct graph *g, uint32_t file, symbol_t s,
		       uint32_t ordinal)
{
	uint32_t at;
	unit_t n;

	if (g->units_count >= g->unit_mask)
		grow_units(g);
	at = unit_hash(file, s, ordinal) & g->unit_mask;
	for (n = g->unit_table[at]; n; n = g->units[n - 1].hashed) {
		const struct unit *u = &g->units[n - 1];

		if (u->file == file && u->symbol == s && u->ordinal == ordinal)
			return n - 1;
	}
	n = g->units_count++;
	graph_need(g, units, g->units_count);
	g->units[n] = (struct unit){ .symbol = s,
				     .file = file,
				     .ordinal = ordinal,
				     .hashed = g->unit_table[at],
				     .nodes = NONE };
	g->unit_table[at] = n + 1;
	return n;
}

static symbol_t symbol_get(struct graph *g, const char *text, size_t len)
{
	symbol_t s = intern_add(g->names, text, len);

	graph_need(g, symbols, s + 1ULL);
	while (g->symbols_size <= s)
		g->symbols[g->symbols_size++] =
			(struct symbol_slot){ .variable_file = NONE };
	return s;
}

/* parent.name */
static symbol_t symbol_below(struct graph *g, symbol_t parent, const char *name)
{
	size_t n, m = strlen(name);
	const char *above = intern_text(g->names, parent, &n);
	char small[512];
	char *text = n + m + 1 <= sizeof(small) ? small : must_alloc(n + m + 1);
	symbol_t s;

	memcpy(text, above, n);
	text[n] = '.';
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): has a length */
	memcpy(text + n + 1, name, m);
	s = symbol_get(g, text, n + m + 1);
	if (text != small)
		free(text);
	return s;
}

static symbol_t symbol_of_module(struct graph *g, uint32_t file)
{
	size_t len;
	const char *text = intern_text(g->atoms, g->files[file].module, &len);

	return symbol_get(g, text, len);
}

/* The ordinal of the next unit of that name in the list being made. */
static uint32_t ordinal_next(struct graph *g, symbol_t s)
{
	struct symbol_slot *slot = &g->symbols[s];

	if (slot->seen_stamp != g->stamp) {
		slot->seen_stamp = g->stamp;
		slot->seen = 0;
	}
	return slot->seen++;
}

/* The number a piece gets, and that of its parent. */
struct files_plan {
	unit_t n, parent;
};

/*
 * `count` pieces replace `had` units of a file, from unit `from` on: all its
 * units (`from` is 0), or a definition that was read alone and what it holds.
 */
struct files_change {
	uint32_t file, from, had, count;
	const struct unit_piece *pieces;
	struct files_plan *plan;
};

static void plan_units(struct graph *g, const struct files_change *c)
{
	uint32_t *open = must_alloc((c->count + 1) * sizeof(*open)), depth = 0;
	uint32_t *until = must_alloc((c->count + 1) * sizeof(*until));
	struct files_plan *plan = c->plan;

	for (uint32_t k = 0; k < c->count; k++) {
		const struct unit_piece *p = &c->pieces[k];
		symbol_t s;

		while (depth && k > until[depth - 1])
			depth--;
		if (k == 0)
			s = symbol_of_module(g, c->file);
		else
			s = symbol_below(
				g, g->units[plan[open[depth - 1]].n].symbol,
				atom_text(g, p->sheet->atoms[p->u->name]));
		plan[k].n = unit_get(g, c->file, s, ordinal_next(g, s));
		plan[k].parent = k ? plan[open[depth - 1]].n : plan[0].n;
		open[depth] = k;
		until[depth++] = k + p->u->units;
	}
	free(open);
	free(until);
}

static bool hash_equal(XXH128_hash_t a, XXH128_hash_t b)
{
	return a.low64 == b.low64 && a.high64 == b.high64;
}

/*
 * What the change does to a unit. One whose kind or parent changes is
 * replaced, and so are the units inside it: questions about them have other
 * answers even where their text is the same.
 */
static enum unit_fate fate_of(const struct graph *g,
			      const struct files_plan *plan,
			      const struct unit_piece *piece)
{
	const struct unit *u = &g->units[plan->n];

	if (!u->sheet)
		return FATE_CHANGED;
	if (u->parent != plan->parent || u->u->kind != piece->u->kind ||
	    (u->parent != plan->n && g->units[u->parent].fate == FATE_REPLACED))
		return FATE_REPLACED;
	return hash_equal(u->u->meaning, piece->u->meaning) ? FATE_SAME
							    : FATE_CHANGED;
}

static void symbol_add_unit(struct graph *g, symbol_t s, unit_t n)
{
	struct symbol_slot *slot = &g->symbols[s];

	heap_grow(&g->heap, &slot->units, &slot->units_size,
		  slot->units_count + 1, sizeof(n));
	symbol_units(g, slot)[slot->units_count++] = n;
	if (slot->units_count == 1)
		solve_invalidate_key(g, KEY_SYMBOL, s, 0);
}

static void symbol_drop_unit(struct graph *g, symbol_t s, unit_t n)
{
	struct symbol_slot *slot = &g->symbols[s];
	unit_t *units = symbol_units(g, slot);
	uint32_t k = 0;

	while (k < slot->units_count && units[k] != n)
		k++;
	assert(k < slot->units_count);
	units[k] = units[--slot->units_count];
	if (slot->units_count == 0)
		solve_invalidate_key(g, KEY_SYMBOL, s, 0);
}

static int name_order(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->atom != y->atom)
		return x->atom < y->atom ? -1 : 1;
	return x->bind < y->bind ? -1 : x->bind > y->bind;
}

static void names_drop(struct graph *g, struct unit *u)
{
	list_give(g, u->names, u->names_count * sizeof(*u->names));
	list_give(g, u->every, u->every_count * sizeof(*u->every));
	u->names = u->every = NULL;
	u->names_count = u->every_count = 0;
}

static void flags_of_function(struct unit *u, const struct graph *g)
{
	for (uint32_t k = 0; k < u->u->binds.count; k++) {
		const struct facts_bind *b = bind_of(u, k);

		u->dotted |= b->name != FACTS_NONE &&
			     strchr(atom_text(g, atom_of(u, b->name)), '.');
	}
}

/* Is it a binding of a module's or class's own scope? */
static bool binds_here(const struct unit *u, const struct facts_bind *b)
{
	return b->name != FACTS_NONE && !b->outer && b->kind != BIND_NARROW &&
	       block_of(u, b->block)->scope == 0;
}

/* With fewer bindings a linear search is as fast. */
#define EVERY_MIN 24

/* Index all bindings, for name_bind_after() and names.c: bind_back(). */
static void every_make(struct unit *u, struct graph *g)
{
	uint32_t count = u->u->binds.count;

	if (count < EVERY_MIN)
		return;
	u->every = list_take(g, count * sizeof(*u->every));
	u->every_count = count;
	for (uint32_t k = 0; k < count; k++)
		u->every[k] = (struct name){ bind_atom(u, k), k };
	qsort(u->every, count, sizeof(*u->every), name_order);
}

/* Index what the unit's own scope binds or stores into, by name; and note
   whether it binds dotted names or has star imports. */
static void names_make(struct unit *u, struct graph *g)
{
	uint32_t count = 0;

	names_drop(g, u);
	every_make(u, g);
	u->dotted = u->starred = false;
	if (u->u->kind == UNIT_FUNCTION) {
		flags_of_function(u, g);
		return;
	}
	for (uint32_t k = 0; k < u->u->binds.count; k++) {
		u->starred |= bind_of(u, k)->kind == BIND_STAR;
		count += binds_here(u, bind_of(u, k));
	}
	u->names = list_take(g, count * sizeof(*u->names));
	for (uint32_t k = 0; k < u->u->binds.count; k++) {
		const struct facts_bind *b = bind_of(u, k);

		if (!binds_here(u, b))
			continue;
		u->names[u->names_count].atom = atom_of(u, b->name);
		u->names[u->names_count++].bind = k;
	}
	assert(u->names_count == count);
	if (count)
		qsort(u->names, count, sizeof(*u->names), name_order);
}

static void unit_remove(struct graph *g, unit_t n)
{
	struct unit *u = &g->units[n];

	assert(u->sheet);
	slots_drop(g, n);
	symbol_drop_unit(g, u->symbol, n);
	sheet_unref(g, u->sheet);
	u->sheet = NULL;
	u->u = NULL;
	names_drop(g, u);
	lines_drop(g, u);
}

static void unit_assign(struct graph *g, const struct files_plan *plan,
			const struct unit_piece *piece, uint32_t index)
{
	struct unit *u = &g->units[plan->n];
	bool new = !u->sheet;

	piece->sheet->refs++;
	sheet_unref(g, u->sheet);
	u->sheet = piece->sheet;
	u->u = piece->u;
	u->at = (uint32_t)(piece->u - facts_units(piece->sheet->facts));
	assert(u->at < piece->sheet->facts->units_count);
	u->parent = plan->parent;
	u->index = index;
	lines_drop(g, u);
	if (new)
		symbol_add_unit(g, u->symbol, plan->n);
}

/* A definition that was read alone keeps its start. */
static void unit_place_alone(struct unit *u)
{
	u->end = u->start + u->u->end - u->u->start;
	u->lines = u->u->lines;
	u->whole = u->u->whole;
}

/* Positions in facts are relative to the parent's. */
static void unit_place(struct graph *g, unit_t n)
{
	struct unit *u = &g->units[n];
	const struct unit *p = &g->units[u->parent];
	bool top = u->parent == n || p->u->kind == UNIT_MODULE;

	u->start = u->u->start + (top ? 0 : p->start);
	u->end = u->u->end + (top ? 0 : p->start);
	u->line = u->u->line + (top ? 0 : p->line);
	u->lines = u->u->lines;
	u->gap = u->u->gap;
	u->whole = u->u->whole;
}

/* must_grow(), for a list of units on the heap. */
static unit_t *list_grow(struct graph *g, const unit_t *list, uint32_t *size,
			 uint32_t need)
{
	heap_t piece = heap_number(&g->heap, list);

	heap_grow(&g->heap, &piece, size, need, sizeof(*list));
	return piece ? heap_at(&g->heap, piece) : NULL;
}

/* If several files of a module have the variable, the first path counts. */
static void variable_choose(struct graph *g, atom_t module, atom_t name,
			    symbol_t s)
{
	const struct module_slot *m = module_at(g, module);
	const uint32_t *files = module_files(g, m);
	struct symbol_slot *slot = &g->symbols[s];

	slot->variable_file = NONE;
	for (uint32_t k = 0; k < m->count; k++) {
		uint32_t v = variable_find(&g->files[files[k]], name);
		uint32_t best = slot->variable_file;

		if (v == NONE ||
		    (best != NONE &&
		     strcmp(atom_text(g, g->files[files[k]].path),
			    atom_text(g, g->files[best].path)) > 0))
			continue;
		slot->variable_file = files[k];
		slot->variable = v;
	}
}

/*
 * The variables of a module are symbols. Before the file changes (`after` is
 * false) remember what they were, afterwards update what they are.
 */
static void variables_see(struct graph *g, uint32_t file,
			  const struct sheet *sheet, bool after)
{
	atom_t dotted = g->files[file].module;
	symbol_t module = symbol_of_module(g, file);

	for (uint32_t k = 0; sheet && k < sheet->facts->variables_count; k++) {
		facts_str str = facts_variables(sheet->facts)[k].name;
		atom_t name = sheet->atoms[str];
		symbol_t s = symbol_below(g, module, atom_text(g, name));

		if (!after) {
			symbol_touch(g, s);
		} else if (sheet == g->files[file].sheet &&
			   module_at(g, dotted)->count == 1) {
			g->symbols[s].variable_file = file;
			g->symbols[s].variable = k;
		} else {
			variable_choose(g, dotted, name, s);
		}
	}
}

/* A definition of `parent` was added, removed or replaced. */
static void parent_changes(struct graph *g, struct changed *changed,
			   unit_t parent)
{
	if (g->units[parent].fate == FATE_SAME)
		g->units[parent].fate = FATE_CHANGED;
	changed_add_unit(g, changed, parent);
}

/* Decide the fate of the new units; remember symbols whose body differs. */
static void decide_fates(struct graph *g, const struct files_change *c)
{
	for (uint32_t k = 0; k < c->count; k++) {
		const struct facts_unit *now = c->pieces[k].u;
		struct unit *u = &g->units[c->plan[k].n];

		assert(u->fate == FATE_REMOVED);
		u->fate = (uint8_t)fate_of(g, &c->plan[k], &c->pieces[k]);
		if (!u->sheet || !hash_equal(u->u->hash, now->hash) ||
		    now->kind == UNIT_MODULE)
			symbol_touch(g, u->symbol);
	}
}

/* Before the change: remember symbols, and fingerprints of keys. */
static void before_switch(struct graph *g, const struct files_change *c,
			  struct changed *changed)
{
	const struct source_file *f = &g->files[c->file];

	decide_fates(g, c);
	for (uint32_t k = 0; k < c->had; k++) {
		unit_t n = f->units[c->from + k];
		struct unit *u = &g->units[n];

		if (u->fate == FATE_SAME || !u->sheet)
			continue;
		if (u->fate == FATE_REMOVED)
			symbol_touch(g, u->symbol);
		if (u->fate == FATE_REMOVED || u->fate == FATE_REPLACED)
			parent_changes(g, changed, u->parent);
		changed_add(g, changed, n, u->parent,
			    &(struct unit_piece){ u->sheet, u->u });
	}
	for (uint32_t k = 0; k < c->count; k++) {
		const struct files_plan *p = &c->plan[k];
		const struct unit *u = &g->units[p->n];

		if (u->fate == FATE_SAME)
			continue;
		if (!u->sheet || u->fate == FATE_REPLACED)
			parent_changes(g, changed, p->parent);
		changed_add(g, changed, p->n, p->parent, &c->pieces[k]);
	}
	changed_take(g, changed);
}

/* Put the new units into the file's list, with their facts and positions. */
static void list_units(struct graph *g, const struct files_change *c)
{
	struct source_file *f = &g->files[c->file];

	f->units_count += c->count - c->had;
	f->units = list_grow(g, f->units, &f->units_size, f->units_count);
	assert(c->from + c->count <= f->units_count);
	assert(f->units_count <= f->units_size);
	for (uint32_t k = 0; k < c->count; k++) {
		unit_t n = c->plan[k].n;

		f->units[c->from + k] = n;
		unit_assign(g, &c->plan[k], &c->pieces[k], c->from + k);
		if (c->from && k == 0)
			unit_place_alone(&g->units[n]);
		else
			unit_place(g, n);
	}
}

static void switch_units(struct graph *g, const struct files_change *c)
{
	const struct source_file *f = &g->files[c->file];
	uint64_t had = 0, has = 0;

	for (uint32_t k = 0; k < c->had; k++) {
		unit_t n = f->units[c->from + k];

		had = had * 31 + outers_fingerprint(g, n);
		if (g->units[n].fate == FATE_REMOVED)
			unit_remove(g, n);
	}
	list_units(g, c);
	for (uint32_t k = 0; k < c->count; k++) {
		unit_t n = c->plan[k].n;
		bool same = g->units[n].fate == FATE_SAME;

		g->units[n].fate = FATE_REMOVED;
		names_make(&g->units[n], g);
		has = has * 31 + outers_fingerprint(g, n);
		if (!same) {
			slots_drop(g, n);
			slots_make(g, n);
		}
	}
	/* Outers hold indexes of units, which a splice does not change. */
	if (had != has || (!c->from && has))
		outers_make(g, &g->files[c->file]);
}

void file_switch(struct graph *g, uint32_t file, struct sheet *whole,
		 const struct unit_piece *pieces, uint32_t count)
{
	struct files_change c = { .file = file,
				  .had = g->files[file].units_count,
				  .count = count,
				  .pieces = pieces,
				  .plan = must_alloc(count * sizeof(*c.plan)) };
	struct changed changed = { .count = 0 };
	struct sheet *had = g->files[file].sheet;

	assert((count > 0) == (whole != NULL));
	g->stamp++;
	plan_units(g, &c);
	before_switch(g, &c, &changed);
	if (had != whole) {
		variables_see(g, file, had, false);
		variables_see(g, file, whole, false);
	}
	if (count && !g->files[file].exists)
		file_appears(g, file);
	switch_units(g, &c);
	g->files[file].sheet = whole;
	if (!count && g->files[file].exists)
		file_vanishes(g, file);
	assert(g->files[file].exists == (count > 0));
	if (had != whole) {
		variables_see(g, file, had, true);
		variables_see(g, file, whole, true);
	}
	sheet_unref(g, had);
	changed_invalidate(g, &changed);
	free(c.plan);
}

void file_splice(struct graph *g, uint32_t file, uint32_t from,
		 const struct unit_piece *pieces, uint32_t count)
{
	struct files_change c = { .file = file,
				  .from = from,
				  .had = count,
				  .count = count,
				  .pieces = pieces,
				  .plan = must_alloc(count * sizeof(*c.plan)) };
	struct changed changed = { .count = 0 };

	assert(from > 0 && from + count <= g->files[file].units_count);
	g->stamp++;
	for (uint32_t k = 0; k < count; k++) {
		c.plan[k].n = g->files[file].units[from + k];
		c.plan[k].parent = g->units[c.plan[k].n].parent;
	}
	before_switch(g, &c, &changed);
	switch_units(g, &c);
	changed_invalidate(g, &changed);
	free(c.plan);
}

void file_drop(struct graph *g, uint32_t file)
{
	if (g->files[file].exists)
		file_switch(g, file, NULL, NULL, 0);
}
