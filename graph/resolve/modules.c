/*
 * From a dotted name to a file: modules, packages, directories without code,
 * and the module an import statement means. A name that the repository does
 * not have is a library's, and stays a name.
 */
#include "graph/resolve/modules.h"

#include <assert.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/resolve/library.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/words.h"

atom_t atom_dotted(struct graph *g, atom_t a, atom_t b)
{
	size_t n, m;
	const char *x = intern_text(g->atoms, a, &n);
	const char *y = intern_text(g->atoms, b, &m);
	char small[256];
	char *text = n + m + 1 <= sizeof(small) ? small : must_alloc(n + m + 1);
	atom_t r;

	if (n == 0)
		return b;
	if (m == 0)
		return a;
	memcpy(text, x, n);
	text[n] = '.';
	memcpy(text + n + 1, y, m);
	r = atom_intern(g, text, n + m + 1);
	if (text != small)
		free(text);
	return r;
}

/* A package hides a module of its name; otherwise the first path wins. */
static uint32_t file_chosen(const struct graph *g, const struct module_slot *m)
{
	uint32_t best = NONE;

	for (uint32_t k = 0; k < m->count; k++) {
		const struct source_file *f = &g->files[module_files(g, m)[k]];
		const struct source_file *b =
			best == NONE ? NULL : &g->files[best];

		assert(f->exists);
		if (!b || f->package > b->package ||
		    (f->package == b->package &&
		     strcmp(atom_text(g, f->path), atom_text(g, b->path)) < 0))
			best = module_files(g, m)[k];
	}
	return best;
}

static const struct module_slot *module_slot(struct graph *g, atom_t dotted)
{
	static const struct module_slot none;

	solve_need(g, KEY_MODULE, dotted, 0);
	return dotted < g->modules_size ? &g->modules[dotted] : &none;
}

unit_t module_find(struct graph *g, atom_t dotted)
{
	uint32_t file = file_chosen(g, module_slot(g, dotted));

	return file == NONE ? NONE : g->files[file].units[0];
}

/* The module or package of that name; SET_NONE: not in the repository. */
static set_t module_inside(struct graph *g, atom_t dotted)
{
	const struct module_slot *m = module_slot(g, dotted);
	uint32_t file = file_chosen(g, m);

	if (file != NONE)
		return set_one(g->terms, TERM_MODULE, g->files[file].units[0],
			       0);
	if (m->below)
		return set_one(g->terms, TERM_PACKAGE, dotted, 0);
	return SET_NONE;
}

set_t module_in_package(struct graph *g, atom_t package, atom_t name)
{
	return module_inside(g, atom_dotted(g, package, name));
}

/* All but the last part of a dotted name. */
static atom_t atom_parent(struct graph *g, atom_t a)
{
	const char *text = atom_text(g, a);
	const char *dot = strrchr(text, '.');

	return dot ? atom_intern(g, text, (size_t)(dot - text)) : WORD_EMPTY;
}

static bool in_stdlib(struct graph *g, atom_t dotted)
{
	const char *text = atom_text(g, dotted);
	atom_t top = atom_intern(g, text, strcspn(text, "."));

	return library_kind_of(g, top) == LIBRARY_STDLIB;
}

/*
 * The root comes first, then the nearest directory: scripts import modules
 * beside them, tests modules above them.
 */
set_t module_import_solve(struct graph *g, atom_t dir, atom_t dotted)
{
	set_t s = module_inside(g, dotted);

	if (in_stdlib(g, dotted))
		dir = WORD_EMPTY;
	for (; s == SET_NONE && dir != WORD_EMPTY; dir = atom_parent(g, dir))
		s = module_inside(g, atom_dotted(g, dir, dotted));
	if (s == SET_NONE)
		s = set_one(g->terms, TERM_LIBRARY, dotted, 0);
	return s;
}

set_t module_imported(struct graph *g, unit_t from, atom_t dotted)
{
	return solve_ask(g, ASK_IMPORT, g->files[g->units[from].file].dir,
			 dotted);
}

atom_t module_absolute_name(struct graph *g, unit_t from, uint32_t level,
			    atom_t name)
{
	const struct source_file *f = &g->files[g->units[from].file];
	atom_t base = f->module;

	if (!level)
		return name;
	for (uint32_t k = f->package ? 1 : 0; k < level; k++) {
		/* Above the root: a name that no module has. */
		if (base == WORD_EMPTY)
			return atom_intern(g, "..", 2);
		base = atom_parent(g, base);
	}
	return atom_dotted(g, base, name);
}

bool module_star_exports(struct graph *g, unit_t module, atom_t name)
{
	const struct unit *u = unit_of(g, module);
	const struct facts *f = u->sheet->facts;
	const uint32_t *all = (const uint32_t *)facts_at(f, f->lists);

	solve_need(g, KEY_ALL, module, 0);
	if (!f->has_all)
		return atom_text(g, name)[0] != '_';
	for (uint32_t k = 0; k < f->all.count; k++)
		if (atom_of(u, all[f->all.from + k]) == name)
			return true;
	return false;
}
