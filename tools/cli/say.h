/*
 * How statetape speaks to a person: one sentence on stderr when something
 * went wrong, colours only where a terminal shows them, and never a control
 * byte that came out of a file name or a command line.
 *
 * Memory that runs out ends the process with a sentence: a command line has
 * nothing better to do, and what it was asked for can be asked for again.
 */
#ifndef STATETAPE_TOOLS_CLI_SAY_H
#define STATETAPE_TOOLS_CLI_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* "statetape: " and a sentence on stderr. Returns EXIT_FAILURE. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a misused command line. Returns EXIT_USAGE. */
int complain_usage(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* A formatted text (free it), never NULL. */
char *sentence(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* `p`, which is not NULL; or the process ends. */
void *must(void *p);

/* The words for an errno, negative or not. */
const char *reason(int error);

/* "1 line", "2 lines": the number and what it counts. (Free it.) */
char *count_text(uint64_t n, const char *one, const char *many);
/* "512 B", "1.5 GiB". (Free it.) */
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
/* The sequence that switches to `c` (COLOUR_NONE: back); "" if not wanted. */
const char *colour_text(bool wanted, enum colour c);

/*
 * Print `text` with control bytes and bytes that are no UTF-8 as \xHH: what a
 * terminal would obey must not come from a file name. Returns the columns
 * used, counting each character as one.
 */
size_t print_safe(FILE *out, const char *text);
/* Is `text` UTF-8 throughout? */
bool is_utf8(const char *text);
/*
 * Print `text` as a JSON string, quotes and all. JSON has no bytes: text that
 * is not UTF-8 is printed in the journal's escaped form (escape_text()).
 */
void print_json_string(FILE *out, const char *text);

/* print_safe(), then spaces up to `width` columns. */
void print_padded(FILE *out, const char *text, size_t width);

/*
 * Print `text`, whose paragraphs are separated by an empty line, broken at
 * spaces into lines of at most `width` columns. The first line goes on from
 * column `at`; all others begin after `indent` spaces.
 */
void print_wrapped(FILE *out, const char *text, size_t at, size_t indent,
		   size_t width);

#endif
