/*
 * The tape's protocol as tables: the questions with their members and those of
 * their answers, and the members of an entry. Questions are checked against
 * these tables before they are answered, and statetape-tape(5) is printed from
 * them, so the two cannot disagree.
 */
#ifndef STATETAPE_TAPE_WIRE_PROTOCOL_H
#define STATETAPE_TAPE_WIRE_PROTOCOL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* -- Limits of questions. */
#define LIST_DEFAULT   100   /* entries, if the question has no "limit" */
#define LIST_MAX       10000 /* entries, versions */
#define PLACES_DEFAULT 200
#define PLACES_MAX     2000
#define DEPTH_MAX      4
#define SYNC_PATHS_MAX 4096
#define HOLDERS_MAX    1024
#define HOLDER_MAX     256 /* bytes of a name */
#define HOLD_MAX_DAYS  7

enum protocol_type {
	PROTOCOL_NUMBER, /* whole, from 0 on */
	PROTOCOL_TEXT,
	PROTOCOL_BYTES, /* a path, a name: text, escaped as in the journal */
	PROTOCOL_FLAG,
	PROTOCOL_NAMES, /* a list of PROTOCOL_BYTES */
	PROTOCOL_LIST,
	PROTOCOL_OBJECT,
	PROTOCOL_ANY,
};
/* "a whole number": for people. */
const char *protocol_type_name(enum protocol_type type);

struct protocol_member {
	const char *name; /* NULL: the end of the table */
	enum protocol_type type;
	bool wanted; /* a question without it is refused */
	const char *text;
};

enum protocol_id {
	ASK_SYNC,
	ASK_STATUS,
	ASK_SINCE,
	ASK_LOG,
	ASK_SHOW,
	ASK_NOMINATE,
	ASK_DRIFT,
	ASK_SYMBOLS,
	ASK_SYMBOL,
	ASK_NEIGHBOURS,
	ASK_SOURCE,
	ASK_VERSIONS,
	ASK_CONTENT,
	ASK_BLAME,
	ASK_READSET,
	ASK_HOLD,
	ASK_RETIRE,
	ASK_VERIFY,
	ASK_TURN,
	ASK_ANCHOR,
	ASKS
};

struct protocol_question {
	const char *name;
	const char *text;		     /* paragraphs */
	const struct protocol_member *asked; /* beside "v" and "ask" */
	const struct protocol_member *told;  /* beside "v" and "ok" */
};
extern const struct protocol_question protocol_questions[ASKS];

/* Of a record in NOMINATE and of what is told of it, of an entry, of its
   author. */
extern const struct protocol_member protocol_record[];
extern const struct protocol_member protocol_nomination[];
extern const struct protocol_member protocol_entry[];
extern const struct protocol_member protocol_author[];
extern const struct protocol_member protocol_call[];
extern const struct protocol_member protocol_turn[];

/* ASKS: there is no such question. */
enum protocol_id protocol_find(const char *name);
/* NULL: the table has no such member. */
const struct protocol_member *
protocol_member(const struct protocol_member *table, const char *name);

/*
 * Are the members of `object` as the table wants them? A member that is null
 * is not there, and one the table does not know is passed over. 0, or -EINVAL
 * and a sentence about `what` ("SINCE"; free it).
 */
int protocol_check(const struct protocol_member *table, const char *what,
		   const cJSON *object, char **ret_why);

#endif
