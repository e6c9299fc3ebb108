/*
 * The symbols of one text, as the graph would name them if the text stood at
 * that path, with the lines they stand on: for versions of a file that the
 * graph no longer has, and for the present alike. Pure.
 *
 * A symbol covers a span of lines when one of its definitions overlaps it; the
 * module does when text at module level, which belongs to no definition and to
 * no variable, is among the lines. Where a line may belong to either, both
 * cover it: better one symbol too many than one too few.
 */
#ifndef STATETAPE_GRAPH_OUTLINE_H
#define STATETAPE_GRAPH_OUTLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

struct lang_readers;
struct outline;

struct outline_symbol {
	const char *name; /* dotted; the outline's */
	enum symbol_kind kind;
	uint32_t start, end; /* lines of its first definition, from 1 */
	uint32_t head; /* bytes: from its start to behind its header's colon */
	uint32_t definitions;
};

/*
 * Read `text`. Any bytes will do. NULL: it is too large to be read. Memory
 * that cannot be had ends the process.
 */
struct outline *outline_new(struct lang_readers *r, const char *path,
			    const char *text, size_t len);
void outline_free(struct outline *o);

size_t outline_count(const struct outline *o);
/* The module is number 0; then in the order of their first lines. */
const struct outline_symbol *outline_symbol(const struct outline *o, size_t k);
/* By name; SIZE_MAX: there is none. */
size_t outline_find(const struct outline *o, const char *name);
/* Lines of definition `d` of symbol `k`. */
void outline_definition(const struct outline *o, size_t k, uint32_t d,
			uint32_t *ret_start, uint32_t *ret_end);
/* Does it cover any of the lines `start` to `end`? */
bool outline_covers(const struct outline *o, size_t k, uint32_t start,
		    uint32_t end);
uint32_t outline_lines(const struct outline *o); /* in the text */
size_t outline_bytes(const struct outline *o);	 /* memory it takes */
bool outline_broken(const struct outline *o);	 /* has a syntax error */

/*
 * The dotted name of the module at `path`, allocated: "src/a/b.py" is a.b,
 * "a/__init__.py" is a. *ret_dir (if given) is the length of the directory's
 * part of it, *ret_package whether it is a package itself.
 */
char *outline_module(const char *path, size_t *ret_dir, bool *ret_package);

#endif
