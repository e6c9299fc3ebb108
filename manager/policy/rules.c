/*
 * What is finished with, and what the next step needs, without a model. Each
 * record is judged by what it shows and how near that is to what the agent is
 * at (rules_focus.c); the weights were fitted on recorded sessions
 * (rules_weights.c). What was never needed in such a situation is evicted.
 */
#include <math.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "manager/policy/rules_i.h"

/* The probability that a record is not needed any more. */
static double judge(const double *features)
{
	double sum = 0;

	for (int i = 0; i < FEATURES; i++)
		sum += rules_weights[i] * features[i];
	return 1 / (1 + exp(sum));
}

static void judge_all(const struct rules_focus *f, struct policy_out *out)
{
	const struct policy_in *in = f->in;
	double features[POLICY_FEATURES] = { 0 };

	for (uint32_t i = 0; i < in->count; i++) {
		rules_features(f, i, features);
		if (in->features)
			memcpy(in->features + (size_t)i * POLICY_FEATURES,
			       features, sizeof(features));
		out->rank[i] = judge(features);
	}
}

static enum action choose(const struct policy_record *r, double rank)
{
	bool finished = rank > rules_threshold;

	switch (r->action) {
	case ACTION_REFRESH:
		return finished || r->superseded ? ACTION_DROP : ACTION_REFRESH;
	case ACTION_DROP:
		return finished ? ACTION_DROP : ACTION_ANNOTATE;
	case ACTION_RERUN:
		return r->kind == RECORD_RUN ? ACTION_RERUN : ACTION_ANNOTATE;
	case ACTION_KEEP:
	case ACTION_ANNOTATE:
	case ACTIONS:
		break;
	}
	return r->action;
}

static int decide_rules(const struct policy_in *in, struct policy_out *out)
{
	struct rules_focus f;
	int rc = rules_focus_init(&f, in);

	if (rc == 0)
		judge_all(&f, out);
	for (uint32_t i = 0; rc == 0 && i < in->count; i++) {
		out->actions[i] = choose(&in->records[i], out->rank[i]);
		out->evict[i] = out->rank[i] > rules_threshold;
	}
	rules_focus_release(&f);
	return rc;
}

const struct policy policy_rules = { "rules", decide_rules, true };
