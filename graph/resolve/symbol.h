/*
 * Symbols, edges, and their changes: the values that the resolver shares with
 * the graph's callers. The rules: graph/README.md, Symbols and names, Edges.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_SYMBOL_H
#define STATETAPE_GRAPH_RESOLVE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

/* The number of a symbol's name: constant for the life of the graph. */
typedef uint32_t symbol_t;
#define SYMBOL_NONE UINT32_MAX

enum symbol_kind {
	SYMBOL_FUNCTION, /* not directly in a class */
	SYMBOL_METHOD,
	SYMBOL_CLASS,
	/* Extended symbols, kept beside V. */
	SYMBOL_MODULE,
	SYMBOL_VARIABLE,
	SYMBOL_KINDS
};

/*
 * Edges from caller to callee. The caller of module-level calls is the module.
 * EDGE_READS leads to a variable, EDGE_IMPORTS from module to module,
 * EDGE_INHERITS from class to base, EDGE_OVERRIDES from method to the method it
 * overrides. EDGE_IMPLICIT is a call that the text does not spell as one; with
 * EDGE_CALL it makes up E. EDGE_USES leads to a function or class that is named
 * without being called.
 */
enum edge_kind {
	EDGE_CALL,
	EDGE_INHERITS,
	EDGE_OVERRIDES,
	EDGE_READS,
	EDGE_IMPORTS,
	EDGE_IMPLICIT,
	EDGE_USES,
	EDGE_KINDS
};
#define EDGES_E (1U << EDGE_CALL | 1U << EDGE_IMPLICIT)

struct symbol {
	const char *name; /* dotted; valid as long as the graph */
	const char *file; /* path of its first definition; as long */
	enum symbol_kind kind;
	uint32_t start_line, end_line; /* of its first definition, from 1 */
	uint32_t definitions;	       /* of that name */
	bool broken;		       /* its text has a syntax error */
	XXH128_hash_t hash;	       /* of its own text, b(v) */
};

/* The difference between two settled states. */
struct symbol_change {
	symbol_t symbol;
	enum symbol_kind kind; /* now, or before if it does not exist now */
	bool before, after;    /* it existed, it exists; not both false */
	bool body;	       /* both, and its text differs */
};
struct edge_change {
	symbol_t caller, callee;
	enum edge_kind kind;
	bool added; /* else removed */
};
struct graph_delta {
	/* A name that changed sides between V, modules and variables has two
	   changes in a row: removed, then added. */
	struct symbol_change *symbols;
	size_t symbols_count;
	struct edge_change *edges; /* added or removed pairs, each once */
	size_t edges_count;
	uint64_t sites; /* slots resolved for this */
};

#endif
