/*
 * Two texts as a unified diff, as diff -u and git print it. Pure except for the
 * printing.
 */
#ifndef STATETAPE_TOOLS_VERB_UNIFIED_H
#define STATETAPE_TOOLS_VERB_UNIFIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct unified_side {
	const char *name; /* NULL: the file does not exist on this side */
	const char *text;
	size_t len;
};

struct unified_style {
	bool terminal; /* control characters in lines are escaped */
	bool colours;
};

/* Prints nothing if the texts are equal. */
void unified_print(FILE *out, const struct unified_side *before,
		   const struct unified_side *after,
		   struct unified_style style);

#endif
