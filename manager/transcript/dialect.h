/*
 * What the dialect files share: a transcript in the making. A dialect walks
 * its list in the order of the body and adds items; pieces and parts always
 * belong to the item added last. What is common to all (pairing, hashes,
 * cache marks) is done behind these calls, in transcript.c.
 */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_DIALECT_H
#define STATETAPE_MANAGER_TRANSCRIPT_DIALECT_H

#include "graph/base/array.h"
#include "manager/transcript/transcript.h"

/* An item, and where its pieces begin: they move while there are more. */
struct draft {
	struct item item;
	uint32_t pieces;
};

struct reading {
	struct transcript *t;
	struct json j;
	ARRAY(struct draft) drafts;
	ARRAY(struct piece) pieces;
	ARRAY(struct element) elements;
	uint32_t message; /* the element being read */
	bool answered;	  /* the assistant has said something */
	bool asked;	  /* the user has */
};

/* The list that makes up the conversation: each element in turn is handed to
   `element`, whose failure ends it. */
int reading_list(struct reading *r, uint32_t list,
		 int (*element)(struct reading *r, uint32_t node));
/* Add an item that stands on `node`. */
struct item *reading_add(struct reading *r, enum item_kind kind, uint32_t node);
/* A string that belongs to the last item's text. */
void reading_piece(struct reading *r, uint32_t node);
/* A part of the last item that is no text: it counts for the hash alone. */
void reading_part(struct reading *r, uint32_t node);
/* What is known of the last item besides; each counts for its hash. */
void reading_id(struct reading *r, struct text id);
void reading_call(struct reading *r, struct text name, struct text arguments);
void reading_error(struct reading *r);
/*
 * A text's or a result's content: a string, or a list of parts, of which
 * those with a member "text" and a type that is_text() knows are pieces. A
 * mark on the last part of the list is the item's.
 */
void reading_content(struct reading *r, uint32_t node);
/* The last item is over: it stands in the hash of what was asked first. */
void reading_done(struct reading *r);

/* Does `node` carry a cache mark? Counts it; the last item's if `own`. */
void reading_mark(struct reading *r, uint32_t node, bool own);
/* Each element of list `node`, which may be JSON_NONE, may carry one. */
void reading_marks(struct reading *r, uint32_t node);

/* A text that tells one conversation's system prompt from another's. */
void reading_system(struct reading *r, struct text text);
/* A list of tools, or JSON_NONE. */
void reading_tools(struct reading *r, uint32_t node);

enum item_kind dialect_role(const struct json *j, uint32_t role);
/* Is a part of that type a text? `type` may be JSON_NONE. */
bool dialect_is_text(const struct json *j, uint32_t type);
/* The bytes of a node, as they stand. */
struct text dialect_raw(const struct json *j, uint32_t node);

/* A call, as a request or a reply has it. */
struct dialect_call {
	struct text id, name, arguments;
};

/* Is `item` of a Responses list a call? Texts are its bytes or the arena's. */
bool dialect_responses_call(const struct json *j, uint32_t item,
			    struct arena *a, struct dialect_call *ret);

/* The dialects: fill `r` from nodes[0], an object. -EBADMSG. */
int dialect_messages(struct reading *r);
int dialect_responses(struct reading *r);
int dialect_chat(struct reading *r);

/* Finds files that were handed over without a call (attached.c). */
void attached_find(struct transcript *t);

#endif
