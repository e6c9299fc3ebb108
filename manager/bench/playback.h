/*
 * A trace played to the manager: each turn of the session is a request to the
 * brain (decide/brain.h), whose tape has the session's edits. At the decision
 * points the prediction is what the policy chose then. It is the code of a live
 * run, with the mode off, so that each point is decided with all records held.
 */
#ifndef STATETAPE_MANAGER_BENCH_PLAYBACK_H
#define STATETAPE_MANAGER_BENCH_PLAYBACK_H

#include "manager/bench/prediction.h"
#include "tape/wire/wire.h"

struct policy;
struct trace;
struct trace_point;
struct trace_record;
struct world;

struct playback {
	const struct trace *trace;
	struct world *world; /* as before the first record; all edits are
				applied to it */
	const struct policy *policy;
	const char *repo; /* absolute path of the files that the tape follows */
	wire_transport *ask; /* the tape */
	void *ask_ctx;
	/* The edit was applied to `world`: make the same change in `repo`.
	   A negative errno ends the playing. */
	int (*wrote)(void *ctx, const struct world *w, const char *path);
	/* A decision point, with what the policy chose. */
	int (*decided)(void *ctx, const struct trace_point *at,
		       const struct prediction *p);
	void *ctx;
};

/* 0, or a negative errno; *ret_why (free it) is a sentence then. */
int playback_run(const struct playback *p, char **ret_why);

#endif
