/*
 * Shared by the dialect files: a transcript under construction. A dialect
 * walks its list in the order of the body and adds items; pieces and parts
 * belong to the item added last. The common part (pairing, hashes, cache
 * marks) is in transcript.c, behind these calls.
 */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_DIALECT_H
#define STATETAPE_MANAGER_TRANSCRIPT_DIALECT_H

#include "graph/base/array.h"
#include "manager/transcript/transcript.h"

/* An item, and the index of its first piece: the array still moves. */
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
	uint32_t message; /* index of the element being read */
	bool answered;	  /* there was something of the assistant's */
	bool asked;	  /* there was a text of the user's */
};

/* Call `element` for each element of the conversation, until one fails. */
int builder_list(struct transcript_builder *r, uint32_t list,
		 int (*element)(struct transcript_builder *r, uint32_t node));
/* Add an item with the bytes of `node`. */
struct item *builder_add(struct transcript_builder *r, enum item_kind kind,
			 uint32_t node);
/* Add a string to the last item's text. */
void builder_piece(struct transcript_builder *r, uint32_t node);
/* Add to the last item's hash a part that is not text. */
void builder_part(struct transcript_builder *r, uint32_t node);
/* Further attributes of the last item; each enters its hash. */
void builder_id(struct transcript_builder *r, struct text id);
void builder_call(struct transcript_builder *r, struct text name,
		  struct text arguments);
void builder_error(struct transcript_builder *r);
/*
 * The content of a text or result: a string, or a list of parts. Parts with a
 * member "text" and a type for which dialect_is_text() holds are pieces. A mark
 * on the list's last part is the item's.
 */
void builder_content(struct transcript_builder *r, uint32_t node);
/* The last item is complete; may enter first_hash. */
void builder_done(struct transcript_builder *r);

/* Count the cache mark of `node`, if any; `own`: it is the last item's. */
void builder_mark(struct transcript_builder *r, uint32_t node, bool own);
/* The same for each element of list `node`, which may be DOM_NONE. */
void builder_marks(struct transcript_builder *r, uint32_t node);

/* Add a text of the system prompt to system_hash. */
void builder_system(struct transcript_builder *r, struct text text);
/* A list of tools, or DOM_NONE. */
void builder_tools(struct transcript_builder *r, uint32_t node);

enum item_kind dialect_role(const struct dom *j, uint32_t role);
/* Is a part of that type a text? `type` may be DOM_NONE. */
bool dialect_is_text(const struct dom *j, uint32_t type);
/* The bytes of a node, undecoded. */
struct text dialect_raw(const struct dom *j, uint32_t node);

/* A call, as a request or a reply has it. */
struct dialect_call {
	struct text id, name, arguments;
};

/* Is `item` of a Responses list a call? Texts point into it or the arena. */
bool dialect_responses_call(const struct dom *j, uint32_t item, struct arena *a,
			    struct dialect_call *ret);

/* The dialects: fill `r` from nodes[0], an object. -EBADMSG: not theirs. */
int dialect_messages(struct transcript_builder *r);
int dialect_responses(struct transcript_builder *r);
int dialect_chat(struct transcript_builder *r);

/* Find files that the client attached without a call (attached.c). */
void attached_find(struct transcript *t);

#endif
