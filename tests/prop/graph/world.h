/*
 * A repository in memory and the graph that follows it, changed by operations
 * that can be recorded and replayed in another world.
 */
#ifndef STATETAPE_TESTS_PROP_GRAPH_WORLD_H
#define STATETAPE_TESTS_PROP_GRAPH_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "tests/prop/graph/picture.h"

enum op_verb { OP_EDIT, OP_PUT, OP_REMOVE, OP_RENAME };

struct op {
	enum op_verb verb;
	bool settle; /* and check everything after it */
	bool again;  /* and go on with the graph as it is loaded from a file */
	char *path;
	char *to;   /* of a renaming */
	char *text; /* of editing and putting; ends in NUL */
};

typedef ARRAY(struct op) op_list;

/* Copies its arguments; `to` and `text` may be NULL. */
void op_add(op_list *ops, enum op_verb verb, const char *path, const char *to,
	    const char *text);
void op_list_release(op_list *ops);
void op_tell(const struct op *op, FILE *out);

struct world_file {
	char *path, *text;
	struct facts *facts; /* of that text */
};

struct world {
	struct lang_readers *reader; /* borrowed */
	struct graph *g;
	ARRAY(struct world_file) files;
	struct intern *names;
	struct picture before;
	unsigned partial, edits; /* how many edits, and those read in part */
	unsigned again;		 /* how often it was saved and loaded */
};

void world_init(struct world *w, struct lang_readers *r);
void world_release(struct world *w);
struct world_file *world_find(struct world *w, const char *path);

/*
 * Do the operation. false: the graph is now wrong; the reason is printed to
 * `out` (if not NULL).
 */
bool world_do(struct world *w, const struct op *op, FILE *out);

/*
 * Shorten a list that fails, by leaving out operations and lines of text, to
 * one that still fails.
 */
void op_list_shrink(op_list *ops, struct lang_readers *r);

#endif
