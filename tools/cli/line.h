/*
 * One line of the journal as people and programs read it.
 *
 * For people: number, time of day, author, operation, paths, and what else
 * matters for that operation, with no control byte in it. For programs: one
 * JSON object with every field that applies (verbs.c documents it).
 */
#ifndef STATETAPE_TOOLS_CLI_LINE_H
#define STATETAPE_TOOLS_CLI_LINE_H

#include <stdbool.h>
#include <stdio.h>

#include "tape/journal/journal.h"

/* NULL or false: any. */
struct line_filter {
	const char *glob; /* of either path, or of a directory above it */
	bool by_pid;
	uint32_t pid; /* the process, or an ancestor of it */
};

/* Does `l` report an operation (and not the journal on itself) that passes? */
bool line_passes(const struct journal_line *l, const struct line_filter *f);

void line_print(FILE *out, const struct journal_line *l, bool colours);
void line_print_json(FILE *out, const struct journal_line *l);

/* The day of `l` as a number, -1: unknown; its date goes to `text`. */
int line_day(const struct journal_line *l, char *text, size_t size);

/* Numbers that were not kept, `first` to `last`. */
void line_print_gone(FILE *out, uint64_t first, uint64_t last, bool colours);
void line_print_gone_json(FILE *out, uint64_t first, uint64_t last);

#endif
