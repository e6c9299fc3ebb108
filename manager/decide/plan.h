/*
 * The plan for one request: from the records held and their nominations to the
 * texts sent. plan_make() updates the conversation's records and pins;
 * plan_rewriting() lists all texts to send, old and new. Without a tape only
 * the second is called.
 */
#ifndef STATETAPE_MANAGER_DECIDE_PLAN_H
#define STATETAPE_MANAGER_DECIDE_PLAN_H

#include "manager/decide/conversation.h"
#include "manager/decide/decided.h"
#include "manager/decide/evidence.h"
#include "manager/decide/linediff.h"
#include "manager/policy/policy.h"
#include "manager/transcript/rewrite.h"

struct plan_counts {
	uint64_t held, stale;		    /* tokens, as received */
	uint64_t refreshed, dropped, rerun; /* tokens replaced */
	uint64_t evicted;		    /* tokens of evicted records */
	uint64_t notes;			    /* tokens of new notes */
	uint64_t retrieved;		    /* of these, retrieved code */
	uint32_t notified, replaced;	    /* records */
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

	/* Set by plan_make(). */
	enum epoch epoch;
	uint32_t from; /* the first cached item whose bytes change;
			  ITEM_NONE: none */
	struct plan_counts counts;
	bool policy_failed;
	struct decided_list decided;

	/* Private to plan.c and plan_text.c. */
	ARRAY(uint32_t) failed; /* files of which a new edit failed */
	bool editing;		/* the newest call is an edit */
	uint32_t *later; /* per record, the next one of the same single file,
			    of a run of the same command; ITEM_NONE: none */
	struct buf retrieved; /* the policy's retrieved code */
	double *rank;	      /* per record, as policy_out has it */
	double *features;     /* for fitting (policy.h); NULL: not wanted */
};

/* -ETIMEDOUT: the time for questions is over, and nothing was changed. */
int plan_make(struct plan *p);
/*
 * Nothing new could be decided: a line in the newest result says that the held
 * files may have changed, once until something is decided again. `why` is for
 * `statetape explain`. Instead of plan_make().
 */
void plan_doubt(struct plan *p, const char *why);
void plan_release(struct plan *p);

struct plan_rewriting {
	struct rewriting all;
	ARRAY(struct replacement) replacements;
	ARRAY(struct rewrite_note) notes;
	ARRAY(char *) joined;
};
void plan_rewriting(const struct plan *p, struct plan_rewriting *ret);
/* Copy the texts: the conversation's may go. */
void plan_rewriting_own(struct plan_rewriting *r);
void plan_rewriting_release(struct plan_rewriting *r);

/* -- Shared by plan.c and plan_text.c. */

/*
 * The note in the newest result, which takes all new sections; emptied if it
 * was removed just now. NULL: there is no result yet.
 */
struct pin *plan_newest_pin(struct plan *p);
/* `text` is the note's whole text from now on. */
void plan_put_note(struct plan *p, struct pin *pin, const struct buf *text);
/*
 * Ask the tape for what a note on `h`, or its replacement, is made of. Texts
 * are made without it afterwards, so none is worse because the tape is late.
 */
void plan_gather(struct plan *p, const struct held *h, bool replace);
/* The record's file, else its command or tool. */
const char *plan_name(const struct plan *p, const struct held *h);
/* Why it is stale, with the entry's number. */
const char *plan_cause(const struct held *h);
/* The length of its text as sent so far. */
uint64_t plan_bytes(const struct held *h);
/*
 * Append a decision about `h` to p->decided. The caller sets place, form,
 * before and after in `d`; why and action come from `h` where they are NULL.
 */
void plan_decided(struct plan *p, const struct held *h, struct decided d,
		  const char *text, size_t len);
/* May the model be told what is in the file? */
bool plan_is_shown(const struct held *h);
/*
 * The file of `h` as of entry `since`, not before its birth, and now, and the
 * lines of the former that it shows. False: a text is not available, or none of
 * the lines was left; then nothing is to be released.
 */
bool plan_compare(struct plan *p, const struct held *h, uint64_t since,
		  struct linediff *ret, struct range *ret_lines);
/* The file and everything the record shows of it were removed. */
bool plan_is_gone(struct plan *p, const struct held *h);
/* Fill p->later, for plan_superseded(). */
void plan_find_later(struct plan *p);
/* Does a later record show the current text of its lines? */
bool plan_superseded(const struct plan *p, const struct held *h);
/* Did a new edit of its file fail? Then the model is wrong about it. */
bool plan_is_failed(const struct plan *p, const struct held *h);
/* The entry as of which a note on it says what changed. */
uint64_t plan_base(const struct plan *p, const struct held *h);
/* Have its lines moved by more than a screen since their numbers were told? */
bool plan_is_moved(struct plan *p, const struct held *h);
/* Is it a run of a command that a later record is a run of, too? */
bool plan_is_rerun(const struct plan *p, const struct held *h);
/* Does a note in this request say of its command that it is outdated? */
bool plan_is_run_told(const struct plan *p, const struct held *h);
/* Tokens left for notes; `out` (or NULL) counts as used. */
uint64_t plan_notes_left(const struct plan *p, const struct buf *out);
/*
 * The replacement of a record by its action. REPLACED_NOT: no true text can be
 * made.
 */
enum replaced plan_replacement(struct plan *p, struct held *h, struct buf *out);
/* Say that the lines of `h` have other numbers. */
void plan_note_moved(struct plan *p, struct held *h, struct pin *pin,
		     struct buf *out);
/* Append the sections on all of `stale` to `out`, and mentions to `pin`. */
void plan_note(struct plan *p, struct held **stale, size_t count,
	       struct pin *pin, struct buf *out);
/* Let the policy choose actions, evictions and retrieved code. */
void plan_ask_policy(struct plan *p);
/* Find the lines that `h` is about as they are now: h->now_start and on. */
void plan_lines_now(struct plan *p, struct held *h);
/* Lines of the file as it is now, [first, last) from 0: an ARRAY. */
struct plan_ranges {
	struct range *at;
	uint32_t count, size;
};
/* Which lines a refresh of `h` shows; none: it cannot be refreshed. */
void plan_refresh_lines(struct plan *p, const struct held *h,
			struct plan_ranges *ret);
/* Does its text, as received, read as the file does, at the same numbers? */
bool plan_shows_now(struct plan *p, const struct held *h);
/*
 * Is the text that the model knows, with what its edits behind it changed, the
 * file's, though it is nominated?
 */
bool plan_reads_true(struct plan *p, const struct held *h);
/* The current text of all that `read` showed, for a stub that refers to it. */
int plan_stub_text(struct plan *p, const struct held *read, struct buf *out);

#endif
