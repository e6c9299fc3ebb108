/*
 * A request's body as a sequence of items, each with its span of bytes.
 * Nothing is copied, and texts are decoded on demand: clients send the whole
 * conversation with every turn, and most of it is needed once. Nothing is ever
 * re-serialised: a rewritten body is the received one with some strings
 * replaced (rewrite.h).
 *
 * Each of the three wire formats has a dialect file that fills this in; all
 * other code knows only this header. Pure.
 */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_TRANSCRIPT_H
#define STATETAPE_MANAGER_TRANSCRIPT_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/arena.h"
#include "manager/transcript/dom.h"

enum dialect {
	DIALECT_MESSAGES,  /* Anthropic Messages */
	DIALECT_RESPONSES, /* OpenAI Responses */
	DIALECT_CHAT,	   /* OpenAI Chat Completions */
	DIALECTS
};

#define TRANSCRIPT_MAX DOM_TEXT_MAX /* bytes of a body */

enum item_kind {
	ITEM_SYSTEM, /* system or developer text inside the list */
	ITEM_USER,
	ITEM_ASSISTANT,
	ITEM_CALL,
	ITEM_RESULT,
	ITEM_OPAQUE, /* reasoning, images, anything unknown: never edited */
};

/* A string literal of the body with an item's text, or part of it. */
struct item_piece {
	struct span span; /* quotes included */
	enum literal_form form;
};

/*
 * A text, a call, a result, or something opaque: in Messages a block of a
 * message, in Responses an item of the input, in Chat a message, or a part or
 * call in it. If a message's content is one string, the item is that string.
 */
struct item {
	enum item_kind kind;
	uint32_t message; /* index of its element of the list */
	struct span span; /* of the whole item */
	struct text id;	  /* calls and results: the call's id */
	struct text name; /* calls: the tool's name */
	/* Calls: JSON text, or free text (custom tools). */
	struct text arguments;
	/*
	 * Of a user text that is a file the client attached (attached.c): the
	 * file's part of the text. Then we made up `id`, and `name` and
	 * `arguments` are those of the call it stands for.
	 */
	struct text attached;
	bool error; /* results: marked as failed */
	/*
	 * Carries a cache mark (cache_control): the item itself or, in
	 * Responses and Chat, the last part of its content. `mark` is the
	 * mark's value; cutting `mark_member`, a comma included, removes it.
	 */
	bool marked;
	struct span mark, mark_member;
	struct span content; /* results: the string or list; or empty */
	bool takes; /* a note can be put into `content`: a string, or a list
		       of texts and images alone */
	struct item_piece *pieces; /* texts, results: in order; calls: none */
	uint32_t pieces_count;
	uint32_t other; /* result: its call; call: its result; or ITEM_NONE */
	/*
	 * Where a note for this item is put. Results: into the last result
	 * that takes one, of the message (Messages) or of the run of results
	 * (Responses, Chat). Attached files: behind themselves, if a block can
	 * be put there. The last text of a user's message without results:
	 * into itself; we made up its `id`. Others, and results where none
	 * takes one: ITEM_NONE.
	 */
	uint32_t place;
	/*
	 * Of the content, not of its encoding: escapes do not matter, a string
	 * equals a list of that one text, and cache marks do not count. A
	 * request continues an earlier one if its items' hashes begin with
	 * the earlier one's.
	 */
	uint64_t hash;
};
#define ITEM_NONE UINT32_MAX

/* An element of the list: a message, or in Responses an item. */
struct element {
	struct span span;
	uint32_t marks; /* cache marks before it, including those of tools and
			   system text */
};

struct transcript {
	enum dialect dialect;
	const char *body; /* the caller's */
	size_t len;
	struct item *items; /* in the order of the body */
	uint32_t items_count;
	uint32_t messages;	  /* elements of the list */
	struct element *elements; /* NULL: the input is a single string */
	struct text model;
	bool stream;
	bool tools;	     /* has tools; without: a side request */
	bool compaction;     /* asks for a summary of the conversation */
	bool subagent;	     /* according to the body; headers may say so too */
	bool clears;	     /* asks upstream to clear old results */
	bool partial;	     /* continues a response stored upstream */
	bool repeated;	     /* some call id is used more than once */
	uint64_t tools_hash; /* of their bytes */
	uint64_t system_hash; /* of the system text, without the parts that
				 change from request to request */
	uint64_t first_hash;  /* of the user's texts before the first answer */
	struct text session;  /* the id in the body, or empty */
	uint32_t marks;	      /* cache marks in total */
	bool hour;	      /* a mark asks for an hour */
	bool automatic;	      /* a mark on the body itself: cache all of it */
	struct arena arena;   /* owns all of the above */
};

/* A request's dialect by method and target; DIALECTS: none. */
enum dialect transcript_dialect(const char *method, const char *target);

/*
 * Read a body. -EBADMSG: not JSON, or not of that dialect; -EMSGSIZE: beyond
 * the limits of dom.h. The body must outlive `ret`.
 */
int transcript_init(struct transcript *ret, enum dialect d, const char *body,
		    size_t len);
void transcript_release(struct transcript *t); /* accepts a zeroed struct */

/*
 * The decoded text of a piece, and of an item: its pieces concatenated. Points
 * into the body where possible, otherwise into the arena.
 */
struct text transcript_piece(const struct transcript *t,
			     const struct item_piece *p, struct arena *a);
struct text transcript_text(const struct transcript *t, const struct item *i,
			    struct arena *a);
/* Does the piece decode to `text`, or begin with it? Neither allocates. */
bool transcript_says(const struct transcript *t, const struct item_piece *p,
		     const char *text, size_t len);
bool transcript_begins(const struct transcript *t, const struct item_piece *p,
		       const char *text, size_t len);

#endif
