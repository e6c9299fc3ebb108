/* Plain text as roff input, with roff's special characters escaped. */
#ifndef STATETAPE_TOOLS_CLI_ROFF_H
#define STATETAPE_TOOLS_CLI_ROFF_H

#include <stdio.h>

/* Text on one line, followed by `end`. */
void roff_line(FILE *out, const char *text, const char *end);
/* An example, verbatim, with the quotes a shell needs. */
void roff_example(FILE *out, const char *text);
/* Paragraphs separated by `macro`. */
void roff_text(FILE *out, const char *text, const char *between);

#endif
