/*
 * A conversation between an agent and its model, over many requests: the
 * records it holds (struct held), the notes sent (struct pin), and what the
 * provider's cache should hold (struct head). Of the transcript only hashes and
 * positions are kept, beside the texts that we put in.
 *
 * A conversation is identified by the ids its client sends in headers or body,
 * else by the hash of its system text and first user message; while the process
 * that made its last request lives, another process's is a different one.
 * Sub-agents have conversations of their own. A request continues the last one
 * if its items' hashes begin with the same ones; if not (a rewind, a fork, a
 * compaction), it begins a new lineage, and decisions on calls that are still
 * there stay.
 *
 * Callers hold the conversation's lock, except for conversation_identify(),
 * which is pure.
 */
#ifndef STATETAPE_MANAGER_DECIDE_CONVERSATION_H
#define STATETAPE_MANAGER_DECIDE_CONVERSATION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "graph/base/intern.h"
#include "graph/base/uthash.h"
#include "manager/decide/brain.h"
#include "manager/decide/cost.h"
#include "manager/decide/decide.h"
#include "manager/policy/policy.h"
#include "manager/record/records.h"

/* What the notes say about a stale record. */
enum notified {
	NOTIFIED_NOT,
	NOTIFIED_CHANGES, /* the changes up to an entry */
	NOTIFIED_LINKS, /* its text stands, its callees or constants changed */
	NOTIFIED_MOVED, /* its lines have other numbers; says no more */
	NOTIFIED_AGAIN, /* outdated; holds for all later changes too */
	NOTIFIED
};

extern const char *const notified_names[NOTIFIED];

/* The text sent in a record's place. */
enum replaced {
	REPLACED_NOT,	    /* the text received */
	REPLACED_WHOLE,	    /* all its lines, as of replaced_entry */
	REPLACED_PART,	    /* the parts that changed, as of replaced_entry */
	REPLACED_TOMBSTONE, /* one line: removed, or run it again */
	REPLACED_EVICTED,   /* one line: it was true, but no longer needed */
	REPLACED
};
extern const char *const replaced_names[REPLACED];

/* Lines of a file that a record shows. */
struct referent {
	uint32_t path;	     /* number in `names` */
	uint32_t start, end; /* from 1; 0: the file's first, last */
};

/* A symbol that drifted since the record's birth. */
struct drifted {
	uint32_t name; /* number in `names` */
	uint64_t entry;
	char set; /* 'X', 'd' (dX) or 'R' */
	bool removed;
};

/* An entry of the tape that a call of an editing tool made (own.h). */
struct edited {
	uint32_t path; /* number in `names` */
	uint64_t entry;
	uint32_t item; /* of the call's result; ITEM_NONE: not in the request */
};

/* A record that the conversation holds, by its call's id. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): for readers. */
struct held {
	UT_hash_handle hh;
	char *key;
	enum record_kind kind;
	bool seen;	 /* its birth was determined */
	bool decided;	 /* a request that had it was decided about */
	bool tracked;	 /* it claims something the tape can falsify */
	uint64_t hash;	 /* of the item received */
	uint64_t bytes;	 /* of the text received */
	uint32_t tokens; /* of the text received */
	enum {
		EXACT_UNKNOWN,
		EXACT_NOT,
		EXACT
	} exact; /* is its text a file's own lines? */
	uint32_t born_request;
	uint32_t said; /* a hash of the command that printed it; 0: unknown */

	bool born; /* `birth` is exact, not a lower bound */
	uint64_t birth;
	ARRAY(struct referent) referents;
	/* Its text was found to be a version's of its file, or the mount saw
	   the call's processes open the file. */
	bool verified;
	bool left;    /* upstream refused a request that changed it: leave it */
	bool strange; /* its text is no known version's: it was read before
			 the tape began, or between two versions */
	bool observed; /* a run: the three lists below are complete */
	ARRAY(uint32_t) opened, missed, listed;
	uint32_t head, tail; /* `file`: bytes of the output before and
				behind the file's text */
	bool file;	     /* a command whose output is a file's text */

