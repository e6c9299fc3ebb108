/*
 * One thread of talk between an agent and its model, over many requests: what
 * it holds, what it was told, and what the provider's cache should have of
 * it. Nothing of the transcript is kept but hashes, places and the texts we
 * put into it ourselves.
 *
 * A conversation is known by the ids its client sends in headers or body, and
 * else by the hash of its system text and first user message. Sub-agents have
 * conversations of their own. Whether a request continues the last one is a
 * matter of its items' hashes: if it does not (a rewind, a fork, a
 * compaction), a new lineage begins, and decisions whose call ids are still
 * there go on.
 *
 * Every function here wants the conversation's lock to be held, but for
 * identify(), which is pure.
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
#include "manager/record/records.h"

/* What the model knows of a record's being stale. */
enum notified {
	NOTIFIED_NOT,
	NOTIFIED_CHANGES, /* what changed, up to an entry */
	NOTIFIED_LINKS,	  /* that its text stands, but not what it is tied to */
	NOTIFIED_OWN,	  /* that its own edits came after */
	NOTIFIED_AGAIN,	  /* not to rely on it, whatever comes */
	NOTIFIED
};

extern const char *const notified_names[NOTIFIED];

/* What stands in a record's place. */
enum replaced {
	REPLACED_NOT,	    /* what was received */
	REPLACED_WHOLE,	    /* all its lines as they were at an entry */
	REPLACED_PART,	    /* those that changed */
	REPLACED_TOMBSTONE, /* a tombstone, or a line that asks for a run */
	REPLACED_EVICTED,   /* a line: it was true, and finished with */
	REPLACED
};
extern const char *const replaced_names[REPLACED];

/* Lines of a file that a record shows. */
struct referent {
	uint32_t path;	     /* number in `names` */
	uint32_t start, end; /* 0: from the first, to the last */
};

/* A symbol of a nomination. */
struct drifted {
	uint32_t name; /* number in `names` */
	uint64_t entry;
	char set; /* 'X', 'd' (dX) or 'R' */
	bool removed;
};

/* A record, by the id of its call. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): for readers. */
struct held {
	UT_hash_handle hh;
	char *key;
	enum record_kind kind;
	bool seen;	 /* its birth was looked into */
	bool tracked;	 /* it claims something the tape can falsify */
	uint64_t hash;	 /* of the item received */
	uint64_t bytes;	 /* of the text received */
	uint32_t tokens; /* likewise */
	enum {
		EXACT_UNKNOWN,
		EXACT_NOT,
		EXACT
	} exact; /* is its text a file's own lines? */
	uint32_t born_request;

	bool born; /* `birth` was found, and not only bounded */
	uint64_t birth;
	ARRAY(struct referent) referents;
	bool strange;  /* no version known reads as it does: it was observed
			  before anybody watched, or between two versions */
	bool observed; /* a run: what it opened and missed is known */
	ARRAY(uint32_t) opened, missed, listed;
	uint32_t head, tail; /* bytes around the lines, of a shell's output
				that turned out to be a file's */
	bool file;	     /* it did */

	/* The nomination, if there is one that counts. */
	enum action action;
	uint64_t entry;
	char *why;
	char *words; /* the same, for the model */
	ARRAY(struct drifted) drifted;
	bool lines_drifted; /* its lines were nominated, or may have been */

	/* Found anew for each request, from the notes that stand in it. */
	enum notified notified;
	uint64_t notified_entry;

	enum replaced replaced;
	uint64_t replaced_entry;
	char *text; /* what stands there; NULL: what was received */
	size_t len;

	/* In the request that is being thought about. */
	bool command;	 /* fresh ones: it came from one */
	uint32_t item;	 /* ITEM_NONE: not in it */
	uint32_t record; /* index in its records */
	bool fresh;	 /* its birth is to be looked into */
	bool evict;	 /* true, and the policy is finished with it */
	bool absent;	 /* it was not in the request before */
	bool changed;	 /* to be kept in memory anew */
};

/* What a note says of one record. */
struct mention {
	char *key; /* the record's */
	enum notified how;
	uint64_t since, entry; /* of what changed between these entries */
	size_t end; /* of what says so, in the note's text; it begins where
		       that of the ones before ends, or with theirs */
};

/*
 * A note, by the id of the call behind whose results it stands. One without
 * text is not sent: it marks what the results there say of a record without
 * our help.
 */
