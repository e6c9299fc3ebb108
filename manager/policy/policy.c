#include "manager/policy/policy.h"

#include <string.h>

const char *const action_names[ACTIONS] = { "KEEP", "REFRESH", "DROP", "RERUN",
					    "ANNOTATE" };

const struct policy *policy_find(const char *name)
{
	static const struct policy *const all[] = { &policy_defaults,
						    &policy_control };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
}
