/*
 * A conversation between an agent and its model, turn by turn, written as a
 * request body of any dialect in the way the clients write it: reasoning with
 * signatures, calls, results in another order than the calls, cache marks,
 * system text between the messages.
 *
 * For one thread. Strings are copied.
 */
#ifndef STATETAPE_TESTS_SUPPORT_TALK_H
#define STATETAPE_TESTS_SUPPORT_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "manager/transcript/transcript.h"

struct talk_call {
	char *id, *tool;
	char *arguments; /* JSON; of a tool named "exec", JavaScript */
	char *head;	 /* the client's text before it; or "" */
	char *result;
};

struct talk_turn {
	char *user;		       /* or NULL: */
	ARRAY(struct talk_call) calls; /* the assistant's, with results */
	bool reversed;		       /* results in reverse order */
	bool prompted;		       /* a system message follows */
};

struct talk {
	enum dialect dialect;
	const char *id; /* of the session; the caller's */
	uint32_t ids;	/* given to calls so far */
	ARRAY(struct talk_turn) turns;
};

void talk_release(struct talk *t);
void talk_user(struct talk *t, const char *text);
/* Begin a turn with calls; then add each. Returns the call's id. */
void talk_turn(struct talk *t, bool reversed, bool prompted);
const char *talk_call(struct talk *t, const char *tool, const char *arguments,
		      const char *head, const char *result);
/* Keep the first `turns` only. */
void talk_rewind(struct talk *t, uint32_t turns);

/* The body (free it). */
char *talk_body(const struct talk *t, size_t *ret_len);

#endif
