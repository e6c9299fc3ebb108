/*
 * An entry of the tape as people read it, from its JSON (statetape-tape(5)):
 * with nothing in it that a terminal would obey.
 */
#ifndef STATETAPE_TOOLS_VERB_ENTRY_TEXT_H
#define STATETAPE_TOOLS_VERB_ENTRY_TEXT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

struct tape_reader;

struct entry_style {
	bool terminal;
	bool colours;
	bool full;  /* every symbol, every ancestor, and the hashes */
	bool patch; /* what changed, as a diff */
};

/* Several lines. `t` is asked for contents, with `patch`. */
void entry_print(FILE *out, const cJSON *e, struct entry_style style,
		 struct tape_reader *t);
/* One line. */
void entry_print_line(FILE *out, const cJSON *e, bool colours);
/* One row of a table; the first is its head. */
void entry_print_csv_head(FILE *out);
void entry_print_csv(FILE *out, const cJSON *e);

/* "sed -i s/a/b/ x.py [812]", cut to some length; "outside the mount". */
char *entry_author(const cJSON *author, size_t max);

#endif
