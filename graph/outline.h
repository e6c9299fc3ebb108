/*
 * The symbols of one text and the lines they stand on, named as the graph
 * would name them if the text were at that path. Used for versions of a file
 * that the graph no longer holds, and for the present one. Pure.
 *
 * A symbol covers a span of lines when one of its definitions overlaps it; the
 * module does when the span has module-level text, which belongs to no
 * definition and no variable. A line that may belong to two symbols is covered
 * by both: one symbol too many costs less than one too few.
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
	const char *name; /* dotted; owned by the outline */
	enum symbol_kind kind;
	uint32_t start, end; /* lines of its first definition, from 1 */
	uint32_t head; /* bytes from its start to behind the header's colon */
	uint32_t definitions;
};

/*
 * Read `text`, which may be any bytes. NULL: it is too large to be read. A
 * failed allocation ends the process.
 */
struct outline *outline_new(struct lang_readers *r, const char *path,
			    const char *text, size_t len);
void outline_free(struct outline *o);

size_t outline_count(const struct outline *o);
/* Number 0 is the module; the rest is in order of first lines. */
const struct outline_symbol *outline_symbol(const struct outline *o, size_t k);
/* By name; SIZE_MAX: there is none. */
size_t outline_find(const struct outline *o, const char *name);
/* Lines of definition `d` of symbol `k`. */
void outline_definition(const struct outline *o, size_t k, uint32_t d,
			uint32_t *ret_start, uint32_t *ret_end);
/* Does symbol `k` cover any of the lines `start` to `end`? */
bool outline_covers(const struct outline *o, size_t k, uint32_t start,
		    uint32_t end);
uint32_t outline_lines(const struct outline *o); /* in the text */
size_t outline_bytes(const struct outline *o);	 /* memory it takes */
bool outline_broken(const struct outline *o);	 /* has a syntax error */

/*
 * The dotted name of the module at `path`, allocated: "src/a/b.py" is a.b,
 * "a/__init__.py" is a. *ret_dir (if not NULL) is the length of the part that
 * names its directory, *ret_package whether it is a package.
 */
char *outline_module(const char *path, size_t *ret_dir, bool *ret_package);

#endif
