/*
 * What the agent holds: each tool result of a transcript as a record of what
 * it shows of the repository (spec, section 2). Known from the call's words
 * and the result's shape, over the tool vocabularies of real clients; where
 * neither says, the kind is RECORD_SHELL and the tape is asked what the
 * command's processes opened. Pure.
 */
#ifndef STATETAPE_MANAGER_RECORD_RECORDS_H
#define STATETAPE_MANAGER_RECORD_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/arena.h"
#include "manager/transcript/transcript.h"

enum record_kind {
	RECORD_READ,   /* shows lines of a file */
	RECORD_EDIT,   /* an edit, patch or write, with what it shows of it */
	RECORD_RUN,    /* a test, build or program run */
	RECORD_SEARCH, /* grep, glob, ls: a query */
	RECORD_SHELL,  /* a command that could be any of these */
	RECORD_STUB,   /* "unchanged since last read": refers to another */
	RECORD_OTHER,  /* nothing of the repository */
};

/*
 * How a tool writes the lines of a file, so that new ones can look alike. The
 * record's text is `head`, the lines, `tail`. Lines stand one below the
 * other, without a newline behind the last: that one, if there, is tail's.
 */
struct shape {
	uint32_t first; /* line number of the first line shown, 0: unknown */
	uint32_t lines; /* 0: the text was not understood as lines */
	const char *number;    /* "": none; "%u"; "%0u": padded with zeros */
	uint8_t width;	       /* it is padded to, 0: not */
	const char *separator; /* between number and line */
	/* The newline at the end of the file is shown as one more line. */
	bool newline;
	struct text head, tail; /* what the tool says before and after */
	bool whole;		/* the span reaches the end of the file */
	bool exact; /* the lines shown are the file's, none cut or left out */
};

/* A file that a call names. */
struct record_file {
	const char *path;
	uint32_t start, end; /* as a record has them */
	bool wrote;	     /* changed, created or removed; else shown */
};

struct record {
	uint32_t item; /* of the result */
	bool attached; /* no result: a text of the user's, which stays as it
			  is */
	bool read;     /* what follows is known (records_read()) */
	enum record_kind kind;
	const char *tool;
	/*
	 * As the call names it, absolute or not, below `dir` if the call says
	 * where it runs; NULL: none. Of several it is the first.
	 */
	const char *path;
	uint32_t start, end; /* lines; 0: unknown, or to the end */
	const char *command; /* shell, run: its text; else NULL */
	const char *dir;     /* where the call says it runs, or NULL */
	/* All files the call names, if the kind is not SEARCH or OTHER. */
	const struct record_file *files;
	uint32_t files_count;
	bool failed;	  /* an error instead of an answer */
	struct text text; /* all of the result's text */
	/* Shell, run: what of it the command said; empty: nothing. */
	struct text output;
	struct shape shape;  /* reads and edits with lines in them */
	struct text content; /* the file's lines alone, each ended by a newline
				(the last one too, whatever the file has), of
				an exact shape; empty otherwise */
};

struct records {
	/* One per result or attached file, in the order of the transcript. */
	struct record *at;
	uint32_t count;
	const struct transcript *t;
	struct arena arena;
};

/*
 * Lists the results. The transcript must outlive it. A long talk has hundreds,
 * of which a turn looks at a few: what each is, is read when it is asked for.
 */
void records_init(struct records *ret, const struct transcript *t);
void records_release(struct records *r);
const struct record *records_read(struct records *r, uint32_t i);

/*
 * `text`, lines `first`.. of a file, as the tool of `shape` would write it:
 * head and tail included, with the line counts they name brought up to date.
 * A newline at the end of `text` ends its last line. Allocates *ret.
 */
int shape_render(const struct shape *s, uint32_t first, const char *text,
		 size_t len, char **ret, size_t *ret_len);

#endif
