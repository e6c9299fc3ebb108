/*
 * Output for people: one sentence on stderr when something failed, colours only
 * on a terminal that shows them, and never a control byte from a file name or a
 * command line.
 *
 * Out of memory ends the process with a message: a command can simply be run
 * again.
 */
#ifndef STATETAPE_TOOLS_CLI_SAY_H
#define STATETAPE_TOOLS_CLI_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "graph/base/alloc.h"

/* Print "statetape: " and a sentence on stderr. Returns EXIT_FAILURE. */
int say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a wrong command line. Returns EXIT_USAGE. */
int say_usage_error(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* strerror() for an errno, negative or not. */
const char *errno_text(int error);

/* "1 line", "2 lines": a number and its noun (free it). */
char *count_text(uint64_t n, const char *one, const char *many);
/* "512 B", "1.5 GiB" (free it). */
char *size_text(uint64_t bytes);

enum colour {
	COLOUR_NONE,
	COLOUR_BOLD,
	COLOUR_DIM,
	COLOUR_RED,
	COLOUR_GREEN,
	COLOUR_YELLOW,
	COLOUR_CYAN,
};

/* Does `out` show colours: a terminal, not "dumb", NO_COLOR not set? */
bool colour_wanted(FILE *out);
/* The escape sequence for `c` (COLOUR_NONE: reset); "" without colours. */
const char *colour_text(bool wanted, enum colour c);

/*
 * Print `text` with control bytes and invalid UTF-8 as \xHH, so that a file
 * name cannot control the terminal. Returns the columns used, one per
 * character.
 */
size_t print_safe(FILE *out, const char *text);
/* Is `text` valid UTF-8? */
bool is_utf8(const char *text);
/*
 * Print `text` as a JSON string with its quotes. Text that is not UTF-8 is
 * printed in the journal's escaped form (escape_text()).
 */
void print_json_string(FILE *out, const char *text);

/* print_safe(), padded with spaces to `width` columns. */
void print_padded(FILE *out, const char *text, size_t width);

/* The columns that print_safe() takes for the character at `s`; its length. */
size_t safe_character(const char *s, size_t *ret_len);

/*
 * Print `text`, whose paragraphs are separated by empty lines, wrapped at
 * spaces to at most `width` columns. The first line continues at column `at`;
 * all others are indented by `indent` spaces.
 */
void print_wrapped(FILE *out, const char *text, size_t at, size_t indent,
		   size_t width);

#endif
