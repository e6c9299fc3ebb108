/*
 * A request's body as a sequence of items, each with the bytes it stands on.
 * Nothing is copied, and texts are decoded when somebody asks for them: a talk
 * is sent anew with every turn, and most of it nobody looks at twice. Nothing
 * is ever re-serialised: a rewritten body is the received one with some
 * strings replaced (rewrite.h).
 *
 * The three wire formats have a dialect file each, which fills this in; all
 * that comes after knows only this header. Pure.
 */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_TRANSCRIPT_H
#define STATETAPE_MANAGER_TRANSCRIPT_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/arena.h"
#include "manager/transcript/dom.h" /* struct text, struct span */

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
	ITEM_OPAQUE, /* reasoning, images, anything unknown: never touched */
};

/* One string literal of the body that holds (part of) an item's text. */
struct item_piece {
	struct span span; /* with its quotes */
	enum literal_form form;
};

/*
 * A text, a call, a result, or something opaque: in Messages a block of a
 * message, in Responses an item of the input, in Chat a message, or the part
 * or call inside it. Where a message's content is one string, that is the
 * item.
 */
struct item {
	enum item_kind kind;
	uint32_t message; /* which element of the list it stands in */
	struct span span; /* of the whole item */
	struct text id;	  /* calls and results: the call's id */
	struct text name; /* calls: the tool's name */
	/* Calls: JSON text, or free text (custom tools). */
	struct text arguments;
	/*
	 * Of a user's text that is a file the client handed over: the file's
	 * part of it. Then `id` is one we made, and `name` and `arguments`
	 * are those of the call it stands for.
	 */
	struct text attached;
	bool error; /* results: marked as failed */
	/*
	 * Carries a cache mark (cache_control): itself, or, in Responses and
	 * Chat, the last part of its content. `mark` is the mark's value,
	 * `mark_member` what to cut so that it is gone, a comma included.
	 */
	bool marked;
	struct span mark, mark_member;
	struct span content;	   /* results: the string or list; or empty */
	struct item_piece *pieces; /* texts, results: in order; calls: none */
	uint32_t pieces_count;
	uint32_t other; /* result -> its call, call -> its result; NONE */
	/*
	 * Results: the last of those it belongs with, behind which a note
	 * stands: in Messages the results of its message, elsewhere the run
	 * of results it is in. Attached files: themselves, if a note can stand
	 * behind them. Else NONE.
	 */
	uint32_t place;
	/*
	 * Of what the item says, and not of how it is written: a string is
	 * the same as a list of that one text, and cache marks do not count.
	 * A request continues an earlier one when the hashes of its items
	 * begin with the earlier one's.
	 */
	uint64_t hash;
};
#define ITEM_NONE UINT32_MAX

/* An element of the list: a message, or in Responses an item. */
struct element {
	struct span span;
	uint32_t marks; /* cache marks before it, those of tools and system
			   text included */
};

struct transcript {
	enum dialect dialect;
	const char *body; /* the caller's */
	size_t len;
	struct item *items; /* in the order of the body */
	uint32_t items_count;
	uint32_t messages;	  /* elements of the list */
	struct element *elements; /* each; NULL: it is a single string */
	struct text model;
	bool stream;
	bool tools;	      /* there are any: else a side request */
	bool compaction;      /* asks for a summary of all that was said */
	bool subagent;	      /* the body says so (headers may, too) */
	bool clears;	      /* upstream is told to clear old results */
	bool partial;	      /* goes on from a response kept upstream */
	bool repeated;	      /* some call id is used more than once */
	uint64_t tools_hash;  /* of their bytes */
	uint64_t system_hash; /* of the system text, without what changes from
				 request to request */
	uint64_t first_hash;  /* of the user's texts before the first answer */
	struct text session;  /* an id the body itself gives, or empty */
	uint32_t marks;	      /* cache marks in all */
	bool hour;	      /* one of them asks for an hour */
	bool automatic;	      /* the body has one: all of it is kept */
	struct arena arena;   /* owns all of these */
};

/* Which dialect a request is in, by method and target; DIALECTS: none. */
enum dialect transcript_dialect(const char *method, const char *target);

/*
 * Read a body. -EBADMSG: not JSON, or not of that shape; -EMSGSIZE: nested or
 * long beyond limits. Then pass it on unread. The body must outlive `ret`.
 */
int transcript_init(struct transcript *ret, enum dialect d, const char *body,
		    size_t len);
void transcript_release(struct transcript *t); /* accepts a zeroed struct */

/*
 * What a piece says, and what an item does: its pieces one behind the other.
 * In the arena, if they do not stand in the body as they are.
 */
struct text transcript_piece(const struct transcript *t,
			     const struct item_piece *p, struct arena *a);
struct text transcript_text(const struct transcript *t, const struct item *i,
			    struct arena *a);
/* Does the piece say just this? Nothing is decoded to find out. */
bool transcript_says(const struct transcript *t, const struct item_piece *p,
		     const char *text, size_t len);
/* Does it begin with this? Likewise. */
bool transcript_begins(const struct transcript *t, const struct item_piece *p,
		       const char *text, size_t len);

#endif
