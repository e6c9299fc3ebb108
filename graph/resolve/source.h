/*
 * The sources of a repository as the graph holds them: sheets (facts, as they
 * were handed in), units (definitions) and files. graph/files.c changes them;
 * the resolver only reads them.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_SOURCE_H
#define STATETAPE_GRAPH_RESOLVE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/facts/facts.h"
#include "graph/resolve/symbol.h"

typedef uint32_t atom_t; /* a string's number in graph->atoms */
typedef uint32_t unit_t; /* index of graph->units */
typedef uint32_t node_t; /* index of graph->nodes */
#define NONE UINT32_MAX

/* Facts and their strings as atoms, shared by the units read from them. */
struct sheet {
	struct facts *facts;
	atom_t *atoms;	   /* by facts_str; on the heap */
	uint64_t saved_at; /* offset of the facts in the last snapshot; of a
			      free sheet: number + 1 of the next free one */
	uint32_t refs;	   /* 0: free */
	uint32_t units;	   /* offset of the units in the facts */
	bool lent;	   /* another owner frees the facts */
};

/* What a change of its file does to a unit; see files.c. */
enum unit_fate {
	FATE_REMOVED, /* also the value between changes */
	FATE_CHANGED, /* new, or its facts differ */
	FATE_SAME,    /* its facts mean the same */
	FATE_REPLACED /* it, or a unit around it, has another kind or parent:
			 every key about it changes, whatever its text says */
};

/*
 * A definition. Its number belongs to (file, name, how many of that name come
 * before it) for the life of the graph, so answers about a function survive
 * an edit of its body.
 */
struct unit {
	symbol_t symbol;
	uint32_t file;
	uint32_t ordinal; /* among the units of its name in its file */
	uint32_t hashed;  /* next in the chain of graph->unit_table */

	/* NULL: no such definition exists at present. */
	struct sheet *sheet;
	const struct facts_unit *u;
	uint32_t index;	      /* in file->units */
	unit_t parent;	      /* a module's is itself */
	uint32_t start, end;  /* bytes of the file */
	uint32_t line, lines; /* from 0 */
	uint64_t gap;	      /* as facts_unit.gap when read with its file */
	uint64_t whole;	      /* hash of all of its present text */
	struct shift *shifts; /* sorted; lines.c */
	uint32_t shifts_count;
	bool dotted;  /* binds a dotted name, "a.b" */
	bool starred; /* has a star import */

	node_t nodes;	    /* first key about it; NONE: none */
	uint32_t at;	    /* index of `u` in the sheet's units */
	struct name *names; /* modules and classes: bindings by atom */
	uint32_t names_count;
	uint32_t every_count;
	struct name *every; /* all bindings by atom, if there are many */
	uint32_t *slots;    /* its places that make edges */
	uint32_t slots_count;
	uint32_t stamp; /* graph->stamp when its keys were last collected */
	uint8_t fate;	/* enum unit_fate, during a change */
};

/*
 * The lines of a unit (as its facts count them) that are after `line`, up to
 * and including that of the next shift, moved `by` lines in all.
 */
struct shift {
	uint32_t line;
	int32_t by;
};

struct name {
	atom_t atom;
	uint32_t bind;
};

/* A name that a unit binds in a scope around it, or as self.name. */
enum outer_kind { OUTER_GLOBAL = 1, OUTER_NONLOCAL = 2, OUTER_ATTR };
struct outer {
	atom_t name;
	uint32_t index; /* of the unit, in file->units */
	uint32_t kind;
	uint32_t item; /* index of the unit's binding or attribute */
	unit_t unit;
};

struct source_file {
	atom_t path;
	atom_t module; /* dotted */
	atom_t dir;    /* its directory, as a dotted name */
	bool exists;
	bool package;	     /* an __init__.py */
	struct sheet *sheet; /* of the last reading of the whole file */
	unit_t *units;
	uint32_t units_count, units_size;
	struct outer *outers; /* sorted, see outers.c */
	uint32_t outers_count;
	uint32_t length; /* bytes of its text */
};

/* A version of a unit that a change is about to put in place. */
struct unit_piece {
	struct sheet *sheet;
	const struct facts_unit *u;
};

/* A unit's facts. */
static inline const struct facts_expr *expr_of(const struct unit *u, uint32_t e)
{
	return facts_exprs(u->sheet->facts, u->u) + e;
}

static inline const struct facts_bind *bind_of(const struct unit *u, uint32_t b)
{
	return facts_binds(u->sheet->facts, u->u) + b;
}

static inline const struct facts_block *block_of(const struct unit *u,
						 uint32_t b)
{
	return facts_blocks(u->sheet->facts, u->u) + b;
}

static inline const struct facts_site *site_of(const struct unit *u, uint32_t k)
{
	return facts_sites(u->sheet->facts, u->u) + k;
}

static inline uint32_t list_of(const struct unit *u, uint32_t n)
{
	return facts_lists(u->sheet->facts, u->u)[n];
}

static inline atom_t atom_of(const struct unit *u, facts_str s)
{
	return u->sheet->atoms[s];
}

/* NONE: a star import, which has no name. */
static inline atom_t bind_atom(const struct unit *u, uint32_t b)
{
	facts_str name = bind_of(u, b)->name;

	return name == FACTS_NONE ? NONE : atom_of(u, name);
}

#endif
