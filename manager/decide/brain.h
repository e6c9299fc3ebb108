/*
 * The interface between the proxy (http/) and the decisions: a request's body
 * goes in, the body to send comes out, and the reply passes by. A turn is one
 * request and its reply.
 *
 * No call fails towards the proxy: on any error the result is "send the body
 * received", and the reason is counted.
 *
 * Any thread may call brain_think(); a turn belongs to the thread that got it.
 * Requests of one conversation are processed one after the other. The brain
 * keeps no pointer into the request after brain_think() returns.
 */
#ifndef STATETAPE_MANAGER_DECIDE_BRAIN_H
#define STATETAPE_MANAGER_DECIDE_BRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "manager/decide/mode.h"
#include "tape/wire/wire.h"

struct brain;
struct plan;
struct policy;
struct turn;

/* Strings are copied. The comments say what a zeroed member means. */
struct brain_options {
	const char *repo;  /* the repository's root, canonical */
	const char *other; /* its root by another path (its mountpoint, or over
			      a symbolic link); NULL: none */
	const char *cwd;   /* where agents are started; NULL: in the root */
	const char *tape_socket; /* NULL: no tape, or it is asked by `ask` */
	const char *pub_socket;	 /* where the tape publishes; NULL: nowhere */
	const char *dir;	 /* state directory, for manager.db; NULL:
				    decisions are kept in memory only */
	enum mode mode;
	const struct policy *policy; /* NULL: policy_defaults */
	const char *prices; /* JSON text that overrides rows of the price
			       table (cost.h); NULL: none */
	bool no_prompts;    /* tell the tape no words of the user's prompts */
	const char *run;    /* names the run that it is part of, also after a
			       restart; NULL: none */
	uint64_t keep_days, keep_bytes; /* of manager.db: archive_keep() */
	bool subscriptions;  /* replace in place under subscription logins
				too; else these get notes only */
	wire_transport *ask; /* instead of tape_socket */
	void *ask_ctx;
	/* For benches: sees each plan that was made, while its conversation is
	   locked (plan.h); NULL: nobody does. */
	void (*planned)(void *ctx, struct plan *p);
	void *planned_ctx;
	/* One sentence for the log; may be called from any thread. */
	void (*say)(void *ctx, const char *sentence);
	void *say_ctx;
};

/*
 * -EINVAL: an invalid option; -EBADMSG: manager.db is no archive or a newer
 * program's. *ret_why (free it) is a sentence, if given.
 */
int brain_new(const struct brain_options *o, struct brain **ret,
	      char **ret_why);
/* Only after every turn has ended. */
void brain_free(struct brain *b);

struct header {
	const char *name; /* in any case */
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
	int64_t deadline_ns; /* CLOCK_MONOTONIC: decide nothing new after it;
				INT64_MAX: no limit; 0: inquiry.h's */
	/*
	 * The process that made it, asked for only where the client names no
	 * conversation; NULL: not known. 0: it was found.
	 */
	int (*caller)(void *ctx, uint32_t *ret_pid, uint64_t *ret_start);
	void *caller_ctx;
};

/*
 * Returns the body to send and sets *ret_len, or returns NULL: send the body
 * received. What was sent before is in it however late or dead the tape is.
 * *ret_turn is always set; end it with turn_end(). The body returned lives
 * until then, or until turn_drop_body().
 */
const char *brain_think(struct brain *b, const struct request *r,
			size_t *ret_len, struct turn **ret_turn);

/* Count a request that is passed on without brain_think(), by reason. */
void brain_passed(struct brain *b, const char *why);

/*
 * The request was sent, and no byte of the reply was passed on yet: save the
 * decisions while the model works. A process that dies earlier has answered no
 * client, so no reply depends on a decision that is lost. turn_end() does this
 * if it was not called.
 */
void turn_sent(struct turn *t);
/* The process that made the request; once, where the tape is to know it. */
bool turn_wants_agent(const struct turn *t);
void turn_agent(struct turn *t, uint32_t pid, uint64_t start);
/* Free the body: it will not be sent again. Accepts NULL. */
void turn_drop_body(struct turn *t);
/*
 * The body received was sent instead of the one returned, which could not be
 * encoded, or was refused by an upstream that refuses the one received as well.
 * The decisions go with the next request.
 */
void turn_unsent(struct turn *t, const char *why);
/*
 * Upstream refused the rewritten body (400, 413, 422), and took the one
 * received. What was newly decided is withdrawn, and its records are left alone
 * from now on; if that happens again, or nothing was new, no request of this
 * conversation is rewritten any more.
 */
void turn_refused(struct turn *t, int status);
/* The reply: its status, then decoded bytes in blocks of any size. */
void turn_status(struct turn *t, int status, const char *content_type);
void turn_reply(struct turn *t, const char *bytes, size_t len);
/* The reply ended; `whole`: it is complete. Frees the turn. */
void turn_end(struct turn *t, bool whole);

#endif
