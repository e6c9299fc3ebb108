/*
 * Symbols, edges, and what a change did to them: the values that the graph's
 * callers and the resolver share.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_SYMBOL_H
#define STATETAPE_GRAPH_RESOLVE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

/* A symbol's number is its name's for the life of the graph, never reused. */
typedef uint32_t symbol_t;
#define SYMBOL_NONE UINT32_MAX

enum symbol_kind {
	SYMBOL_FUNCTION, /* not directly in a class */
	SYMBOL_METHOD,
	SYMBOL_CLASS,
	/* Extended: beside V. */
	SYMBOL_MODULE,
	SYMBOL_VARIABLE,
	SYMBOL_KINDS
};

/*
 * Edges. A module's own calls have the module as caller. For reads the callee
 * is a variable; for imports both are modules; for inherits both are classes;
 * for overrides both are methods, the overrider first.
 */
enum edge_kind {
	EDGE_CALL,
	EDGE_INHERITS,
	EDGE_OVERRIDES,
	EDGE_READS,
	EDGE_IMPORTS,
	EDGE_KINDS
};

struct symbol {
	const char *name; /* dotted; the graph's, for its life */
	const char *file; /* of its first definition; likewise */
	enum symbol_kind kind;
	uint32_t start_line, end_line; /* of its first definition, from 1 */
	uint32_t definitions;	       /* several are one symbol */
	bool broken;		       /* its text has a syntax error */
	XXH128_hash_t hash;	       /* of b(v) */
};

/* What the changes since the last settling did to symbols and edges. */
struct symbol_change {
	symbol_t symbol;
	enum symbol_kind kind; /* as it is, or as it was */
	bool before, after;    /* it existed, it exists; not both false */
	bool body;	       /* existed and exists, and b differs */
};
struct edge_change {
	symbol_t caller, callee;
	enum edge_kind kind;
	bool added; /* else removed */
};
struct graph_delta {
	struct symbol_change *symbols;
	size_t symbols_count;
	struct edge_change *edges; /* pairs that came or went, each once */
	size_t edges_count;
	uint64_t sites; /* resolved anew for this */
};

#endif
