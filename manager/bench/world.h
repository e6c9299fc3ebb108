/*
 * The source files of a trace, as the edits applied so far leave them: lines
 * of text, and how many tokens begin in each. Files that are no UTF-8 have
 * U+FFFD where they are not, CRLF is LF, and the last line's end is not counted
 * as one more line, so that spans mean what the scorer takes them for.
 */
#ifndef STATETAPE_MANAGER_BENCH_WORLD_H
#define STATETAPE_MANAGER_BENCH_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/buf.h"

struct tokens;
struct trace_record;
struct world;

/* The files below `dir`. -errno of the first that cannot be read. */
int world_open(const char *dir, struct tokens *t, struct world **ret);
void world_free(struct world *w);

/* Apply the record's edit, if it has one of a source file. */
void world_apply(struct world *w, const struct trace_record *r);

/* UINT32_MAX: there is no such file. */
uint32_t world_lines(const struct world *w, const char *path);
bool world_has(const struct world *w, const char *path);
/* A file's text, each line ended by a newline; false: there is none. */
bool world_text(const struct world *w, const char *path, struct buf *ret);
/* Tokens of lines [start, end], from 1; lines that are not there have none. */
uint64_t world_tokens(struct world *w, const char *path, uint32_t start,
		      uint32_t end);
/* Of one line; 0: there is none. */
uint32_t world_weight(struct world *w, const char *path, uint32_t line);

#endif
