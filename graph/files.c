/*
 * Files and their units. A file's new text becomes a new list of units; what
 * the list has in common with the old one, by name and meaning, stays as it
 * is, with everything that was found out about it. For the rest, the keys
 * that changed are found by their prints before and after (changed.c).
 */
#include <string.h>

#include "graph/base/memory.h"
#include "graph/graph_i.h"
#include "graph/words.h"

struct sheet *sheet_new(struct graph *g, struct facts *f)
{
	struct sheet *s = must_calloc(1, sizeof(*s));

	s->facts = f;
	s->refs = 1;
	s->atoms = must_alloc(f->strings_count * sizeof(*s->atoms));
	for (uint32_t k = 0; k < f->strings_count; k++) {
		size_t len;
		const char *text = facts_string(f, k, &len);

		s->atoms[k] = atom(g, text, len);
	}
	return s;
}

void sheet_unref(struct sheet *s)
{
	if (!s || --s->refs)
		return;
	if (!s->lent)
		free(s->facts);
	free(s->atoms);
	free(s);
}

uint32_t unit_line(const struct unit *u, uint32_t line)
{
	int64_t l = line;

	for (uint32_t k = 0; k < u->shifts_count; k++)
		if (l > u->shifts[k].line)
			l += u->shifts[k].by;
	return u->line + (uint32_t)l + 1;
}

/* Directories from which Python is meant to import. */
static bool is_source_root(const char *name, size_t len)
{
	return (len == 3 && memcmp(name, "src", 3) == 0) ||
	       (len == 3 && memcmp(name, "lib", 3) == 0);
}

/* "src/a/b.py" is module a.b in directory a; "a/__init__.py" is a. */
static void file_names(struct graph *g, struct file *f, const char *path)
{
	size_t len = strlen(path);
	char *text = must_alloc(len + 1), *slash;
	const char *name;

	name = strchr(path, '/');
	if (name && is_source_root(path, (size_t)(name - path))) {
		path = name + 1;
		len = strlen(path);
	}
	memcpy(text, path, len + 1);
	if (len > 3 && strcmp(text + len - 3, ".py") == 0)
		text[len -= 3] = '\0';
	for (char *c = text; *c; c++)
		if (*c == '/')
			*c = '.';
	slash = memrchr(path, '/', len);
	f->dir = slash ? atom(g, text, (size_t)(slash - path)) : WORD_EMPTY;
	name = slash ? slash + 1 : path;
	f->package = strcmp(name, "__init__.py") == 0 && slash;
	f->module = f->package ? f->dir : atom(g, text, len);
	free(text);
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
	atom_t a = atom(g, path, strlen(path));
	uint32_t had = g->file_of_path_size, n;

	g->file_of_path = must_grow(g->file_of_path, &g->file_of_path_size,
				    (size_t)a + 1, sizeof(uint32_t));
	if (g->file_of_path_size > had)
		memset(g->file_of_path + had, 0,
		       (g->file_of_path_size - had) * sizeof(uint32_t));
	if (g->file_of_path[a])
		return g->file_of_path[a] - 1;
	n = g->files_count++;
	g->file_of_path[a] = n + 1;
	g->files = must_grow(g->files, &g->files_size, g->files_count,
			     sizeof(*g->files));
	g->files[n] = (struct file){ .path = a };
	file_names(g, &g->files[n], path);
	return n;
}

static struct module_slot *module_at(struct graph *g, atom_t dotted)
{
	uint32_t had = g->modules_size;

	g->modules = must_grow(g->modules, &g->modules_size, (size_t)dotted + 1,
			       sizeof(*g->modules));
	if (g->modules_size > had)
		memset(g->modules + had, 0,
		       (g->modules_size - had) * sizeof(*g->modules));
	return &g->modules[dotted];
}

static void module_changed(struct graph *g, atom_t dotted)
{
	outdate(g, node_get(g, KEY_MODULE, dotted, 0));
}

/* Every directory on the way has one file more, or less. */
static void dirs_count(struct graph *g, atom_t dir, bool more)
{
	while (dir != WORD_EMPTY) {
		const char *text = atom_text(g, dir);
		const char *dot = strrchr(text, '.');
		struct module_slot *m = module_at(g, dir);

		if (more ? m->below++ == 0 : --m->below == 0)
			module_changed(g, dir);
		dir = dot ? atom(g, text, (size_t)(dot - text)) : WORD_EMPTY;
	}
}

