/*
 * What the files of graph/ share beyond the state they keep
 * (resolve/state.h). Only files of graph/ include this.
 *
 *   graph.c     the graph as a whole: put, settle
 *   edit.c      a changed text: find the changed definition and read it alone
 *   files.c     replace the units of a file
 *   lines.c     lines of a unit that moved since its facts were read
 *   edges.c     present state of symbols, counted edges
 *   sites.c     resolve a place in the text to the edges it makes
 *   query.c     queries of the settled graph
 *   snapshot.c  the graph as bytes of a file, and back
 *   check.c     consistency check, for tests
 */
#ifndef STATETAPE_GRAPH_GRAPH_I_H
#define STATETAPE_GRAPH_GRAPH_I_H

#include "graph/graph.h"
#include "graph/resolve/state.h"

/* sites.c */
/* Resolve a slot that has no pairs, and add the pairs it makes. */
void slot_solve(struct graph *g, uint32_t slot);

/* files.c */
/* Takes ownership of `f`. */
struct sheet *sheet_new(struct graph *g, struct facts *f);
void sheet_unref(struct graph *g, struct sheet *s); /* accepts NULL */
/*
 * Replace all units of the file by these; none: the file is removed. Takes
 * over a reference to `whole`, the facts of the whole file.
 */
void file_switch(struct graph *g, uint32_t file, struct sheet *whole,
		 const struct unit_piece *pieces, uint32_t count);
/*
 * A definition was read alone: replace the `count` units from `from` on by
 * these, which have the same names and nesting. The definition's start has
 * not moved; the caller has moved the units behind it.
 */
void file_splice(struct graph *g, uint32_t file, uint32_t from,
		 const struct unit_piece *pieces, uint32_t count);
/* The number of that path: a new one if needed; NONE: not known. */
uint32_t file_get(struct graph *g, const char *path);
uint32_t file_find(const struct graph *g, const char *path);
void file_drop(struct graph *g, uint32_t file);

/* lines.c */
/* A line of the unit as its facts count it, as a line of the file, from 1. */
uint32_t unit_line(const struct unit *u, uint32_t line);
/*
 * A unit that begins `line` lines after the start of `u`, directly in it, has
 * `by` lines more than before: what is behind it in `u` moves.
 */
void lines_shift(struct graph *g, struct unit *u, uint32_t line, int32_t by);
void lines_drop(struct graph *g, struct unit *u);

/* snapshot.c */
size_t snapshot_bytes(const struct graph *g); /* memory, without facts */

/* edges.c */
/* Make the slots of a unit that has none; all are dirty. */
void slots_make(struct graph *g, unit_t n);
void slots_drop(struct graph *g, unit_t n);
void slot_clear(struct graph *g, uint32_t slot); /* removes its pairs */
void pair_free(struct graph *g, uint32_t n);	 /* its count must be 0 */
/* Remember the symbol as it is, unless that was done since settling. */
void symbol_touch(struct graph *g, symbol_t s);
bool symbol_now(const struct graph *g, symbol_t s, struct symbol *ret);
/* One more slot makes this edge; *ret is its pair. */
void pair_add(struct graph *g, enum edge_kind kind, symbol_t caller,
	      symbol_t callee, uint32_t *ret);
bool pair_has(const struct graph *g, enum edge_kind kind, symbol_t caller,
	      symbol_t callee);
/* Is that name of a module a variable, and nothing else? *ret: its symbol. */
bool variable_is(struct graph *g, unit_t module, atom_t name, symbol_t *ret);

#endif
