/* The baseline: keep every record. */
#include "manager/policy/policy.h"

static int decide_control(const struct policy_in *in, struct policy_out *out)
{
	for (size_t i = 0; i < in->count; i++)
		out->actions[i] = ACTION_KEEP;
	return 0;
}

const struct policy policy_control = { "control", decide_control, false };
