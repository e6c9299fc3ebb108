/* What brain.c shares with report.c, and with nobody else. */
#ifndef STATETAPE_MANAGER_DECIDE_BRAIN_I_H
#define STATETAPE_MANAGER_DECIDE_BRAIN_I_H

#include "manager/decide/archive.h"
#include "manager/decide/brain.h"
#include "manager/decide/conversation.h"
#include "manager/policy/policy.h"
#include "manager/transcript/sse.h"
#include "manager/transcript/transcript.h"

struct links;
struct subscribe;

struct brain {
	pthread_mutex_t lock;
	struct conversation *conversations; /* protected by lock */
	struct archive *archive;
	struct prices prices;
	const struct policy *policy;
	enum mode mode;
	bool subscriptions;
	char *repo, *other, *cwd;
	struct links *links; /* to the tape; NULL: another way is given */
	struct subscribe *subscribe; /* to the tape's entries; NULL: not */
	wire_transport *ask;
	void *ask_ctx;
	void (*say)(void *ctx, const char *sentence);
	void *say_ctx;
};

struct turn {
	struct brain *b;
	struct conversation *c; /* NULL: nothing is known of it */
	enum dialect dialect;
	struct sse *sse;
	int status;
	char *body;
	uint32_t request;  /* of the conversation */
	struct head *head; /* of its lineage */
	int64_t predicted; /* tokens the cache should read; -1: who knows */
	bool settled;	   /* the tape was asked about all that is new */
	bool unkept;	   /* what was decided is in our own head only */
	struct decided_list decided;
	struct archive_request row; /* to be kept with it */
	int64_t at_ns, began_ns;
	int64_t shown_ns; /* when the reply was last heard, 0: not at all */
};

/* One sentence for the log. */
__attribute__((format(printf, 2, 3))) void brain_say(struct brain *b,
						     const char *format, ...);

/*
 * The conversation of that key, not to be forgotten until it is left. `at_ns`
 * is when it made its request, 0: it makes none.
 */
struct conversation *brain_conversation(struct brain *b, const char *key,
					int64_t at_ns);
void brain_leave(struct brain *b, struct conversation *c);

#endif