static void file_appears(struct graph *g, uint32_t n)
{
	struct file *f = &g->files[n];
	struct module_slot *m = module_at(g, f->module);

	f->there = true;
	m->files =
		must_grow(m->files, &m->size, m->count + 1, sizeof(*m->files));
	m->files[m->count++] = n;
	module_changed(g, f->module);
	dirs_count(g, f->dir, true);
}

static void file_vanishes(struct graph *g, uint32_t n)
{
	struct file *f = &g->files[n];
	struct module_slot *m = module_at(g, f->module);

	f->there = false;
	for (uint32_t k = 0; k < m->count; k++) {
		if (m->files[k] == n) {
			m->files[k] = m->files[--m->count];
			break;
		}
	}
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
	uint32_t *table = must_calloc((size_t)mask + 1, sizeof(*table));

	for (unit_t n = 0; n < g->units_count; n++) {
		struct unit *u = &g->units[n];
		uint32_t at = unit_hash(u->file, u->symbol, u->ordinal) & mask;

		u->hashed = table[at];
		table[at] = n + 1;
	}
	free(g->unit_table);
	g->unit_table = table;
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
	g->units = must_grow(g->units, &g->units_size, g->units_count,
			     sizeof(*g->units));
	g->units[n] = (struct unit){ .symbol = s,
				     .file = file,
				     .ordinal = ordinal,
				     .hashed = g->unit_table[at],
				     .nodes = NONE };
	g->unit_table[at] = n + 1;
	return n;
}

