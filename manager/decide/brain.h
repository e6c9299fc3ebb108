/*
 * What the HTTP edge (proxy.h) knows of everything behind it: a request's body
 * goes in, the body to send comes out, and the reply is shown as it passes.
 * Behind it stand conversations, records, the tape's nominations, decisions.
 *
 * It never fails towards the edge: whatever goes wrong inside, the answer is
 * "send what you received", with a reason that is counted.
 *
 * Any thread may call brain_think(); a turn belongs to the thread that got
 * it. Calls for one conversation are put in order inside. The request and all
 * it points to are the caller's until brain_think() returns, and gone then.
 */
#ifndef STATETAPE_MANAGER_DECIDE_BRAIN_H
#define STATETAPE_MANAGER_DECIDE_BRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "manager/decide/mode.h"
#include "tape/wire/wire.h"

struct brain;
struct policy;
struct turn;

/* Strings are copied. Zeroed members take what is said here. */
struct brain_options {
	const char *repo;  /* the repository's root, canonical */
	const char *other; /* the same by another path: where it is mounted, a
			      symbolic link; NULL: none */
	const char *cwd;   /* where agents are started; NULL: in the root */
	const char *tape_socket; /* NULL: there is no tape, or `ask` is it */
	const char *pub_socket;	 /* where the tape publishes; NULL: nowhere */
	const char *dir;	 /* state directory, for manager.db; NULL: what
				    is decided is kept in memory alone */
	enum mode mode;
	const struct policy *policy; /* NULL: policy_defaults */
	const char *prices;  /* JSON text that overrides rows of the price
				table (cost.h); NULL: none */
	bool subscriptions;  /* rewrite in place under a subscription login,
				too; else only notes are appended there */
	wire_transport *ask; /* instead of tape_socket */
	void *ask_ctx;
	/* One sentence for the log; may be called from any thread. */
	void (*say)(void *ctx, const char *sentence);
	void *say_ctx;
};

/*
 * -EINVAL: an option makes no sense, -EBADMSG: manager.db is none or a newer
 * program's; *ret_why (free it) is a sentence, if given.
 */
int brain_new(const struct brain_options *o, struct brain **ret,
	      char **ret_why);
/* When every turn has ended. */
void brain_free(struct brain *b);

struct header {
	const char *name; /* any case */
	const char *value;
};

struct request {
	const char *method;
	const char *target; /* path and query, as received */
	const struct header *headers;
	size_t headers_count;
	const char *body; /* decoded; not NUL-terminated */
	size_t len;
	int64_t at_ns;	     /* CLOCK_REALTIME when the body was complete */
	int64_t deadline_ns; /* CLOCK_MONOTONIC: answer by then */
};

/*
 * The body to send instead, or NULL: the one received. `ret_len` is set with
 * it. *ret_turn is always set and is to be ended with turn_end(); the body
 * returned lives as long, or until turn_drop_body().
 */
const char *brain_think(struct brain *b, const struct request *r,
			size_t *ret_len, struct turn **ret_turn);

/* A request passes that the brain was not shown: why, to be counted. */
void brain_passed(struct brain *b, const char *why);

/*
 * The request is on its way; the reply's first byte is not. What was decided
 * is kept now, while upstream thinks: a process that dies before has answered
 * nobody, so no reply rests on what it forgot. Left out, turn_end() does it.
 */
void turn_sent(struct turn *t);
/* Nobody will send the body again. NULL: no turn, nothing to do. */
void turn_drop_body(struct turn *t);
/*
 * The body returned was not sent, the one received was: it came after the
 * deadline, or could not be coded. No promise to send it again was made.
 */
void turn_unsent(struct turn *t);
/*
 * Upstream refused the rewritten body (400, 413, 422): the original is being
 * sent instead, and this conversation is left alone from now on.
 */
void turn_refused(struct turn *t, int status);
/* The reply, as it passes: status first, then decoded bytes in any pieces. */
void turn_status(struct turn *t, int status, const char *content_type);
void turn_reply(struct turn *t, const char *bytes, size_t len);
/* The reply is over; `whole`: nothing was cut off. Frees the turn. */
void turn_end(struct turn *t, bool whole);

#endif
