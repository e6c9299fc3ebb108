/*
 * One event, or the introduction of one process, as a line of text, and back.
 * Pure: no I/O, no clock, no allocation; any thread. text.c's head comment
 * gives the line byte by byte.
 */
#ifndef STATETAPE_TAPE_JOURNAL_TEXT_H
#define STATETAPE_TAPE_JOURNAL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "tape/journal/journal.h"

/* Longer paths, details and command lines are cut to this many bytes. */
#define JOURNAL_TEXT_MAX 4096
/* An escaped text: up to four bytes per byte, and the mark of a cut. */
#define JOURNAL_TEXT_ROOM (4 * JOURNAL_TEXT_MAX + 16)
/* Upper bound for the fields before the texts. */
#define JOURNAL_FRONT_MAX 224
/* A whole line: front, three texts, two TABs, checksum, newline. */
#define JOURNAL_LINE_MAX (JOURNAL_FRONT_MAX + 3 * JOURNAL_TEXT_ROOM + 32)
/* Upper bound for line numbers, so that arithmetic on them cannot wrap. */
#define JOURNAL_NUMBER_MAX (UINT64_C(1) << 62)

/*
 * A line without its stamp. It copies what it needs from the event, which need
 * not outlive the call.
 */
struct journal_draft {
	size_t middle_at; /* `middle` is used from here to its end */
	size_t text_end;
	char middle[144];
	char line[JOURNAL_LINE_MAX];
};

/* The fields that are known only under the writer's lock. */
struct journal_stamp {
	uint64_t n;
	uint64_t mono_ns;
	uint64_t wall_ns;
	uint64_t author; /* number of the author's line, 0: none */
};

void journal_draft_event(struct journal_draft *d,
			 const struct journal_event *e);
/* The ACTOR line of `a`; the stamp's author is the line of its parent. */
void journal_draft_author(struct journal_draft *d,
			  const struct journal_author *a);
/* Returns the finished line with its newline; it points into the draft. */
const char *journal_draft_finish(struct journal_draft *d,
				 const struct journal_stamp *s,
				 size_t *ret_len);

struct journal_parsed {
	struct journal_line line; /* event.author is NULL */
	uint64_t author;	  /* number of the author's line, 0: none */
};

/*
 * Parse the line of `len` bytes at `text` (without its newline). The strings of
 * *ret point into `text`, which is modified; a text with a wrong checksum is
 * left as it was. -EBADMSG: not a line of a journal. An unknown operation
 * becomes JOURNAL_NONE, so that a line of a newer writer still has its number.
 */
int journal_parse(char *text, size_t len, struct journal_parsed *ret);

/* The process that a parsed ACTOR line introduces, without its parent. */
void journal_parsed_author(const struct journal_parsed *p,
			   struct journal_author *ret);

#endif
