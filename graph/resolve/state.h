/*
 * The state of a graph. graph/ and graph/resolve/ share it; other rooms see
 * graph.h. What it consists of:
 *
 *   source.h  sheets, units, files: the facts as they are now
 *   node.h    keys, questions, and who depends on them
 *   edge.h    symbols, the places that make edges, counted edges
 *   terms.h   values of expressions
 *
 * One thread at a time uses a graph. Elements of its arrays keep their
 * addresses while the arrays grow.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_STATE_H
#define STATETAPE_GRAPH_RESOLVE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/base/heap.h"
#include "graph/base/intern.h"
#include "graph/resolve/edge.h"
#include "graph/resolve/node.h"
#include "graph/resolve/source.h"
#include "graph/resolve/symbol.h"
#include "graph/resolve/terms.h"

/* Of a dotted name: its files, and whether it is a directory. */
struct module_slot {
	heap_t files;
	uint32_t count, size;
	uint32_t below; /* files in the directory of that name, or deeper */
};

/*
 * The arrays of a graph, each in a region of its own (base/region.h): name,
 * element type, elements in use, whether elements hold addresses. A snapshot
 * keeps these arrays, the numbers at the head of struct graph, the heap, the
 * interned strings and the terms (snapshot.c). So elements refer to each
 * other by number, or by an address in an array marked 1.
 */
#define GRAPH_ARRAYS(A)                                    \
	A(files, struct source_file, g->files_count, 1)    \
	/* By atom of the path; file + 1. */               \
	A(file_of_path, uint32_t, g->file_of_path_size, 0) \
	/* By atom of the dotted name. */                  \
	A(modules, struct module_slot, g->modules_size, 0) \
	A(sheets, struct sheet, g->sheets_count, 1)        \
	A(units, struct unit, g->units_count, 1)           \
	/* Hash tables hold a number + 1. */               \
	A(unit_table, uint32_t, g->unit_mask + 1ULL, 0)    \
	A(symbols, struct symbol_slot, g->symbols_size, 0) \
	A(nodes, struct node, g->nodes_count, 0)           \
	A(node_table, uint32_t, g->node_mask + 1ULL, 0)    \
	A(slots, struct slot, g->slots_count, 0)           \
	A(pairs, struct pair, g->pairs_count, 0)           \
	A(pair_table, uint32_t, g->pair_mask + 1ULL, 0)    \
	/* By atom; enum library_kind. */                  \
	A(library, uint8_t, g->library_count, 0)

enum graph_array {
#define A(name, type, used, addresses) ARRAY_##name,
	GRAPH_ARRAYS(A)
#undef A
		GRAPH_ARRAYS_COUNT
};

/* Make room for `count` elements of an array; new ones are zeroed. */
#define graph_need(g, name, count)                              \
	region_need(&(g)->homes[ARRAY_##name], (size_t)(count), \
		    sizeof(*(g)->name))

/* Grouped by what belongs together, not by size: there is one. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct graph {
	/* Up to `homes`: numbers that a snapshot keeps as they are. */
	uint32_t files_count;
	uint32_t file_of_path_size, modules_size;
	uint32_t sheets_count, sheets_free;
	uint32_t units_count, unit_mask;
	uint32_t symbols_size;
	uint32_t nodes_count, node_mask;
	uint32_t slots_count, slots_free;
	uint32_t pairs_count, pairs_free, pair_mask;
	uint32_t library_count;
	uint32_t stamp; /* counts changes of files */
	uint64_t first; /* bytes of the first snapshot; 0: none was made */
	uint64_t heap_was, sheets_was; /* addresses when it was saved */

	struct region homes[GRAPH_ARRAYS_COUNT];
#define A(name, type, used, addresses) type *name;
	GRAPH_ARRAYS(A)
#undef A
	struct heap heap;
	struct intern *atoms;
	struct intern *names; /* of symbols: symbol_t is a number of these */
	struct terms *terms;
	void *map; /* of the snapshot it was loaded from: facts; or NULL */
	size_t map_size;

	/* Changes since the last settling. */
	struct touched_symbol *touched;
	uint32_t touched_count, touched_size;
	uint32_t *dirty; /* slots to resolve */
	uint32_t dirty_count, dirty_size;
	uint32_t *noted; /* pairs whose count may have changed */
	uint32_t noted_count, noted_size;

	/* Resolving; both empty between calls. */
	struct frame *frames;
	uint32_t frames_count, frames_size;
	node_t *held;
	uint32_t held_count, held_size;
	uint64_t steps; /* answers, fingerprints, bindings looked at */

	/* Resolving one slot: the edges found, and the values of expressions
	   of its unit (eval.c). */
	struct edge_found *found;
	uint32_t found_count, found_size;
	set_t *memo;
	uint32_t memo_size;
	unit_t memo_unit; /* + 1; 0: nothing is remembered */

	struct graph_delta delta;
	uint32_t edge_changes_size, symbol_changes_size;
};

/* Lists on the heap; valid until the list grows or is given back. */
static inline unit_t *symbol_units(const struct graph *g,
				   const struct symbol_slot *s)
{
	return heap_at(&g->heap, s->units);
}

static inline uint32_t *symbol_callers(const struct graph *g,
				       const struct symbol_slot *s)
{
	return heap_at(&g->heap, s->callers);
}

static inline uint32_t *module_files(const struct graph *g,
				     const struct module_slot *m)
{
	return heap_at(&g->heap, m->files);
}

static inline struct posting *node_postings(const struct graph *g,
					    const struct node *n)
{
	return heap_at(&g->heap, n->postings);
}

static inline const struct made *slot_made(const struct graph *g,
					   const struct slot *s)
{
	return s->count > 1 ? heap_at(&g->heap, s->made.many) : &s->made.one;
}

/* Lists on the heap that are referred to by address; NULL: empty. */
static inline void *list_take(struct graph *g, size_t bytes)
{
	heap_t piece = heap_take(&g->heap, bytes);

	return piece ? heap_at(&g->heap, piece) : NULL;
}

static inline void list_give(struct graph *g, const void *list, size_t bytes)
{
	heap_give(&g->heap, heap_number(&g->heap, list), bytes);
}

static inline struct unit *unit_of(struct graph *g, unit_t n)
{
	return &g->units[n];
}

/* The definition exists at present. */
static inline bool unit_lives(const struct graph *g, unit_t n)
{
	return n != NONE && g->units[n].sheet;
}

/* The unit that a BIND_DEF of unit n defines. */
static inline unit_t unit_below(const struct graph *g, unit_t n, uint32_t value)
{
	const struct unit *u = &g->units[n];

	return g->files[u->file].units[u->index + value];
}

static inline unit_t module_of(const struct graph *g, unit_t n)
{
	return g->files[g->units[n].file].units[0];
}

static inline atom_t atom_intern(struct graph *g, const char *text, size_t len)
{
	return intern_add(g->atoms, text, len);
}

static inline const char *atom_text(const struct graph *g, atom_t a)
{
	return intern_text(g->atoms, a, NULL);
}

#endif
