/*
 * What people and tools do to a repository, as operations: one step at a time,
 * chosen at random.
 */
#ifndef STATETAPE_TESTS_PROP_GRAPH_EDITS_H
#define STATETAPE_TESTS_PROP_GRAPH_EDITS_H

#include "tests/prop/graph/rules.h"
#include "tests/prop/graph/source.h"
#include "tests/prop/graph/world.h"

struct editor {
	struct dice *dice;
	struct world *world;
	const struct source *source;
	struct rules *rules; /* NULL: this repository has none */
	/* Earlier texts of files, to go back to. */
	struct source_text past[16];
	unsigned past_count;
};

void editor_release(struct editor *e);

/*
 * Append the operations of one step, the last of which settles, without doing
 * them; returns the kind of step.
 */
const char *editor_step(struct editor *e, op_list *ops);

#endif
