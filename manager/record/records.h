/*
 * Each tool result of a transcript as a record of what it shows of the
 * repository (manager/README.md, Records and referents). Derived from the
 * call's name and arguments and the result's layout, with the tool vocabularies
 * of real clients. Where these do not suffice the kind is RECORD_SHELL, and
 * decide/ asks the tape which files the command's processes opened. Pure.
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
	RECORD_EDIT,   /* an edit, patch or write, with the snippet it shows */
	RECORD_RUN,    /* a test, build or program run */
	RECORD_SEARCH, /* grep, glob, ls: a query */
	RECORD_SHELL,  /* a command that could be any of the above */
	RECORD_STUB,   /* "unchanged since last read": refers to another */
	RECORD_OTHER,  /* shows nothing of the repository */
};

/*
 * The layout in which a tool shows lines of a file, so that current lines can
 * be shown the same way. The record's text is `head`, the lines, `tail`. A
 * newline behind the last line belongs to `tail`.
 */
struct shape {
	uint32_t first; /* line number of the first line shown, 0: unknown */
	uint32_t lines; /* 0: the text was not understood as lines */
	const char *number;    /* "": none; "%u"; "%0u": padded with zeros */
	uint8_t width;	       /* numbers are padded to; 0: not padded */
	const char *separator; /* between number and line */
	/* The newline at the end of the file is shown as one more line. */
	bool newline;
	struct text head, tail; /* the tool's words before and after */
	bool whole;		/* the lines reach the end of the file */
	bool exact; /* exactly the file's lines, none shortened or left out */
};

/* A file named by a call. */
struct record_file {
	const char *path;
	uint32_t start, end; /* as a record has them */
	bool wrote;	     /* changed, created or removed; else shown */
};

struct record {
	uint32_t item; /* of the result */
	bool attached; /* a file in a user text, which is never edited */
	bool read;     /* records_read() has filled in what follows */
	enum record_kind kind;
	const char *tool;
	/*
	 * As in the call, absolute or not, joined to `dir` if the call has a
	 * working directory; NULL: none. Of several files, the first.
	 */
	const char *path;
	uint32_t start, end; /* lines; 0: unknown, or to the end */
	const char *command; /* shell, run: its text; else NULL */
	const char *dir;     /* the call's working directory, or NULL */
	/* All files in the call, unless the kind is SEARCH or OTHER. */
	const struct record_file *files;
	uint32_t files_count;
	bool failed;	  /* an error instead of an answer */
	struct text text; /* the result's whole text */
	/* Shell, run: the part of it that the command printed. */
	struct text output;
	struct shape shape;  /* reads and edits that show lines */
	struct text content; /* if the shape is exact: the file's lines alone,
				each ended by a newline (also the last one,
				whether the file has it or not); else empty */
};

struct records {
	/* One per result or attached file, in the order of the transcript. */
	struct record *at;
	uint32_t count;
	const struct transcript *t;
	struct arena arena;
};

/*
 * List the results. The transcript must outlive `ret`. A long conversation has
 * hundreds, of which a turn looks at a few, so records_read() fills in a record
 * when it is first needed.
 */
void records_init(struct records *ret, const struct transcript *t);
void records_release(struct records *r);
const struct record *records_read(struct records *r, uint32_t i);

/*
 * `text`, a file's lines from `first` on, in the layout of `shape`: with head
 * and tail, and with the line count in the tail updated. A newline at the end
 * of `text` ends its last line. Allocates *ret (free it).
 */
int shape_render(const struct shape *s, uint32_t first, const char *text,
		 size_t len, char **ret, size_t *ret_len);

#endif
