/*
 * Memory for the parser. tree-sitter allocates millions of small cells per
 * second and frees most of them a moment later, on the same thread. One list
 * of free cells per size serves that in a few instructions; with malloc() a
 * cold build takes 14 % more processor time. A tree that has been read is not
 * freed node by node (2 % more) but by clearing the heap.
 *
 * A heap belongs to one reader and is used by one thread at a time. Memory that
 * cannot be had ends the process.
 */
#ifndef STATETAPE_GRAPH_FACTS_PYTHON_PARSE_HEAP_H
#define STATETAPE_GRAPH_FACTS_PYTHON_PARSE_HEAP_H

#include <stddef.h>

struct parse_heap;
struct parse_heap *parse_heap_new(void);
/* Frees its cells with it; it must not be in use. Accepts NULL. */
void parse_heap_free(struct parse_heap *h);

/*
 * From now on tree-sitter allocates from h on this thread; NULL: from
 * malloc(), as before the first call. Returns the heap in use until now. A
 * cell must be freed while the heap it came from is in use.
 */
struct parse_heap *parse_heap_use(struct parse_heap *h);

/*
 * Frees all cells at once, including those that tree-sitter still holds: it
 * must not use any of them afterwards.
 */
void parse_heap_clear(struct parse_heap *h);

/*
 * Non-zero once more than a fixed amount of work was done since
 * parse_heap_clear(): tree-sitter takes it as a cancellation flag. Work is
 * counted in allocations, not in time, so that the same text is always
 * cancelled or never. Valid as long as h.
 */
const size_t *parse_heap_exhausted(const struct parse_heap *h);

#endif
