/*
 * All symbols and edges of a graph as plain arrays that outlive it: to compare
 * two graphs, and to compute by brute force the difference between two.
 */
#ifndef STATETAPE_TESTS_PROP_GRAPH_PICTURE_H
#define STATETAPE_TESTS_PROP_GRAPH_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "graph/base/array.h"
#include "graph/base/intern.h"
#include "graph/diff.h"

/* Names and paths are numbers of one string table, shared by all pictures. */
struct seen_symbol {
	uint32_t name, file;
	uint32_t kind, start_line, end_line, definitions, broken;
	uint64_t low, high; /* of its hash */
};

struct seen_edge {
	uint32_t caller, kind, callee, line;
};

struct picture {
	ARRAY(struct seen_symbol) symbols; /* by name */
	ARRAY(struct seen_edge) edges;	   /* sorted */
};

void picture_take(struct intern *names, const struct graph *g,
		  struct picture *ret);
void picture_release(struct picture *p);

/* Prints to `out` (if not NULL) the first differences. */
bool picture_same(const struct intern *names, const struct picture *is,
		  const struct picture *should, FILE *out);

/* Is `d`, from graph `g`, the difference between the pictures? */
bool picture_explains(struct intern *names, const struct picture *before,
		      const struct picture *after, const struct graph *g,
		      const struct graph_delta *d, FILE *out);

#endif
