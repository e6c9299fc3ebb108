#include "manager/policy/policy.h"

#include <string.h>

const char *const action_names[ACTIONS] = { "KEEP", "REFRESH", "DROP", "RERUN",
					    "ANNOTATE" };

/* `statetape` is the one that users get. */
static const struct {
	const char *name;
	const struct policy *policy;
} all[] = {
	{ "statetape", &policy_defaults },
	{ "defaults", &policy_defaults },
	{ "rules", &policy_rules },
	{ "control", &policy_control },
};

const char *policy_list(void)
{
	return "there are statetape (the same as defaults), rules and "
	       "control";
}

const struct policy *policy_find(const char *name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].name, name) == 0)
			return all[i].policy;
	return NULL;
}
