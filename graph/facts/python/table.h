/*
 * The reader's hash tables: from strings to numbers, and from pairs of numbers
 * to numbers. Both are cleared for each file, in constant time, and keep their
 * memory.
 */
#ifndef STATETAPE_GRAPH_FACTS_PYTHON_TABLE_H
#define STATETAPE_GRAPH_FACTS_PYTHON_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/base/array.h"

/* As in struct facts, with their hashes. String 0 is the empty one. */
struct strings {
	ARRAY(uint32_t) ends;
	ARRAY(char) text;
	ARRAY(uint64_t) hashes;
	struct strings_slot *slots;
	uint32_t mask;	/* slots, less one; 0: none yet */
	uint32_t epoch; /* slots of earlier ones are empty */
};

void strings_clear(struct strings *s);
void strings_release(struct strings *s);
uint32_t strings_add(struct strings *s, const char *text, uint32_t len);

struct pairs {
	struct pairs_slot *slots;
	uint32_t mask, epoch, count;
};

void pairs_clear(struct pairs *p);
void pairs_release(struct pairs *p);
/* The pair's value; a new pair is added with the value `fresh`. */
uint32_t *pairs_at(struct pairs *p, uint32_t a, uint32_t b, uint32_t fresh);
bool pairs_has(const struct pairs *p, uint32_t a, uint32_t b);

#endif
