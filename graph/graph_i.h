/*
 * What the parts of the graph share beyond the state they keep
 * (resolve/state.h); nobody else includes this.
 *
 *   graph.c     the graph as a whole: putting, settling
 *   edit.c      a changed text: one definition read anew, or the file
 *   files.c     files and units come and go
 *   edges.c     symbols as they are, edges counted
 *   sites.c     a place in the text, and the edges it makes
 *   query.c     what callers may ask of the finished graph
 *   snapshot.c  the graph as bytes of a file, and back
 *   check.c     every index against every other, for tests
 */
#ifndef STATETAPE_GRAPH_GRAPH_I_H
#define STATETAPE_GRAPH_GRAPH_I_H

#include "graph/graph.h"
#include "graph/resolve/state.h"

/* sites.c */
void slot_solve(struct graph *g, uint32_t slot);

/* files.c */
struct sheet *sheet_new(struct graph *g, struct facts *f);
void sheet_unref(struct graph *g, struct sheet *s);
/* The file's units become these; takes over a reference to `whole`. */
void file_switch(struct graph *g, uint32_t file, struct sheet *whole,
		 const struct unit_piece *pieces, uint32_t count);
/*
 * A definition was read by itself: units from `from` on become these, which
 * have the same names and stand in each other as those do. The first is where
 * it was; who stands behind it has been moved already.
 */
void file_splice(struct graph *g, uint32_t file, uint32_t from,
		 const struct unit_piece *pieces, uint32_t count);
uint32_t file_get(struct graph *g, const char *path);
uint32_t file_find(const struct graph *g, const char *path);
void file_drop(struct graph *g, uint32_t file);
uint32_t unit_line(const struct unit *u, uint32_t line); /* in file, from 1 */

/* snapshot.c */
size_t snapshot_bytes(const struct graph *g); /* of all its parts */

/* edges.c */
void slots_make(struct graph *g, unit_t n);
void slots_drop(struct graph *g, unit_t n);
void slot_clear(struct graph *g, uint32_t slot);
void pair_free(struct graph *g, uint32_t n);
void symbol_touch(struct graph *g, symbol_t s);
bool symbol_now(const struct graph *g, symbol_t s, struct symbol *ret);
void pair_add(struct graph *g, enum edge_kind kind, symbol_t caller,
	      symbol_t callee, uint32_t *ret);
bool variable_is(struct graph *g, unit_t module, atom_t name, symbol_t *ret);

#endif
