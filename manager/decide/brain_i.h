/* Private to brain.c, turn.c and report/report.c. */
#ifndef STATETAPE_MANAGER_DECIDE_BRAIN_I_H
#define STATETAPE_MANAGER_DECIDE_BRAIN_I_H

#include <cjson/cJSON.h>
#include <stdatomic.h>

#include "manager/decide/archive.h"
#include "manager/decide/brain.h"
#include "manager/decide/conversation.h"
#include "manager/policy/policy.h"
#include "manager/transcript/sse.h"
#include "manager/transcript/transcript.h"

struct links;
struct plan;
struct subscribe;

struct brain {
	pthread_mutex_t lock;
	struct conversation *conversations; /* protected by lock */
	struct archive *archive;
	struct prices prices;
	const struct policy *policy;
	enum mode mode;
	bool subscriptions, no_prompts;
	uint64_t keep_days, keep_bytes; /* archive_keep() */
	char *repo, *other, *cwd;
	struct links *links;	     /* to the tape; NULL: `ask` was given */
	struct subscribe *subscribe; /* to the tape's entries; NULL: none */
	/* Entries heard, plus 1, when the tape last did not answer; 0: it did.
	 */
	_Atomic uint64_t hung;
	wire_transport *ask;
	void *ask_ctx;
	void (*planned)(void *ctx, struct plan *p); /* as in brain_options */
	void *planned_ctx;
	void (*say)(void *ctx, const char *sentence);
	void *say_ctx;
};

struct turn {
	struct brain *b;
	struct conversation *c; /* NULL: the request was not processed */
	enum dialect dialect;
	struct sse *sse;
	int status;
	char *body;
	uint32_t request;  /* of the conversation */
	struct head *head; /* of its lineage */
	int64_t predicted; /* tokens the cache should read; -1: unknown */
	bool settled;	   /* all was decided that could be */
	bool unkept;	   /* the decisions are not in the archive yet */
	struct decided_list decided;
	struct archive_request row; /* archived with them */
	int64_t at_ns, began_ns;
	cJSON *step;	  /* for the tape (step.h); NULL: nothing to tell */
	bool guessed;	  /* its conversation, by its texts */
	int64_t first_ns; /* when the reply's first block passed; 0: none */
	int64_t shown_ns; /* when a block of the reply last passed; 0: none */
};

/* One sentence for the log. */
__attribute__((format(printf, 2, 3))) void brain_say(struct brain *b,
						     const char *format, ...);

/*
 * Withdraw what one request decided newly; its records are left alone from now
 * on. False: that was nothing. The conversation's lock is held.
 */
bool turn_withdraw(struct conversation *c, const struct decided_list *l);

/* Forget what is beyond the limits of the archive. */
void brain_keep(struct brain *b);

/*
 * The conversation of that key, made if there is none. It stays in memory until
 * brain_leave(). `at_ns`: the time of the request it makes; 0: it makes none.
 */
struct conversation *brain_conversation(struct brain *b, const char *key,
					int64_t at_ns);
void brain_leave(struct brain *b, struct conversation *c);

#endif
