/* Which lines head, tail, sed -n, awk, nl, cat or bat print. Part of shell.c.
 */
#ifndef STATETAPE_MANAGER_RECORD_SHELL_PRINT_H
#define STATETAPE_MANAGER_RECORD_SHELL_PRINT_H

#include "manager/record/shell.h"

enum shell_range_kind {
	RANGE_ALL,
	RANGE_LINES, /* from `start` to `end`; 0: to the last */
	RANGE_LAST,  /* the last ones; their numbers are unknown */
	RANGE_SOME,  /* altered or selected lines, or several ranges */
};

struct shell_range {
	enum shell_range_kind kind;
	uint32_t start, end;
	const char *number; /* the numbering, as in struct shape; NULL: none */
	uint8_t width;
	const char *separator;
	uint32_t first; /* index of the word that is the first file */
	bool edits;	/* sed -i: changes the files, prints nothing */
};

enum shell_printer {
	PRINT_CAT,
	PRINT_HEAD,
	PRINT_TAIL,
	PRINT_NL,
	PRINT_SED,
	PRINT_AWK,
	PRINT_BAT
};

/* The range that a command of `count` words, its name first, prints. */
void shell_range(enum shell_printer p, const struct shell_word *words,
		 uint32_t count, struct arena *a, struct shell_range *ret);

#endif
