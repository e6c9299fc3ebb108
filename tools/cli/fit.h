/*
 * Output that fits a terminal: a text too wide for its column loses its middle,
 * for both ends of a path or a name tell more.
 */
#ifndef STATETAPE_TOOLS_CLI_FIT_H
#define STATETAPE_TOOLS_CLI_FIT_H

#include <stddef.h>
#include <stdio.h>

/* The columns that print_safe() takes. */
size_t safe_columns(const char *text);
/* print_safe() in at most `width` columns; returns those used. */
size_t print_fitted(FILE *out, const char *text, size_t width);
/* Shorten the widest of `widths` until all of them take `room` columns. */
void fit_columns(size_t room, size_t *widths, size_t count);

/*
 * Print whole lines that are safe already and may have colours. One wider than
 * `width` goes on in the next line, indented; a word that is wider than that is
 * shortened.
 */
void print_lines_fitted(FILE *out, const char *text, size_t indent,
			size_t width);

#endif
