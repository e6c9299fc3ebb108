/*
 * Plain text as roff wants it: what it would take for its own is escaped.
 */
#ifndef STATETAPE_TOOLS_CLI_ROFF_H
#define STATETAPE_TOOLS_CLI_ROFF_H

#include <stdio.h>

/* Text in one line, and `end` after it. */
void roff_line(FILE *out, const char *text, const char *end);
/* What is to be copied: as typed, with the quotes a shell wants. */
void roff_example(FILE *out, const char *text);
/* Paragraphs; what stands between is the macro of the place. */
void roff_text(FILE *out, const char *text, const char *between);

#endif
