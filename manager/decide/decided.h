/*
 * The decisions of one request, record by record: what became of each, where,
 * and why. Written by plan.c, kept in the archive for `statetape explain`, and
 * traced by STATETAPE_DEBUG=manager. Texts that are sent again as before are
 * no decisions of this request and are not listed.
 */
#ifndef STATETAPE_MANAGER_DECIDE_DECIDED_H
#define STATETAPE_MANAGER_DECIDE_DECIDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"

enum decided_place {
	DECIDED_NOWHERE,  /* nominated, and kept as it is */
	DECIDED_NOTE,	  /* in the note in the newest result */
	DECIDED_IN_PLACE, /* instead of the record's text */
	DECIDED_NOTE_CUT, /* a note sent earlier is sent no longer */
	DECIDED_PLACES
};
extern const char *const decided_place_names[DECIDED_PLACES];

/* Of the text that was put in, at most this much is kept. */
#define DECIDED_TEXT_MAX 8192
/* Of one request, at most so many decisions and bytes of text. */
#define DECIDED_MOST	 500
#define DECIDED_TEXT_ALL ((size_t)256 << 10)

struct decided {
	const char *key;  /* the record's call id; "": none, retrieved code */
	const char *what; /* the file and its lines, or the command */
	const char *why;
	bool is_command;    /* `what` is one: not for a trace */
	const char *action; /* one of action_names, EVICT or RETRIEVE */
	const char *form;   /* one of notified_names or replaced_names */
	enum decided_place place;
	uint64_t entry;	  /* of the tape, that made the record stale; 0: none */
	uint64_t before;  /* bytes of the record as it was sent until now */
	uint64_t after;	  /* bytes of the text that was put in */
	const char *text; /* its first DECIDED_TEXT_MAX bytes */
	size_t len;
	char *own; /* the list's: where all texts above are */
};

struct decided_list {
	ARRAY(struct decided) at;
	size_t bytes; /* of all texts */
};

/*
 * Append a copy of `d`, with the beginning of `text`, cut between two
 * characters. A list that is full stays as it is.
 */
void decided_add(struct decided_list *l, const struct decided *d,
		 const char *text, size_t len);
void decided_release(struct decided_list *l);

/* One line each in the log, if STATETAPE_DEBUG has "manager". */
void decided_trace(const struct decided_list *l, uint32_t request);

#endif
