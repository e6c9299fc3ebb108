/*
 * Memory for the parser. tree-sitter asks for millions of small cells per
 * second and gives them back a moment later, on one thread; a list of free
 * cells per size serves that in a few instructions, which makes parsing a
 * quarter faster than with malloc(). And a tree that was read need not be given
 * back node by node: all cells are, at once.
 *
 * A heap belongs to one reader and is used by one thread at a time.
 */
#ifndef STATETAPE_GRAPH_FACTS_PYTHON_PARSE_HEAP_H
#define STATETAPE_GRAPH_FACTS_PYTHON_PARSE_HEAP_H

#include <stddef.h>

struct facts_heap;
struct facts_heap *facts_heap_new(void);
/* All cells go with it. */
void facts_heap_free(struct facts_heap *h);

/*
 * From now on tree-sitter's memory on this thread comes from h; NULL: from
 * malloc(), as before the first call. Returns what was in use until now.
 */
struct facts_heap *facts_heap_use(struct facts_heap *h);

/*
 * All cells are given back, whether tree-sitter did so or not. It must know
 * none of them any more.
 */
void facts_heap_clear(struct facts_heap *h);

/*
 * Not 0 once so much was asked for since it was clear that the text must be
 * one that the parser cannot cope with: a flag as parsers take them. How much
 * is asked for depends on nothing but the text.
 */
const size_t *facts_heap_weary(const struct facts_heap *h);

#endif
