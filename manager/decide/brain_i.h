/* What brain.c shares with report.c, and with nobody else. */
#ifndef STATETAPE_MANAGER_DECIDE_BRAIN_I_H
#define STATETAPE_MANAGER_DECIDE_BRAIN_I_H

#include "manager/decide/archive.h"
#include "manager/decide/brain.h"
#include "manager/decide/conversation.h"
#include "manager/decide/links.h"
#include "manager/policy/policy.h"

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
	brain_ask *ask;
	void *ask_ctx;
	void (*say)(void *ctx, const char *sentence);
	void *say_ctx;
};

/*
 * The conversation of that key, not to be forgotten until it is left. `at_ns`
 * is when it made its request, 0: it makes none.
 */
struct conversation *brain_conversation(struct brain *b, const char *key,
					int64_t at_ns);
void brain_leave(struct brain *b, struct conversation *c);

#endif
