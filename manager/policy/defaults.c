/*
 * The tape's proposed actions: complete, deterministic, without a model. Two
 * exceptions: a record that a later one supersedes is dropped, not refreshed;
 * and a command that is neither a test nor a build is annotated, never asked to
 * be run again.
 */
#include "manager/policy/policy.h"

static int decide_defaults(const struct policy_in *in, struct policy_out *out)
{
	for (size_t i = 0; i < in->count; i++) {
		const struct policy_record *r = &in->records[i];

		out->actions[i] = r->action;
		if (r->action == ACTION_REFRESH && r->superseded)
			out->actions[i] = ACTION_DROP;
		if (r->action == ACTION_RERUN && r->kind != RECORD_RUN)
			out->actions[i] = ACTION_ANNOTATE;
	}
	return 0;
}

const struct policy policy_defaults = { "defaults", decide_defaults, false };
