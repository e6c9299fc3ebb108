/*
 * One question to another process that the caller does not wait for: it polls
 * the call's descriptor beside others, and steps. For one thread at a time.
 */
#ifndef STATETAPE_TAPE_WIRE_CALL_H
#define STATETAPE_TAPE_WIRE_CALL_H

#include <cjson/cJSON.h>

struct wire_call;
struct pollfd;

/*
 * Ask the server at `path`; `question` as in wire_ask(). -ECONNREFUSED: there
 * is none. -ETIMEDOUT: so many clients wait for it that no more can.
 */
int wire_call_new(const char *path, const char *ask, const cJSON *question,
		  struct wire_call **ret);
void wire_call_free(struct wire_call *c);

/* What to poll for. */
struct pollfd wire_call_poll(const struct wire_call *c);
/* -EAGAIN: no answer yet. Else as wire_ask(), once. */
int wire_call_step(struct wire_call *c, cJSON **ret);

#endif
