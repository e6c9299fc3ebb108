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

struct transcript_builder {
	struct transcript *t;
	struct dom j;
	ARRAY(struct draft) drafts;
	ARRAY(struct item_piece) pieces;
	ARRAY(struct element) elements;
	uint32_t message; /* the element being read */
	bool answered;	  /* the assistant has said something */
	bool asked;	  /* the user has */
};

/* The list that makes up the conversation: each element in turn is handed to
   `element`, whose failure ends it. */
int builder_list(struct transcript_builder *r, uint32_t list,
		 int (*element)(struct transcript_builder *r, uint32_t node));
/* Add an item that stands on `node`. */
struct item *builder_add(struct transcript_builder *r, enum item_kind kind,
			 uint32_t node);
/* A string that belongs to the last item's text. */
void builder_piece(struct transcript_builder *r, uint32_t node);
/* A part of the last item that is no text: it counts for the hash alone. */
void builder_part(struct transcript_builder *r, uint32_t node);
/* What is known of the last item besides; each counts for its hash. */
void builder_id(struct transcript_builder *r, struct text id);
void builder_call(struct transcript_builder *r, struct text name,
		  struct text arguments);
void builder_error(struct transcript_builder *r);
/*
 * A text's or a result's content: a string, or a list of parts, of which
 * those with a member "text" and a type that is_text() knows are pieces. A
 * mark on the last part of the list is the item's.
 */
void builder_content(struct transcript_builder *r, uint32_t node);
/* The last item is over: it stands in the hash of what was asked first. */
void builder_done(struct transcript_builder *r);

/* Does `node` carry a cache mark? Counts it; the last item's if `own`. */
void builder_mark(struct transcript_builder *r, uint32_t node, bool own);
/* Each element of list `node`, which may be DOM_NONE, may carry one. */
void builder_marks(struct transcript_builder *r, uint32_t node);

/* A text that tells one conversation's system prompt from another's. */
void builder_system(struct transcript_builder *r, struct text text);
/* A list of tools, or DOM_NONE. */
void builder_tools(struct transcript_builder *r, uint32_t node);

enum item_kind dialect_role(const struct dom *j, uint32_t role);
/* Is a part of that type a text? `type` may be DOM_NONE. */
bool dialect_is_text(const struct dom *j, uint32_t type);
/* The bytes of a node, as they stand. */
struct text dialect_raw(const struct dom *j, uint32_t node);

/* A call, as a request or a reply has it. */
struct dialect_call {
	struct text id, name, arguments;
};

/* Is `item` of a Responses list a call? Texts are its bytes or the arena's. */
bool dialect_responses_call(const struct dom *j, uint32_t item, struct arena *a,
			    struct dialect_call *ret);

/* The dialects: fill `r` from nodes[0], an object. -EBADMSG. */
int dialect_messages(struct transcript_builder *r);
int dialect_responses(struct transcript_builder *r);
int dialect_chat(struct transcript_builder *r);

/* Finds files that were handed over without a call (attached.c). */
void attached_find(struct transcript *t);

#endif
