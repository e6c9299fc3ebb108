/*
 * Where texts come from: the cases of tests/data/graph, a directory of real
 * files, and modules made up by the dice.
 */
#ifndef STATETAPE_TESTS_PROP_GRAPH_SOURCE_H
#define STATETAPE_TESTS_PROP_GRAPH_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "tests/prop/fs/dice.h"

/* A file as one source has it; several may have one path. */
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

/* What the .case files in `dir` hold, a group per case. -errno. */
int source_add_cases(struct source *s, const char *dir);
/* Python files below `dir`, a group per directory, large ones left out. */
int source_add_tree(struct source *s, const char *dir);
void source_release(struct source *s);

/* Modules that use each other: this many, number `n` made anew. */
#define MADE_MODULES 9
const char *made_path(unsigned n);
/* Python text that names what all of them have; free() it. */
char *made_text(struct dice *d, unsigned n);
/* A function's first line, or all of it. */
char *made_header(struct dice *d, unsigned indent, const char *name,
		  bool method);
char *made_function(struct dice *d, unsigned indent, const char *name,
		    bool method);
/* A line or two that may stand in a function; with this indentation. */
char *made_statement(struct dice *d, unsigned indent);
/* An expression. */
char *made_expression(struct dice *d);

#endif
