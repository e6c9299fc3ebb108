/* Units and variables in an order that does not depend on history. */
#include "graph/resolve/units.h"

#include <assert.h>

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
	/* File, symbol and ordinal identify a unit. */
	assert(a == b || x->ordinal != y->ordinal);
	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/* Mostly one unit, seldom more than two. */
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

uint32_t variable_find(const struct source_file *f, atom_t name)
{
	const struct sheet *s = f->sheet;

	for (uint32_t k = 0; s && k < s->facts->variables_count; k++)
		if (s->atoms[facts_variables(s->facts)[k].name] == name)
			return k;
	return NONE;
}
