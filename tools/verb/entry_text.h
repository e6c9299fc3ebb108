/*
 * An entry of the tape printed for people, from its JSON (statetape-tape(5)),
 * without anything that a terminal would interpret.
 */
#ifndef STATETAPE_TOOLS_VERB_ENTRY_TEXT_H
#define STATETAPE_TOOLS_VERB_ENTRY_TEXT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

struct tape_reader;
struct where;

struct entry_style {
	const struct where *where; /* paths are printed from there; NULL: from
				      the repository's root */
	bool terminal;
	bool colours;
	bool full;  /* every symbol, every ancestor, and the hashes */
	bool patch; /* with a diff */
};

/* Print several lines. With `patch`, contents are read from `t`. */
void entry_print(FILE *out, const cJSON *e, struct entry_style style,
		 struct tape_reader *t);
/* Its parts: "Author: ...", "Turn: ...", symbols and diff, whole lines. */
void entry_print_author(FILE *out, const cJSON *author, bool full);
void entry_print_turn(FILE *out, const cJSON *e);
void entry_print_symbols(FILE *out, const cJSON *e, struct entry_style style);
void entry_print_patch(FILE *out, const cJSON *e, struct entry_style style,
		       struct tape_reader *t);
void entry_print_path(FILE *out, const char *path, struct entry_style style);
/* Print one line. */
void entry_print_line(FILE *out, const cJSON *e, bool colours);
/* Print one CSV row; the first function prints the head. */
void entry_print_csv_head(FILE *out);
void entry_print_csv(FILE *out, const cJSON *e);

/*
 * "sed -i s/a/b/ x.py [812]", shortened, or a phrase if the process is not
 * known (free it). tape/journal/name.h says which part is the kernel's word.
 */
char *entry_author(const cJSON *author, size_t max);
/*
 * The author of an entry, shortened; if several wrote what the entry holds
 * ("merged"), all of them in order (free it).
 */
char *entry_authors(const cJSON *entry, size_t max);

/*
 * Print a text without anything that a terminal would interpret, cut or padded
 * to `width` columns.
 */
void print_cut(FILE *out, const char *text, size_t width);

#endif
