/*
 * An oracle for what the model is led to believe: files whose lines keep their
 * identity through edits, records of them in a talk, and a judge of the
 * requests sent. It shares with the manager only the parser of bodies
 * (transcript.h) and the wording of notes.
 *
 * Lines are edited, inserted and removed; a record holds the lines it showed
 * and those inserted between them since. The model believes the text in a
 * record's place, updated by the notes behind it, and by the calls of its
 * editing tools behind it, as long as it was right before each of them. The
 * judge demands that this equals the current lines, or that a note calls the
 * record outdated. A run is outdated by calls behind it, too.
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

/* Valid from `time` until the next. */
struct truth_view {
	uint32_t time;
	uint64_t hash;
};

struct truth_record {
	char *id; /* of the call */
	const struct talk *talk;
	uint32_t file;
	bool whole;		/* to the end of the file, as it grows */
	char *command;		/* of a run; else NULL */
	char *alias;		/* also of a read by a program; or NULL */
	uint32_t opened;	/* of a run: bits, by file */
	uint32_t born;		/* a run's time */
	ARRAY(uint32_t) region; /* lines, in order */
	ARRAY(struct truth_view) views; /* hashes of their texts */
	uint32_t others; /* when another process last changed it */
};

/* A sentence or text of ours in a talk, and when it was first seen. */
struct truth_seen {
	const struct talk *talk;
	uint64_t hash;
	uint32_t time, request;
};

/* A change of a file. */
struct truth_change {
	uint32_t file, time;
};

/* The call of an editing tool that made all changes after `from` up to `to`. */
struct truth_edit {
	char *id;
	uint32_t file, from, to;
};

struct truth {
	uint32_t time; /* of the last event */
	uint32_t ids;
	struct truth_file files[TRUTH_FILES];
	ARRAY(struct truth_record) records;
	ARRAY(struct truth_seen) seen;
	ARRAY(struct truth_change) changes;
	ARRAY(struct truth_edit) edits;
	char about[160]; /* what the judge's last complaint is about */
};

void truth_release(struct truth *t);

/* The file's text (free it). */
char *truth_text(const struct truth *t, uint32_t file);
/* Insert `text` as line `at`, or replace that line. */
void truth_put(struct truth *t, uint32_t file, uint32_t at, const char *text,
	       bool own);
void truth_insert(struct truth *t, uint32_t file, uint32_t at, const char *text,
		  bool own);
void truth_take(struct truth *t, uint32_t file, uint32_t at, bool own);
/* Delete the file, or restore it with the lines it had. */
void truth_remove(struct truth *t, uint32_t file);
void truth_restore(struct truth *t, uint32_t file);

/* Lines [first, last), or the whole file, however long it may grow. */
struct truth_span {
	uint32_t first, last;
	bool whole;
};

/*
 * Lines as a tool shows them, and `end` behind (free it). `format`: "" without
 * numbers, "cat -n", ": ", or else with a tab.
 */
char *truth_show(const struct truth_file *f, struct truth_span span,
		 const char *format, const char *end);
/* The call of that id showed these lines. */
void truth_read(struct truth *t, const struct talk *talk, const char *id,
		uint32_t file, struct truth_span span, const char *alias);
void truth_run(struct truth *t, const struct talk *talk, const char *id,
	       const char *command, uint32_t opened);
/* The call made all changes of the file since `from`, and none failed. */
void truth_edited(struct truth *t, const char *id, uint32_t file,
		  uint32_t from);
/* The call was removed, or its text was cleared. */
void truth_forget(struct truth *t, const char *id);

/*
 * Judge a body sent as request number `request` of the talk. NULL: it is right;
 * else a static sentence, and t->about names the record.
 */
const char *truth_judge(struct truth *t, const struct talk *talk,
			uint32_t request, const char *sent, size_t len);

/* Does `now` have all bytes of `was` but texts of results and notes? */
bool truth_same_frame(enum dialect d, const char *was, size_t was_len,
		      const char *now, size_t now_len);

#endif