struct pin {
	UT_hash_handle hh;
	char *key;
	char *text;
	size_t len;
	ARRAY(struct mention) mentions;
	uint32_t item; /* ITEM_NONE: its place is gone */
	bool changed, gone;
};

/* The last request of a lineage: what the next one is compared with. */
struct head {
	int64_t at_ns; /* when it, or its reply, was over; 0: unused */
	uint64_t tools_hash, system_hash, model_hash;
	ARRAY(uint64_t) hashes; /* of its items */
	uint32_t cached;	/* of them, those up to the last cache mark */
	/* For the report: its tokens, as received and as sent. */
	uint64_t received, sent;
	/* Tokens the provider said it keeps of it; -1: not said. */
	int64_t kept;
};
/* Requests of one session may alternate: a rewind tried, a side question. */
#define CONVERSATION_HEADS 3

struct conversation {
	UT_hash_handle hh; /* the brain's, under its lock */
	uint32_t users;	   /* the brain's, under its lock */
	int64_t used_ns;   /* the brain's, under its lock */
	int64_t asked_ns;  /* the brain's, under its lock: the last request */
	int64_t before_ns; /* likewise: the one before */
	char *key;
	pthread_mutex_t lock;
	bool loaded;
	bool returned; /* read from memory since its last request */

	char *client; /* which agent, as far as it says; never NULL */
	char *model;
	bool subagent, subscription;
	bool refused; /* upstream refused what we sent: left alone */
	bool stopped; /* the cache did not do as predicted: no more changes */
	uint32_t surprises; /* replies in a row that read too little */
	bool warned;

	uint32_t requests;    /* thought about */
	uint32_t since_begin; /* requests since all of it was new */
	uint32_t since_epoch; /* requests since one that cost something */
	uint64_t last_n;      /* the tape's newest entry at the last one */
	int64_t reply_ns;     /* when the last reply was over of a request that
				 left no record without a birth */
	uint64_t nominated_n; /* up to which nominations were asked for */
	bool nominated;

	struct head heads[CONVERSATION_HEADS];
	uint64_t note_tokens; /* of all notes that stand now */

	struct intern *names;
	struct held *held; /* by key */
	struct pin *pins;  /* by key */
};

struct identity {
	char key[40]; /* 32 hex digits */
	bool subagent, subscription;
	const char *client; /* static */
};

/* Who is asking? */
void conversation_identify(const struct request *r, const struct transcript *t,
			   struct identity *ret);

struct conversation *conversation_new(const char *key);
void conversation_free(struct conversation *c);
void held_free(struct conversation *c, struct held *h);
void pin_free(struct conversation *c, struct pin *p);
/* NULL: there is none. */
struct held *conversation_find(const struct conversation *c, const char *key);
struct held *conversation_hold(struct conversation *c, const char *key);
struct pin *conversation_pin(struct conversation *c, const char *key);
const char *conversation_name(const struct conversation *c, uint32_t name);
/* `a` (its key is copied) is what it says now, too. */
void pin_mention(struct pin *p, const struct mention *a);
/* It says nothing any more. */
void pin_clear(struct pin *p);
/* Without what it says by mentions[first, last), all of one section. */
void pin_cut(struct pin *p, uint32_t first, uint32_t last);

/* How a request stands to the lineage it continues best. */
struct lineage {
	struct head *head; /* unused: it begins one */
	enum epoch free;   /* EPOCH_COLD, EPOCH_BROKEN, or EPOCH_NONE */
	uint32_t same;	   /* items that repeat the head's */
	uint32_t cached;   /* of them, those a cache holds now */
};
struct lineage conversation_lineage(struct conversation *c,
				    const struct transcript *t,
				    const struct price *p, int64_t at_ns);
/* The request was dealt with: it is the head of its lineage from now on. */
void conversation_advance(struct conversation *c, const struct lineage *l,
			  const struct transcript *t, int64_t at_ns);
/* Items up to and including the last one with a cache mark. */
uint32_t conversation_marked(const struct transcript *t);

/*
 * Find each record's `held`, making those that are new, in the order of the
 * transcript. A result whose text is another than before is a new one: its
 * client has cleared or cut it. The array is the caller's (free it).
 */
struct held **conversation_match(struct conversation *c,
				 const struct transcript *t,
				 const struct records *r);

/*
 * The tape was begun anew and counts from the start: no entry known means
 * anything any more. What was sent goes on; births are looked for again.
 */
void conversation_begin_anew(struct conversation *c);

/* As of which entry does the model know what `h` shows? */
uint64_t held_shown(const struct held *h);

#endif
