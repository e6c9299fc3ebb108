/*
 * What is so, beside what a model was told: files whose lines keep their
 * identity through edits, records of them in a talk, and a judge who reads
 * what was sent. It shares nothing with the manager but the reading of bodies
 * (transcript.h) and the wording of notes.
 *
 * A line is edited, put in, taken out; a record holds the lines it showed, and
 * those that were put between them since. What the model believes of a record
 * is what stands in its place, brought up to date by the notes behind it; the
 * judge wants that to be what the lines are now, or the record to be called
 * outdated.
 */
#ifndef STATETAPE_TESTS_SUPPORT_TRUTH_H
#define STATETAPE_TESTS_SUPPORT_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "manager/transcript/transcript.h"
#include "tests/support/talk.h"

#define TRUTH_FILES 6

struct truth_line {
	uint32_t id;
	char *text; /* without its newline */
};

struct truth_file {
	char path[32];
	bool there;
	uint32_t written; /* the time of its last change */
	ARRAY(struct truth_line) lines;
};

/* As of `time`, until the next. */
struct truth_view {
	uint32_t time;
	uint64_t hash;
};

struct truth_record {
	char *id; /* of the call */
	const struct talk *talk;
	uint32_t file;
	bool whole;    /* to the end of the file, whatever comes */
	char *command; /* of a run; else NULL */
	char *alias;   /* a read may be known by its program as well; or NULL */
	uint32_t opened;		/* of a run: bits, by file */
	uint32_t born;			/* a run's time */
	ARRAY(uint32_t) region;		/* lines, in order */
	ARRAY(struct truth_view) views; /* hashes of what they say */
	uint32_t others;		/* when somebody else last changed it */
};

/* A sentence or text of ours seen in a talk, and since when. */
struct truth_seen {
	const struct talk *talk;
	uint64_t hash;
	uint32_t time, request;
};

struct truth {
	uint32_t time; /* of whatever happened last */
	uint32_t ids;
	struct truth_file files[TRUTH_FILES];
	ARRAY(struct truth_record) records;
	ARRAY(struct truth_seen) seen;
	char about[160]; /* what the judge complained of last */
};

void truth_release(struct truth *t);

/* The file's text (free it). */
char *truth_text(const struct truth *t, uint32_t file);
/* `text` at line `at`, a new line or in place of the one there. */
void truth_put(struct truth *t, uint32_t file, uint32_t at, const char *text,
	       bool own);
void truth_insert(struct truth *t, uint32_t file, uint32_t at, const char *text,
		  bool own);
void truth_take(struct truth *t, uint32_t file, uint32_t at, bool own);
/* It is not there any more, or there again with the lines it had. */
void truth_remove(struct truth *t, uint32_t file);
void truth_restore(struct truth *t, uint32_t file);

/* Lines [first, last), or the whole file, however long it may grow. */
struct truth_span {
	uint32_t first, last;
	bool whole;
};

/* The call of that id showed them. */
void truth_read(struct truth *t, const struct talk *talk, const char *id,
		uint32_t file, struct truth_span span, const char *alias);
void truth_run(struct truth *t, const struct talk *talk, const char *id,
	       const char *command, uint32_t opened);
/* The call is no more, or shows no more what it did. */
void truth_forget(struct truth *t, const char *id);

/*
 * Judge a body that was sent, the talk's `request`th. NULL: all is well; else
 * what is not (static), and of what (t->about).
 */
const char *truth_judge(struct truth *t, const struct talk *talk,
			uint32_t request, const char *sent, size_t len);

/* All of `was` but texts of results and notes is in `now`, byte for byte. */
bool truth_same_frame(enum dialect d, const char *was, size_t was_len,
		      const char *now, size_t now_len);

#endif
