/*
 * Symbols and edges as the graph stores them. Edges are counted: a pair of
 * symbols has an edge as long as some slot, a place in the text, makes it.
 * graph/edges.c keeps these.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_EDGE_H
#define STATETAPE_GRAPH_RESOLVE_EDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/base/heap.h"
#include "graph/resolve/source.h"
#include "graph/resolve/symbol.h"

/* A symbol's present definitions, and the edges that lead to it. */
struct symbol_slot {
	heap_t units; /* its definitions; edges.c sorts them on demand */
	uint32_t units_count, units_size;
	uint32_t variable_file; /* NONE: no variable */
	uint32_t variable;	/* index in that file's facts */
	heap_t callers;		/* pairs that end here */
	uint32_t callers_count, callers_size;
	uint32_t touched; /* index in graph->touched + 1; 0: not touched */
	/* Ordinals already given out in the change number seen_stamp. */
	uint32_t seen_stamp, seen;
};

/* A symbol as it was before the changes that are not settled yet. */
struct touched_symbol {
	symbol_t symbol;
	bool before; /* it existed */
	enum symbol_kind kind;
	XXH128_hash_t hash;
};

/* An edge that a slot makes, and where. */
struct made {
	uint32_t pair;
	uint32_t site; /* of the unit, for SLOT_SITES */
};

/*
 * A part of a unit that makes edges; it is resolved as a whole. All sites of a
 * unit are one slot: they share most of what they depend on, and an expression
 * that several of them contain is evaluated once.
 */
enum slot_kind { SLOT_SITES, SLOT_BASES, SLOT_OVERRIDES, SLOT_IMPORT };
struct slot {
	uint8_t kind;
	uint8_t dirty;	/* to be resolved; then it is on graph->dirty */
	uint32_t count; /* of the edges it makes, by site */
	uint32_t version;
	unit_t unit;   /* NONE: the slot is free */
	uint32_t bind; /* SLOT_IMPORT: the unit's binding; of a free slot:
			  number + 1 of the next free one */
	union {
		struct made one;
		heap_t many; /* if count > 1 */
	} made;
};

/* An edge, and how many places make it. A free pair has kind EDGE_KINDS. */
struct pair {
	symbol_t caller, callee;
	uint32_t count;
	uint32_t place;	 /* index in the callee's callers */
	uint32_t was;	 /* `noted`: count at the last settling */
	uint8_t kind;	 /* enum edge_kind */
	uint8_t noted;	 /* on graph->noted */
	uint32_t hashed; /* next in its chain; of a free pair: number + 1 of
			    the next free one */
};

#endif