	/* The nomination; ACTION_KEEP: none. */
	enum action action;
	uint64_t entry;
	char *why;
	char *words; /* the reason in words for the model */
	ARRAY(struct drifted) drifted;
	bool lines_drifted; /* its lines are nominated, or that is not known */

	/* own.h: */
	bool learned;		     /* an edit: `edited` is known */
	ARRAY(struct edited) edited; /* an edit: what it wrote; no items */
	uint64_t foreign; /* the newest entry known to have changed what it
			     shows that the model did not make by an edit */

	/* Computed for each request from the notes in it. */
	enum notified notified;
	uint64_t notified_entry;
	uint64_t moved_entry; /* the model knows its line numbers as of this */

	enum replaced replaced;
	uint64_t replaced_entry;
	char *text; /* the replacement; NULL: the text received is sent */
	size_t len;

	/* Where its lines are as of an entry, see plan_lines_now(); entry 0:
	   not looked for. */
	uint64_t now_entry;
	uint32_t now_start, now_end;
	ARRAY(struct policy_lines) still; /* as shown */

	/* In the request being processed. */
	uint64_t known; /* own.h: the model knows its changes up to this */
	/* own.h: the nomination at the last request. */
	enum action was_action;
	uint64_t was_entry;
	bool leans;	 /* own.h: it was with edits behind it */
	bool command;	 /* of a fresh one: it is a command's result */
	uint32_t item;	 /* ITEM_NONE: not in this request */
	uint32_t record; /* index in the request's records */
	bool fresh;	 /* new since the last request decided about */
	bool evict;	 /* the policy evicts it */
	uint32_t copies; /* further results with the same id */
	bool gone;	 /* it is not in it */
	bool absent;	 /* it was not in the previous one */
	bool changed;	 /* to be saved */
};

/* What a section of a note says about one record. */
struct mention {
	char *key; /* the record's */
	enum notified how;
	uint64_t since, entry; /* the range of entries it covers */
	uint64_t base; /* up to this, calls of the model's own cover it */
	size_t end; /* of the section in the note's text. Mentions with the same
		       end share a section; it begins at the end before. */
};

/*
 * A note, by the id of the call behind whose result it is sent.
 */
struct pin {
	UT_hash_handle hh;
	char *key;
	char *text;
	size_t len;
	ARRAY(struct mention) mentions;
	uint32_t item; /* ITEM_NONE: the call is not in this request */
	bool changed, gone;
};

/* The last request of a lineage, which the next one is compared with. */
struct head {
	int64_t at_ns; /* of the request; 0: this head is unused */
	uint64_t tools_hash, system_hash, model_hash;
	ARRAY(uint64_t) hashes; /* of its items */
	uint32_t cached;	/* items up to the last cache mark */
	/* Tokens received and sent, for the report. */
	uint64_t received, sent;
	/* Tokens that the provider reported as cached; -1: not reported. */
	int64_t kept;
};
/* Requests of one session may alternate (a rewind, a side question). */
#define CONVERSATION_HEADS 3

struct conversation {
	/* The next seven are protected by brain.lock. */
	UT_hash_handle hh;
	uint32_t users;	   /* turns and answers that use it */
	int64_t used_ns;   /* when it was last used */
	int64_t asked_ns;  /* time of the last request */
	int64_t before_ns; /* time of the request before that */
	uint32_t pid;	   /* of a guessed one: who made the last request; 0: */
	uint64_t start;	   /* not known */
	char *key;
	pthread_mutex_t lock;
	bool loaded;   /* from the archive */
	bool returned; /* and no request was processed since */

	char *client; /* the agent's name if known; never NULL */
	char *model;
	bool subagent, subscription;
	bool refused; /* upstream refuses rewritten requests: rewrite none */
	uint32_t refusals;  /* of rewritten requests, by upstream */
	bool stopped;	    /* the cache read too little: decide nothing new */
	uint32_t surprises; /* replies in a row that read too little */
	bool warned;

