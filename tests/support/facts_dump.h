/*
 * Facts as text, for people and for golden tests: expressions look like the
 * Python they came from, and those implied by statements look like calls:
 * iter(x), item(x, 0), enter(x), caught(E), narrow(x, C).
 */
#ifndef STATETAPE_TESTS_SUPPORT_FACTS_DUMP_H
#define STATETAPE_TESTS_SUPPORT_FACTS_DUMP_H

#include <stdint.h>
#include <stdio.h>

#include "graph/facts/facts.h"

enum {
	DUMP_PLACES = 1 << 0, /* where units and their bodies lie */
	DUMP_HEAD = 1 << 1,   /* decorators, bases, parameters, returns */
	DUMP_BLOCKS = 1 << 2,
	DUMP_BINDS = 1 << 3, /* and attributes of self */
	DUMP_CALLS = 1 << 4, /* and decorators */
	DUMP_READS = 1 << 5,
	DUMP_HASHES = 1 << 6,
	DUMP_EXPRS = 1 << 7,   /* each by itself, with its number */
	DUMP_IMPLIED = 1 << 8, /* sites that name no method */
	DUMP_ALL = 0x1ff,
};

void facts_dump_expr(FILE *out, const struct facts *f,
		     const struct facts_unit *u, uint32_t e);
void facts_dump_unit(FILE *out, const struct facts *f, uint32_t unit,
		     unsigned what);
/* Dumps all units, and the facts of the file as a whole. */
void facts_dump(FILE *out, const struct facts *f, unsigned what);

#endif
