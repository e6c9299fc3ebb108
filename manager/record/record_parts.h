/*
 * The parts of records.c: a call's name and arguments (record_tools.c),
 * programs that call tools (record_script.c), the lines in a result
 * (record_shape.c).
 */
#ifndef STATETAPE_MANAGER_RECORD_RECORD_PARTS_H
#define STATETAPE_MANAGER_RECORD_RECORD_PARTS_H

#include "manager/record/records.h"

enum tool_class {
	TOOL_READ,
	TOOL_EDIT,
	TOOL_EDITOR, /* one tool with a command: view, str_replace, ... */
	TOOL_SHELL,
	TOOL_SCRIPT, /* its input may be a program that calls tools */
	TOOL_SEARCH,
	TOOL_NOTHING, /* shows nothing of the repository */
	TOOL_OTHER,   /* not in our vocabularies */
};

enum tool_class tool_class(struct text name);

/* A call's arguments, those of the common kinds. */
struct tool_call {
	enum tool_class class;
	const char *path;
	const char **paths; /* all of them, `path` first */
	uint32_t paths_count;
	uint32_t start, end;
	uint32_t limit; /* number of lines requested, 0: not given */
	struct text command;
	const char *dir;
	struct text patch; /* a patch's text */
	struct text words; /* a script's source: arguments that are not JSON */
	bool plain; /* a script that shows a command's output unchanged */
};

void tool_call(struct text name, struct text arguments, struct arena *a,
	       struct tool_call *ret);

/*
 * The commands that a JavaScript program runs and the patches it applies, where
 * they are literals.
 */
void script_read(struct text script, struct arena *a, struct tool_call *ret);

/* A result's text without the wrapping that the tool puts around it. */
struct peeled {
	size_t start, end; /* the rest of the text */
	/* According to the wrapping: */
	bool failed;
	bool cut;	/* something was left out */
	bool whole;	/* the file ends here */
	bool directory; /* it is a list of names */
	uint32_t first; /* the first line's number, or 0 */
};

void shape_peel(struct text text, struct peeled *ret);

/* Read numbered lines at `p->start`. False: there are none. */
bool shape_numbered(struct text text, struct peeled *p, struct arena *a,
		    struct record *r);
/* Advance `p->start` to the first numbered line. False: there is none. */
bool shape_find(struct text text, struct peeled *p);
/* Read lines without numbers. */
void shape_raw(struct text text, const struct peeled *p, struct arena *a,
	       struct record *r);

#endif
