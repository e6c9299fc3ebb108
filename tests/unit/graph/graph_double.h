/*
 * A test double of the graph: a list of symbols and a list of edges behind the
 * queries of graph/graph.h. Modules that only query (diff, walk) can be tested
 * against it without any Python.
 */
#ifndef STATETAPE_TESTS_UNIT_GRAPH_GRAPH_DOUBLE_H
#define STATETAPE_TESTS_UNIT_GRAPH_GRAPH_DOUBLE_H

#include <stddef.h>

#include "graph/graph.h"

struct double_symbol {
	const char *name;
	enum symbol_kind kind;
	bool gone;
	const char *file;
};

struct double_edge {
	symbol_t caller, callee;
	enum edge_kind kind;
	uint32_t line;
};

struct graph {
	const struct double_symbol *symbols;
	size_t symbols_count;
	const struct double_edge *edges;
	size_t edges_count;
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define GRAPH(s, e)                                  \
	((struct graph){ .symbols = (s),             \
			 .symbols_count = LENGTH(s), \
			 .edges = (e),               \
			 .edges_count = LENGTH(e) })

size_t graph_symbols_max(const struct graph *g)
{
	return g->symbols_count;
}

bool graph_symbol(const struct graph *g, symbol_t s, struct symbol *ret)
{
	*ret = (struct symbol){ .name = g->symbols[s].name,
				.file = g->symbols[s].file,
				.kind = g->symbols[s].kind };
	return !g->symbols[s].gone;
}

void graph_out(const struct graph *g, symbol_t s, unsigned kinds,
	       edge_visit *visit, void *arg)
{
	for (size_t i = 0; i < g->edges_count; i++) {
		const struct double_edge *e = &g->edges[i];

		if (e->caller == s && (kinds & 1U << e->kind) &&
		    !visit(&(struct edge){ .other = e->callee,
					   .kind = e->kind,
					   .line = e->line },
			   arg))
			return;
	}
}

void graph_in(const struct graph *g, symbol_t s, unsigned kinds,
	      edge_visit *visit, void *arg)
{
	for (size_t i = 0; i < g->edges_count; i++) {
		const struct double_edge *e = &g->edges[i];

		if (e->callee == s && (kinds & 1U << e->kind) &&
		    !visit(&(struct edge){ .other = e->caller,
					   .kind = e->kind },
			   arg))
			return;
	}
}

bool graph_has_edge(const struct graph *g, symbol_t caller, symbol_t callee,
		    enum edge_kind kind)
{
	for (size_t i = 0; i < g->edges_count; i++)
		if (g->edges[i].caller == caller &&
		    g->edges[i].callee == callee && g->edges[i].kind == kind)
			return true;
	return false;
}

#endif
