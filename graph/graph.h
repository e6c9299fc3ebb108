/*
 * The code graph of one repository: symbols, and edges between them, kept
 * exact while files come, change and go. After any sequence of changes it is
 * the graph that building it from the present files would give.
 *
 * Paths are relative to the root, with '/' between parts. The graph does no
 * I/O: callers hand it facts or text. One thread's at a time.
 */
#ifndef STATETAPE_GRAPH_GRAPH_H
#define STATETAPE_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/resolve/symbol.h"

struct facts;
struct lang_readers;
struct graph;

struct graph *graph_new(void);
void graph_free(struct graph *g);

/*
 * Changes. graph_put() takes over `f`, which may replace an earlier version
 * of that file; graph_remove() of an unknown path does nothing. Changes pile
 * up until graph_settle().
 */
int graph_put(struct graph *g, const char *path, struct facts *f);
int graph_remove(struct graph *g, const char *path);
int graph_rename(struct graph *g, const char *from, const char *to);
/*
 * The file now reads `text`. Reads one definition anew where the change lies
 * inside it, the file otherwise; *ret_partial (if given) says which.
 * -EMEDIUMTYPE: the path has no language (lang.h).
 */
int graph_edit(struct graph *g, struct lang_readers *r, const char *path,
	       const char *text, size_t len, bool *ret_partial);

/* Resolve what is outdated. The arrays are the graph's, until the next call.
   `ret` may be NULL, after a first build. */
int graph_settle(struct graph *g, struct graph_delta *ret);

/* After a first build: give back the room that was left for growing. */
void graph_trim(struct graph *g);

/* Questions; the graph must be settled. */
size_t graph_symbols_max(const struct graph *g); /* numbers lie below it */
/* false: no such symbol exists now; its name is still given. */
bool graph_symbol(const struct graph *g, symbol_t s, struct symbol *ret);
symbol_t graph_find(const struct graph *g, const char *name);
/* Innermost symbol of V at a line (from 1), else the variable or module. */
symbol_t graph_at(const struct graph *g, const char *path, uint32_t line);

/* Where a pair's edge stands: each place once. */
struct edge {
	symbol_t other; /* callee of an out-edge, caller of an in-edge */
	enum edge_kind kind;
	uint32_t line; /* of the callee token in the caller's file, from 1; of
			  inherits, overrides, imports: of the statement */
};
/*
 * Out-edges with their lines, one entry per place; in-edges without (line 0),
 * one entry per pair. `kinds`: a bit per edge_kind. Calls `visit` until it
 * returns false.
 */
typedef bool edge_visit(const struct edge *e, void *arg);
void graph_out(const struct graph *g, symbol_t s, unsigned kinds,
	       edge_visit *visit, void *arg);
void graph_in(const struct graph *g, symbol_t s, unsigned kinds,
	      edge_visit *visit, void *arg);

/* Files known, in no order. `broken`: it has a syntax error. */
typedef bool file_visit(const char *path, bool broken, void *arg);
void graph_files(const struct graph *g, file_visit *visit, void *arg);
/* One of them; -ENOENT: unknown. */
enum file_state {
	FILE_PARSES,
	FILE_BROKEN, /* it has a syntax error */
	FILE_VAST,   /* it was too much to be parsed: it is its module alone */
};
int graph_file(const struct graph *g, const char *path);

struct graph_stats {
	size_t files, broken, vast;
	size_t symbols[SYMBOL_KINDS], edges[EDGE_KINDS];
	size_t sites, resolved; /* call sites, and those with an edge */
	size_t keys, postings;	/* what answers depend on */
	uint64_t steps; /* answers computed, keys looked at for changes */
	size_t bytes;	/* memory held */
};
void graph_stat(const struct graph *g, struct graph_stats *ret);

/*
 * Every index against every other, and the graph against one built from
 * nothing out of the same facts. 0, or -EBADMSG with a sentence in `why`:
 * for tests.
 */
int graph_check(const struct graph *g, char *why, size_t size);

#endif
