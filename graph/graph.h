/*
 * The code graph of one repository: symbols, and edges between them, kept
 * exact while files are added, changed and removed. After any sequence of
 * changes it equals the graph built from scratch from the present files
 * (graph/README.md, Incremental = rebuilt).
 *
 * Paths are relative to the repository's root, with '/' between parts. The
 * graph does no I/O: callers pass facts or text. A graph is used by one
 * thread at a time. A failed allocation ends the process.
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
 * Changes; graph_settle() reports them together. graph_put() takes ownership
 * of `f` and replaces an earlier version of the file. graph_remove() of an
 * unknown path does nothing. graph_rename() returns -ENOENT for an unknown
 * path, and -ESTALE when parts of the file were read separately since it was
 * put: then remove the old path and put the new one.
 */
int graph_put(struct graph *g, const char *path, struct facts *f);
int graph_remove(struct graph *g, const char *path);
int graph_rename(struct graph *g, const char *from, const char *to);
/*
 * The file's text is now `text`. Parses only the definition that the change
 * lies in where that is possible, the whole file otherwise; *ret_partial (if
 * not NULL) says whether it did. -ENOMEM: the text is too large to be read.
 * -EMEDIUMTYPE: the path has no language (lang.h).
 */
int graph_edit(struct graph *g, struct lang_readers *r, const char *path,
	       const char *text, size_t len, bool *ret_partial);

/* Would that parse no more than `most` bytes of text? Changes nothing. */
bool graph_edits_little(const struct graph *g, struct lang_readers *r,
			const char *path, const char *text, size_t len,
			size_t most);

/*
 * Resolve every place that a change since the last call invalidated. *ret (if
 * not NULL) is the difference to the state at the last call; its arrays belong
 * to the graph and are valid until the next call. Always 0.
 */
int graph_settle(struct graph *g, struct graph_delta *ret);

/* After a first build: free the memory that lists keep for growing. */
void graph_trim(struct graph *g);

/* Queries; the graph must be settled. All symbol numbers lie below this. */
size_t graph_symbols_max(const struct graph *g);
/* false: the symbol does not exist now; ret->name is set all the same. */
bool graph_symbol(const struct graph *g, symbol_t s, struct symbol *ret);
/* SYMBOL_NONE: no symbol of that name ever existed. */
symbol_t graph_find(const struct graph *g, const char *name);
/* The innermost function, method or class at a line (from 1); outside of all,
   the variable whose statement is there, else the module. */
symbol_t graph_at(const struct graph *g, const char *path, uint32_t line);

/* An edge as seen from one of its ends. */
struct edge {
	symbol_t other; /* callee of an out-edge, caller of an in-edge */
	enum edge_kind kind;
	uint32_t line; /* from 1, in the caller's file: of the callee's token;
			  for inherits and overrides of the definition's
			  name, for imports of the statement */
};
/*
 * Call `visit` for each edge until it returns false: out-edges once per place
 * in the text; in-edges once per pair of symbols, with line 0. `kinds` has a
 * bit per edge_kind.
 */
typedef bool edge_visit(const struct edge *e, void *arg);
void graph_out(const struct graph *g, symbol_t s, unsigned kinds,
	       edge_visit *visit, void *arg);
void graph_in(const struct graph *g, symbol_t s, unsigned kinds,
	      edge_visit *visit, void *arg);

bool graph_has_edge(const struct graph *g, symbol_t caller, symbol_t callee,
		    enum edge_kind kind);

enum file_state {
	FILE_PARSES,
	FILE_BROKEN, /* has a syntax error */
	FILE_VAST,   /* too large to be parsed: one symbol, its module */
	FILE_DEEP,   /* parts nested too deep were left out */
	FILE_STATES
};
/* All files, in no order. */
typedef bool file_visit(const char *path, enum file_state state, void *arg);
void graph_files(const struct graph *g, file_visit *visit, void *arg);
/* enum file_state; -ENOENT: the graph has no such file. */
int graph_file(const struct graph *g, const char *path);

struct graph_stats {
	size_t files, broken, vast;
	size_t symbols[SYMBOL_KINDS], edges[EDGE_KINDS];
	size_t sites, resolved; /* call sites, and those with an edge */
	size_t keys, postings;	/* nodes, and dependencies on them */
	uint64_t steps;		/* answers, fingerprints, bindings looked at */
	size_t bytes;		/* memory held */
};
void graph_stat(const struct graph *g, struct graph_stats *ret);

/*
 * For tests: check the indexes against each other, and the graph against one
 * built from scratch from the same facts. 0, or -EBADMSG with a sentence in
 * `why`.
 */
int graph_check(const struct graph *g, char *why, size_t size);

#endif
