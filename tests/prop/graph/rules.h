/*
 * A small repository in which nearly everything resolves: carriers, each of
 * which passes on an instance of some class in one of the ways the graph
 * knows, and places that call a method of the result. An edit changes one
 * carrier; its effect must show in edges elsewhere, or must not.
 */
#ifndef STATETAPE_TESTS_PROP_GRAPH_RULES_H
#define STATETAPE_TESTS_PROP_GRAPH_RULES_H

#include "tests/prop/fs/dice.h"
#include "tests/prop/graph/world.h"

#define CARRIERS 8
#define LEAVES	 4

struct carrier {
	char *text;	 /* its definition */
	const char *use; /* how one gets at what it carries; $n: its name */
	unsigned way;	 /* in which it does */
	unsigned file;
	unsigned user; /* how it is used */
};

struct rules {
	struct dice *dice;
	struct carrier carriers[CARRIERS];
	char *leaves[LEAVES];
	unsigned imports, reexports, stars; /* how they are written */
};

void rules_init(struct rules *r, struct dice *d);
void rules_release(struct rules *r);

/* Make a random change; returns what it was, in words. */
const char *rules_change(struct rules *r);

/* Append the operations that bring the world's files up to date. */
void rules_write(const struct rules *r, struct world *w, op_list *ops);

#endif
