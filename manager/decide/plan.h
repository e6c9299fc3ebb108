/*
 * One request thought through: from what the agent holds and what the tape
 * says of it to the texts that are sent. plan_make() changes the
 * conversation's records and pins; plan_rewriting() lists what is sent, old
 * and new, which is all there is to do when the tape is away.
 */
#ifndef STATETAPE_MANAGER_DECIDE_PLAN_H
#define STATETAPE_MANAGER_DECIDE_PLAN_H

#include "manager/decide/conversation.h"
#include "manager/decide/decided.h"
#include "manager/decide/evidence.h"
#include "manager/policy/policy.h"
#include "manager/transcript/rewrite.h"

struct plan_counts {
	uint64_t held, stale;		    /* tokens, as received */
	uint64_t refreshed, dropped, rerun; /* tokens taken out of the way */
	uint64_t evicted;		    /* the same, of what was true */
	uint64_t notes;			    /* tokens of new notes */
	uint64_t retrieved;		    /* of them, code not asked for */
	uint32_t notified, replaced;	    /* records dealt with */
};

/* Edits of a file among the results that are new. */
struct own_edits {
	uint32_t path, count;
};

struct plan {
	struct conversation *c;
	const struct transcript *t;
	struct records *r;
	struct held **held; /* as conversation_match() gives them */
	struct evidence *e;
	const struct price *price;
	const struct policy *policy;
	struct lineage l;
	enum mode mode;
	bool notes_only;

	/* What came of it. */
	enum epoch epoch;
	uint32_t from; /* the first item whose bytes are others than before;
			  ITEM_NONE: only new items are touched */
	struct plan_counts counts;
	bool policy_failed;
	struct decided_list decided;

	/* plan.c's and plan_text.c's. */
	ARRAY(struct own_edits) own;
	uint32_t *later; /* per record, the next that shows the same file alone;
			    ITEM_NONE: none */
	struct buf retrieved; /* what the policy wants to be shown besides */
};

void plan_make(struct plan *p);
void plan_release(struct plan *p);

struct plan_rewriting {
	struct rewriting all;
	ARRAY(struct replacement) replacements;
	ARRAY(struct rewrite_note) notes;
	ARRAY(char *) joined;
};
void plan_rewriting(const struct plan *p, struct plan_rewriting *ret);
void plan_rewriting_release(struct plan_rewriting *r);

/* -- Between plan.c and plan_text.c. */

/* The record's file, or the words for one that has none. */
const char *plan_name(const struct plan *p, const struct held *h);
/* Why it is stale, with the entry that made it so. */
const char *plan_cause(const struct held *h);
/* Of its text, as it was sent until now. */
uint64_t plan_bytes(const struct held *h);
/*
 * List a decision about `h`; `d` says where, in which form, and how many bytes
 * there were. Members it leaves out are taken from `h`.
 */
void plan_decided(struct plan *p, const struct held *h, struct decided d,
		  const char *text, size_t len);
/* For plan_superseded(). */
void plan_find_later(struct plan *p);
/* Does a later record show its lines as they are? */
bool plan_superseded(const struct plan *p, const struct held *h);
bool plan_own(const struct plan *p, const struct held *h);
/* Tokens that notes may still take, `out` counted if given. */
uint64_t plan_notes_left(const struct plan *p, const struct buf *out);
/*
 * The text for a record's place, as its action wants it. REPLACED_NOT: none can
 * be made that is true.
 */
enum replaced plan_replacement(struct plan *p, struct held *h, struct buf *out);
/* The note on all of `stale`, for `pin`; each one's `told` is set. */
void plan_note(struct plan *p, struct held **stale, size_t count,
	       struct pin *pin, struct buf *out);
/* Does the text shown still read as the file does? */
bool plan_reads_true(struct plan *p, const struct held *h);
/* The whole of what `read` showed, as it is now, for a stub that refers to it.
 */
int plan_stub_text(struct plan *p, const struct held *read, struct buf *out);

#endif
