/*
 * One event, or one introduced process, as one line of text, and back. Pure:
 * no I/O, no clock, no allocation; any thread. journal/text.c's head comment
 * gives the line byte by byte.
 */
#ifndef STATETAPE_TAPE_JOURNAL_TEXT_H
#define STATETAPE_TAPE_JOURNAL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "tape/journal/journal.h"

/* Of a path, a detail, a command line, only so many bytes are kept. */
#define JOURNAL_TEXT_MAX 4096
/* A text as it stands in a line: four bytes for each, and the cut's mark. */
#define JOURNAL_TEXT_ROOM (4 * JOURNAL_TEXT_MAX + 16)
/* Everything in front of the texts, at its longest. */
#define JOURNAL_FRONT_MAX 224
/* A whole line: front, three texts, two TABs, checksum, newline. */
#define JOURNAL_LINE_MAX (JOURNAL_FRONT_MAX + 3 * JOURNAL_TEXT_ROOM + 32)
/* No line has a larger number, so that arithmetic on them cannot wrap. */
#define JOURNAL_NUMBER_MAX (UINT64_C(1) << 62)

/*
 * A line without what is known only under the writer's lock. It takes what it
 * needs from the event, which need not outlive the call.
 */
struct journal_draft {
	size_t middle_at; /* the middle fills its array from here to the end */
	size_t text_end;
	char middle[144];
	char line[JOURNAL_LINE_MAX];
};

/* What is known only under the writer's lock. */
struct journal_stamp {
	uint64_t n;
	uint64_t mono_ns;
	uint64_t wall_ns;
	uint64_t author; /* number of the author's line, 0: none */
};

void journal_draft_event(struct journal_draft *d,
			 const struct journal_event *e);
/* The ACTOR line of `a`; the stamp's author is its parent. */
void journal_draft_author(struct journal_draft *d,
			  const struct journal_author *a);
/* The finished line, newline included; it lives in the draft. */
const char *journal_draft_finish(struct journal_draft *d,
				 const struct journal_stamp *s,
				 size_t *ret_len);

struct journal_parsed {
	struct journal_line line; /* its event's author is NULL */
	uint64_t author;	  /* number of the author's line, 0: none */
};

/*
 * Take apart the line of `len` bytes at `text` (without its newline). The
 * strings of *ret live in `text`, which is changed; a text whose checksum is
 * wrong is left as it was. -EBADMSG: no line of ours. An operation we do not
 * know is JOURNAL_NONE: a newer writer's line still has its number.
 */
int journal_parse(char *text, size_t len, struct journal_parsed *ret);

/* The process a parsed ACTOR line introduces, without its parent. */
void journal_parsed_author(const struct journal_parsed *p,
			   struct journal_author *ret);

#endif
