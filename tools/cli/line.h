/*
 * One line of the journal, printed for people or for programs.
 *
 * For people: number, time of day, author, operation, paths, and details of the
 * operation, without control bytes. For programs: one JSON object with every
 * field that applies (verbs_mount.c documents it).
 */
#ifndef STATETAPE_TOOLS_CLI_LINE_H
#define STATETAPE_TOOLS_CLI_LINE_H

#include <stdbool.h>
#include <stdio.h>

#include "tape/journal/journal.h"

/* NULL or false: any. */
struct line_filter {
	const char *glob; /* matches either path or a directory above it */
	bool by_pid;
	uint32_t pid; /* this process or one of its descendants */
};

/*
 * Is `l` an operation (and not a line about the journal itself) that passes the
 * filter?
 */
bool line_passes(const struct journal_line *l, const struct line_filter *f);

void line_print(FILE *out, const struct journal_line *l, bool colours);
void line_print_json(FILE *out, const struct journal_line *l);

/* The day of `l` as a number, -1: unknown; writes its date to `text`. */
int line_day(const struct journal_line *l, char *text, size_t size);

/* Report that the lines from `first` to `last` were discarded. */
void line_print_gone(FILE *out, uint64_t first, uint64_t last, bool colours);
void line_print_gone_json(FILE *out, uint64_t first, uint64_t last);

#endif