int unit_order(const struct graph *g, unit_t a, unit_t b)
{
	const struct unit *x = &g->units[a], *y = &g->units[b];
	int by = 0;

	if (x->symbol != y->symbol)
		by = strcmp(intern_text(g->names, x->symbol, NULL),
			    intern_text(g->names, y->symbol, NULL));
	if (!by && x->file != y->file)
		by = strcmp(atom_text(g, g->files[x->file].path),
			    atom_text(g, g->files[y->file].path));
	if (by)
		return by;
	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/* Mostly one, seldom more than two. */
void units_sort(const struct graph *g, unit_t *units, uint32_t count)
{
	for (uint32_t k = 1; k < count; k++) {
		for (uint32_t m = k; m > 0; m--) {
			unit_t swap = units[m];

			if (unit_order(g, units[m - 1], swap) <= 0)
				break;
			units[m] = units[m - 1];
			units[m - 1] = swap;
		}
	}
}

static symbol_t symbol_get(struct graph *g, const char *text, size_t len)
{
	symbol_t s = intern_add(g->names, text, len);
	uint32_t had = g->symbols_size;

	g->symbols = must_grow(g->symbols, &g->symbols_size, (size_t)s + 1,
			       sizeof(*g->symbols));
	for (uint32_t k = had; k < g->symbols_size; k++)
		g->symbols[k] = (struct symbol_slot){ .variable_file = NONE };
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
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): length is. */
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

/* Which of its name a unit is, in the list being made. */
static uint32_t ordinal_next(struct graph *g, symbol_t s)
{
	struct symbol_slot *slot = &g->symbols[s];

	if (slot->seen_stamp != g->stamp) {
		slot->seen_stamp = g->stamp;
		slot->seen = 0;
	}
	return slot->seen++;
}

/* What a piece is going to be: its number and its parent's. */
struct plan {
	unit_t n, parent;
};

static void plan_units(struct graph *g, uint32_t file,
		       const struct piece *pieces, uint32_t count,
		       struct plan *plan)
{
	uint32_t *open = must_alloc((count + 1) * sizeof(*open)), depth = 0;
	uint32_t *until = must_alloc((count + 1) * sizeof(*until));

	for (uint32_t k = 0; k < count; k++) {
		const struct piece *p = &pieces[k];
		symbol_t s;

		while (depth && k > until[depth - 1])
			depth--;
		if (p->old != NONE)
			s = g->units[p->old].symbol;
		else if (k == 0)
			s = symbol_of_module(g, file);
		else
			s = symbol_below(
				g, g->units[plan[open[depth - 1]].n].symbol,
				atom_text(g, p->sheet->atoms[p->u->name]));
		plan[k].n = unit_get(g, file, s, ordinal_next(g, s));
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
 * 2: the unit stays as it was. 1: it says something else. 3: it is another
 * kind of thing, or stands in one: then what is asked about it, and about all
 * that is in it, has other answers even where the text is the same.
 */
static uint8_t change_of(const struct graph *g, const struct plan *plan,
			 const struct piece *piece)
{
	const struct unit *u = &g->units[plan->n];

	if (!u->sheet)
		return 1;
	if (u->parent != plan->parent || u->u->kind != piece->u->kind ||
	    (u->parent != plan->n && g->units[u->parent].kept == 3))
		return 3;
	return hash_equal(u->u->meaning, piece->u->meaning) ? 2 : 1;
}

/* Keys whose prints are to be compared. */
struct prints {
	struct {
		node_t node;
		bool always; /* outdated, whatever it says */
		uint64_t before;
	} * keys;
	uint32_t count, size;
};

static void prints_add_key(struct graph *g, struct prints *p, node_t key)
{
	p->keys = must_grow(p->keys, &p->size, p->count + 1, sizeof(*p->keys));
	p->keys[p->count].node = key;
	p->keys[p->count].always = false;
	p->keys[p->count++].before = key_print(g, key);
}

static void prints_add(struct graph *g, struct prints *p, unit_t n)
{
	if (g->units[n].stamp == g->stamp)
		return;
	g->units[n].stamp = g->stamp;
	for (node_t k = g->units[n].nodes; k != NONE; k = g->nodes[k].next) {
		prints_add_key(g, p, k);
		p->keys[p->count - 1].always = g->units[n].kept == 3;
	}
}

static void prints_compare(struct graph *g, struct prints *p)
{
	for (uint32_t k = 0; k < p->count; k++)
		if (p->keys[k].always ||
		    key_print(g, p->keys[k].node) != p->keys[k].before)
			outdate(g, p->keys[k].node);
	free(p->keys);
}

static void symbol_add_unit(struct graph *g, symbol_t s, unit_t n)
{
	struct symbol_slot *slot = &g->symbols[s];

	slot->units = must_grow(slot->units, &slot->units_size,
				slot->units_count + 1, sizeof(*slot->units));
	slot->units[slot->units_count++] = n;
	if (slot->units_count == 1)
		outdate_key(g, KEY_SYMBOL, s, 0);
}

static void symbol_drop_unit(struct graph *g, symbol_t s, unit_t n)
{
	struct symbol_slot *slot = &g->symbols[s];

	for (uint32_t k = 0; k < slot->units_count; k++) {
		if (slot->units[k] == n) {
			slot->units[k] = slot->units[--slot->units_count];
			break;
		}
	}
	if (slot->units_count == 0)
		outdate_key(g, KEY_SYMBOL, s, 0);
}

static int name_order(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->atom != y->atom)
		return x->atom < y->atom ? -1 : 1;
	return x->bind < y->bind ? -1 : x->bind > y->bind;
}

/* What its own scope binds, by name; and whether it binds dotted names. */
static void names_make(struct unit *u, const struct graph *g)
{
	uint32_t count = 0;

	free(u->names);
	u->names = NULL;
	u->names_count = 0;
	u->dotted = u->starred = u->global = false;
	if (u->u->kind == UNIT_FUNCTION) {
		for (uint32_t k = 0; k < u->u->binds.count; k++) {
			const struct facts_bind *b = bind_of(u, k);

			u->global |= b->outer == 1;
			u->dotted |=
				b->name != FACTS_NONE &&
				strchr(atom_text(g, atom_of(u, b->name)), '.');
		}
		return;
	}
	u->names = must_alloc(u->u->binds.count * sizeof(*u->names));
	for (uint32_t k = 0; k < u->u->binds.count; k++) {
		const struct facts_bind *b = bind_of(u, k);

		u->starred |= b->kind == BIND_STAR;
		if (b->name == FACTS_NONE || b->outer ||
		    b->kind == BIND_NARROW || block_of(u, b->block)->scope != 0)
			continue;
		u->names[count].atom = atom_of(u, b->name);
		u->names[count++].bind = k;
	}
	qsort(u->names, count, sizeof(*u->names), name_order);
	u->names = must_realloc(u->names, count * sizeof(*u->names));
	u->names_count = count;
}

static void unit_dies(struct graph *g, unit_t n)
{
	struct unit *u = &g->units[n];

	slots_drop(g, n);
	symbol_drop_unit(g, u->symbol, n);
	u = &g->units[n];
	sheet_unref(u->sheet);
	u->sheet = NULL;
	u->u = NULL;
	free(u->names);
	free(u->shifts);
	u->names = NULL;
	u->shifts = NULL;
	u->names_count = u->shifts_count = 0;
}

static void unit_reads(struct graph *g, const struct plan *plan,
		       const struct piece *piece, uint32_t index)
{
	struct unit *u = &g->units[plan->n];
	bool new = !u->sheet;

	piece->sheet->refs++;
	sheet_unref(u->sheet);
	u->sheet = piece->sheet;
	u->u = piece->u;
	u->parent = plan->parent;
	u->index = index;
	if (piece->old == NONE) {
		free(u->shifts);
		u->shifts = NULL;
		u->shifts_count = 0;
	}
	if (new)
		symbol_add_unit(g, u->symbol, plan->n);
}

/* Places of units read with their file: theirs are relative to parents'. */
static void unit_places(struct graph *g, unit_t n, const struct piece *piece)
{
	struct unit *u = &g->units[n];
	const struct unit *p = &g->units[u->parent];
	bool top = u->parent == n || p->u->kind == UNIT_MODULE;

	if (piece->old != NONE)
		return;
	if (n == g->edited) {
		u->end = u->start + piece->u->end - piece->u->start;
		u->lines = piece->u->lines;
		return;
	}
	u->start = piece->u->start + (top ? 0 : p->start);
	u->end = piece->u->end + (top ? 0 : p->start);
	u->line = piece->u->line + (top ? 0 : p->line);
	u->lines = piece->u->lines;
	u->gap = piece->u->gap;
}

static void globals_make(struct graph *g, struct file *f)
{
	f->globals_count = 0;
	for (uint32_t k = 0; k < f->units_count; k++) {
		if (!g->units[f->units[k]].global)
			continue;
		f->globals =
			must_grow(f->globals, &f->globals_size,
				  f->globals_count + 1, sizeof(*f->globals));
		f->globals[f->globals_count++] = f->units[k];
	}
}

uint32_t variable_find(const struct file *f, atom_t name)
{
	const struct sheet *s = f->sheet;

	for (uint32_t k = 0; s && k < s->facts->variables_count; k++)
		if (s->atoms[facts_variables(s->facts)[k].name] == name)
			return k;
	return NONE;
}

/* Of the files of a module that has several, the first path's counts. */
static void variable_choose(struct graph *g, atom_t module, atom_t name,
			    symbol_t s)
{
	const struct module_slot *m = module_at(g, module);
	struct symbol_slot *slot = &g->symbols[s];

	slot->variable_file = NONE;
	for (uint32_t k = 0; k < m->count; k++) {
		uint32_t v = variable_find(&g->files[m->files[k]], name);
		uint32_t best = slot->variable_file;

		if (v == NONE ||
		    (best != NONE &&
		     strcmp(atom_text(g, g->files[m->files[k]].path),
			    atom_text(g, g->files[best].path)) > 0))
			continue;
		slot->variable_file = m->files[k];
		slot->variable = v;
	}
}

/*
 * Variables of a module are symbols as well. Called before the file changes
 * to keep what they were, and after it.
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

/* Does it bind names of those around it? */
static bool binds_outer(const struct facts *f, const struct facts_unit *u)
{
	const struct facts_bind *b = facts_binds(f, u);

	for (uint32_t k = 0; k < u->binds.count; k++)
		if (b[k].outer)
			return true;
	return false;
}

/* A unit changes: its keys, and its parent's as far as they are about it. */
static void prints_of(struct graph *g, struct prints *prints, unit_t n,
		      unit_t parent, const struct piece *piece)
{
	const struct unit *u = &g->units[n], *p = &g->units[parent];
	uint8_t kind = piece->u->kind;

	prints_add(g, prints, n);
	if (p->sheet &&
	    (p->u->kind == UNIT_CLASS || (u->sheet && u->u->kind != kind)))
		prints_add(g, prints, parent);
	if (p->sheet && p->u->kind == UNIT_MODULE &&
	    (piece->u->decorators.count ||
	     (u->sheet && u->u->decorators.count)))
		prints_add_key(g, prints, node_get(g, KEY_FIXTURES, parent, 0));
	if (!binds_outer(piece->sheet->facts, piece->u))
		return;
	for (n = parent; g->units[n].sheet; n = g->units[n].parent) {
		prints_add(g, prints, n);
		if (g->units[n].parent == n)
			break;
	}
}

/* A definition in `parent` leads elsewhere, or to something else. */
static void parent_changes(struct graph *g, struct prints *prints,
			   unit_t parent)
{
	if (g->units[parent].kept == 2)
		g->units[parent].kept = 1;
	prints_add(g, prints, parent);
}

/* Before anything changes: what symbols were, what keys said. */
static void before_switch(struct graph *g, uint32_t file,
			  const struct plan *plan, const struct piece *pieces,
			  uint32_t count, struct prints *prints)
{
	struct file *f = &g->files[file];

	for (uint32_t k = 0; k < count; k++) {
		struct unit *u = &g->units[plan[k].n];

		u->kept = change_of(g, &plan[k], &pieces[k]);
		if (!u->sheet || !hash_equal(u->u->hash, pieces[k].u->hash) ||
		    pieces[k].u->kind == UNIT_MODULE)
			symbol_touch(g, u->symbol);
	}
	for (uint32_t k = 0; k < f->units_count; k++) {
		unit_t n = f->units[k];
		struct unit *u = &g->units[n];

		if (u->kept == 2 || !u->sheet)
			continue;
		if (u->kept == 0)
			symbol_touch(g, u->symbol);
		if (u->kept == 0 || u->kept == 3)
			parent_changes(g, prints, u->parent);
		prints_of(g, prints, n, u->parent,
			  &(struct piece){ u->sheet, u->u, NONE });
	}
	for (uint32_t k = 0; k < count; k++) {
		const struct unit *u = &g->units[plan[k].n];

		if (u->kept == 2)
			continue;
		if (!u->sheet || u->kept == 3)
			parent_changes(g, prints, plan[k].parent);
		prints_of(g, prints, plan[k].n, plan[k].parent, &pieces[k]);
	}
}

static void switch_units(struct graph *g, uint32_t file,
			 const struct plan *plan, const struct piece *pieces,
			 uint32_t count)
{
	struct file *f = &g->files[file];

	for (uint32_t k = 0; k < f->units_count; k++)
		if (g->units[f->units[k]].kept == 0)
			unit_dies(g, f->units[k]);
	f = &g->files[file];
	f->units =
		must_grow(f->units, &f->units_size, count, sizeof(*f->units));
	f->units_count = count;
	for (uint32_t k = 0; k < count; k++) {
		f->units[k] = plan[k].n;
		unit_reads(g, &plan[k], &pieces[k], k);
		unit_places(g, plan[k].n, &pieces[k]);
	}
	for (uint32_t k = 0; k < count; k++) {
		unit_t n = plan[k].n;
		bool same = g->units[n].kept == 2;

		g->units[n].kept = 0;
		if (pieces[k].old == NONE)
			names_make(&g->units[n], g);
		if (!same) {
			slots_drop(g, n);
			slots_make(g, n);
		}
	}
	globals_make(g, &g->files[file]);
}

void file_switch(struct graph *g, uint32_t file, struct sheet *whole,
		 struct piece *pieces, uint32_t count)
{
	struct plan *plan = must_alloc(count * sizeof(*plan));
	struct prints prints = { .count = 0 };
	struct sheet *had = g->files[file].sheet;

	g->stamp++;
	plan_units(g, file, pieces, count, plan);
	before_switch(g, file, plan, pieces, count, &prints);
	if (had != whole) {
		variables_see(g, file, had, false);
		variables_see(g, file, whole, false);
	}
	if (count && !g->files[file].there)
		file_appears(g, file);
	switch_units(g, file, plan, pieces, count);
	g->files[file].sheet = whole;
	if (!count && g->files[file].there)
		file_vanishes(g, file);
	if (had != whole) {
		variables_see(g, file, had, true);
		variables_see(g, file, whole, true);
	}
	sheet_unref(had);
	prints_compare(g, &prints);
	free(plan);
}

void file_drop(struct graph *g, uint32_t file)
{
	if (g->files[file].there)
		file_switch(g, file, NULL, NULL, 0);
}
