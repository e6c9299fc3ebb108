/*
 * A command and the files it changed, printed for people: as a paragraph, with
 * bars as `git log --stat` has them, or as one line.
 */
#ifndef STATETAPE_TOOLS_VERB_LOG_PARAGRAPH_H
#define STATETAPE_TOOLS_VERB_LOG_PARAGRAPH_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "graph/base/array.h"
#include "tools/verb/entry_text.h"

struct group;

/* A file as a command found it and left it. Strings are the entries'. */
struct paragraph_file {
	const char *path; /* from the root */
	const char *from; /* its name before; NULL: the same */
	bool had, has;	  /* it was there before, and after */
	bool broken;	  /* its text has a syntax error now */
	uint64_t plus, minus;
};

struct paragraph_files {
	ARRAY(struct paragraph_file) list; /* in the order of the changes */
	uint64_t plus, minus;
};
/* The entries must outlive `ret`. */
void paragraph_files(const cJSON *const *newest_first, size_t count,
		     struct paragraph_files *ret);
void paragraph_files_release(struct paragraph_files *f);
/* "edit", "create"...: what became of it. */
const char *paragraph_kind(const struct paragraph_file *f);
/* " a -> b +1 -2" without the first blank. */
void paragraph_print_file(FILE *out, const struct paragraph_file *f,
			  struct entry_style style);

/* With `style.patch`, contents are read from `t`. */
void paragraph_print(FILE *out, const struct group *g, struct entry_style style,
		     struct tape_reader *t);
/* Neither is wider than `width`, but for a path that is. */
void paragraph_print_stat(FILE *out, const struct group *g,
			  struct entry_style style, unsigned width);
void paragraph_print_line(FILE *out, const struct group *g,
			  struct entry_style style, unsigned width);

#endif
