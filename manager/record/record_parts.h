/*
 * What records.c is made of: the words of a call (record_tools.c), programs
 * that call tools (record_script.c), the lines in a result (record_shape.c).
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
	TOOL_NOTHING, /* says nothing of the repository */
	TOOL_OTHER,   /* nobody knows */
};

enum tool_class tool_class(struct text name);

/* A call's arguments, as far as they are of the common kinds. */
struct tool_call {
	enum tool_class class;
	const char *path;
	const char **paths; /* all of them, `path` first */
	uint32_t paths_count;
	uint32_t start, end;
	uint32_t limit; /* lines asked for, 0: not said */
	struct text command;
	const char *dir;
	struct text patch; /* a patch's text */
	struct text words; /* arguments that are no JSON, as they are */
	bool plain;	   /* a script that shows a command's output as is */
};

void tool_call(struct text name, struct text arguments, struct arena *a,
	       struct tool_call *ret);

/*
 * A program in JavaScript: the commands it runs and the patches it applies,
 * as far as they are written out in it.
 */
void script_read(struct text script, struct arena *a, struct tool_call *ret);

/* What a tool wraps its answer in, taken off. */
struct peeled {
	size_t start, end; /* of the text: what is left */
	bool failed;	   /* the wrapping says so */
	bool cut;	   /* or that something was left out */
	bool whole;	   /* or that the file ends here */
	bool directory;	   /* it is a list of names */
	uint32_t first;	   /* line number it names, or 0 */
};

void shape_peel(struct text text, struct peeled *ret);

/* Lines with numbers from `p` on. False: there are none. */
bool shape_numbered(struct text text, struct peeled *p, struct arena *a,
		    struct record *r);
/* The first place in the text where numbered lines begin. */
bool shape_find(struct text text, struct peeled *p);
/* Lines as they are. */
void shape_raw(struct text text, const struct peeled *p, struct arena *a,
	       struct record *r);

#endif
