#include "manager/policy/policy.h"

#include <stdlib.h>
#include <string.h>

const char *const action_names[ACTIONS] = { "KEEP", "REFRESH", "DROP", "RERUN",
					    "ANNOTATE" };

void policy_retrieve(policy_regions *to, const struct policy_region *r)
{
	struct policy_region copy = *r;

	copy.path = must_strdup(r->path);
	copy.reason = must_strdup(r->reason ? r->reason : "");
	array_push(to, copy);
}

void policy_regions_release(policy_regions *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		free(l->at[i].path);
		free(l->at[i].reason);
	}
	array_release(l);
}

/* `statetape` is the one that users get. */
static const struct {
	const char *name;
	const struct policy *policy;
} all[] = {
	{ "statetape", &policy_defaults },
	{ "defaults", &policy_defaults },
	{ "control", &policy_control },
};

const char *policy_list(void)
{
	return "there are statetape, defaults and control";
}

const struct policy *policy_find(const char *name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].name, name) == 0)
			return all[i].policy;
	return NULL;
}
