/*
 * The records of a trace as the body of a request in the Anthropic dialect: the
 * transcript that the live code reads. A call's id is its record's id. Paths
 * are relative to the repository.
 */
#ifndef STATETAPE_MANAGER_BENCH_BODY_H
#define STATETAPE_MANAGER_BENCH_BODY_H

#include <stdint.h>

#include "graph/base/buf.h"

struct trace;
struct world;

struct body {
	const struct trace *trace;
	struct buf messages; /* whole ones, separated by commas */
	struct buf said;     /* blocks of the assistant's open message */
	struct buf results;  /* blocks of the user's message behind it */
};

void body_init(struct body *b, const struct trace *t);
void body_release(struct body *b);
/*
 * Append record `i`; its edit was applied to `w` before. A write that is not in
 * the agent's context adds nothing.
 */
void body_add(struct body *b, uint32_t i, const struct world *w);
/* The turn is over: what was added since the last call are its messages. */
void body_turn(struct body *b);
/* The whole body, replacing what `ret` held. */
void body_whole(const struct body *b, struct buf *ret);

#endif
