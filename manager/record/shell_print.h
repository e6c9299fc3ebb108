/*
 * Which lines a printing command shows: head, tail, sed -n, awk, nl, cat. Part
 * of shell.c.
 */
#ifndef STATETAPE_MANAGER_RECORD_SHELL_PRINT_H
#define STATETAPE_MANAGER_RECORD_SHELL_PRINT_H

#include "manager/record/shell.h"

enum shell_range_kind {
	RANGE_ALL,
	RANGE_LINES, /* from `start` to `end`, or to the last if that is 0 */
	RANGE_LAST,  /* the last ones, whatever their numbers are */
	RANGE_SOME,  /* lines, but changed, chosen, or of several places */
};

struct shell_range {
	enum shell_range_kind kind;
	uint32_t start, end;
	const char *number; /* as struct shape has them */
	uint8_t width;
	const char *separator;
	uint32_t first; /* word of the first file */
	bool edits;	/* sed -i: the files are changed, nothing is shown */
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

/* The range a command of `count` words, its name first, prints. */
void shell_range(enum shell_printer p, const struct shell_word *words,
		 uint32_t count, struct arena *a, struct shell_range *ret);

#endif