	uint32_t requests;    /* processed so far */
	uint32_t since_begin; /* requests since the cache was last empty */
	uint32_t since_epoch; /* requests since an epoch that was paid for */
	uint64_t last_n;      /* the tape's newest entry at the last request */
	int64_t reply_ns;     /* end of the last reply to a request after
				 which every record had a birth */
	uint64_t nominated_n; /* the entry up to which nominations are known */
	bool nominated;	      /* nominations were asked for before */
	uint32_t undecided;   /* requests in a row, up to the last one */

	struct head heads[CONVERSATION_HEADS];
	uint64_t note_tokens; /* of all notes in the request */

	struct intern *names;
	struct held *held; /* by key */
	struct pin *pins;  /* by key */
	/* What all edits wrote, also of those no longer in the request; rising
	   by entry. */
	ARRAY(struct edited) edited;
	uint32_t agent; /* the process that makes the requests; 0: unknown */
};

struct identity {
	char key[40]; /* 32 hex digits */
	bool subagent, subscription;
	bool guessed;	    /* by its texts: the client gives it no id */
	const char *client; /* static */
};

/* Which conversation makes this request? */
void conversation_identify(const struct request *r, const struct transcript *t,
			   struct identity *ret);
/* The identity of another conversation that begins with the same words. */
void conversation_identify_other(struct identity *who, uint32_t pid,
				 uint64_t start);

struct conversation *conversation_new(const char *key);
void conversation_free(struct conversation *c);
/* Forget all that was decided, as if nothing had been loaded. */
void conversation_clear(struct conversation *c);
void held_free(struct conversation *c, struct held *h);
void pin_free(struct conversation *c, struct pin *p);
/* NULL: there is none. */
struct held *conversation_find(const struct conversation *c, const char *key);
struct held *conversation_hold(struct conversation *c, const char *key);
struct pin *conversation_pin(struct conversation *c, const char *key);
const char *conversation_name(const struct conversation *c, uint32_t name);
/* Append a mention; its key is copied. */
void pin_mention(struct pin *p, const struct mention *a);
/* Remove all mentions and the text. */
void pin_clear(struct pin *p);
/* Remove mentions [first, last), which are one section, with its text. */
void pin_cut(struct pin *p, uint32_t first, uint32_t last);

/* The lineage that a request continues, and how far. */
struct lineage {
	struct head *head; /* an unused one: the request begins a lineage */
	enum epoch free;   /* EPOCH_COLD, EPOCH_BROKEN, or EPOCH_NONE */
	uint32_t same;	   /* items that repeat the head's */
	uint32_t cached;   /* of these, items the cache holds now */
};
struct lineage conversation_lineage(struct conversation *c,
				    const struct transcript *t,
				    const struct price *p, int64_t at_ns);
/* Make the request the head of its lineage. */
void conversation_advance(struct conversation *c, const struct lineage *l,
			  const struct transcript *t, int64_t at_ns);
/* Items up to and including the last one with a cache mark. */
uint32_t conversation_marked(const struct transcript *t);
/*
 * How many of the first `same` items the cache is read for, if the items behind
 * them are new: a provider with cache marks looks for a cached prefix at the 20
 * blocks before each mark only.
 */
uint32_t conversation_reread(const struct transcript *t, uint32_t same);

/*
 * The struct held of each record, made where it is new, in the order of the
 * transcript. A result whose text differs from the last request's (its client
 * cleared or cut it) is a new record. Free the array.
 */
struct held **conversation_match(struct conversation *c,
				 const struct transcript *t,
				 const struct records *r);

/*
 * The tape was deleted and counts entries from the start: all entry numbers
 * are void. Texts already sent stay; births are determined again.
 */
void conversation_begin_anew(struct conversation *c);

/* The entry up to which the model was shown by us what `h` shows. */
uint64_t held_shown(const struct held *h);

/* Is it what a program printed, and no file's text? */
static inline bool held_is_run(const struct held *h)
{
	return h->kind == RECORD_RUN || (h->kind == RECORD_SHELL && !h->file);
}

#endif
