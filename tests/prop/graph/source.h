/*
 * Sources of texts: the cases of tests/data/graph, a directory of real files,
 * and generated modules.
 */
#ifndef STATETAPE_TESTS_PROP_GRAPH_SOURCE_H
#define STATETAPE_TESTS_PROP_GRAPH_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "tests/prop/fs/dice.h"

/* A file of a source; several may have the same path. */
struct source_text {
	char *path;
	char *text;
	uint32_t group; /* texts that belong together have one number */
};

struct source {
	ARRAY(struct source_text) texts;
	uint32_t groups;
	uint32_t tree; /* the first group of a directory's; groups: none */
};

/* The files in the .case files of `dir`, a group per case. 0 or -errno. */
int source_add_cases(struct source *s, const char *dir);
/* Python files below `dir`, a group per directory, large ones left out. */
int source_add_tree(struct source *s, const char *dir);
void source_release(struct source *s);

/* Generated modules that use each other: the path of module n. */
#define MADE_MODULES 9
const char *made_path(unsigned n);
/* Its text, a new one with each call. free() it, and the texts below. */
char *made_text(struct dice *d, unsigned n);
/* The first line of a function, or a whole one. */
char *made_header(struct dice *d, unsigned indent, const char *name,
		  bool method);
char *made_function(struct dice *d, unsigned indent, const char *name,
		    bool method);
/* One or two lines for a function's body, with this indentation. */
char *made_statement(struct dice *d, unsigned indent);
/* An expression. */
char *made_expression(struct dice *d);

#endif
