/*
 * A question about what a manager did: put to the running one; where none
 * runs, answered from the archive it left.
 */
#ifndef STATETAPE_TOOLS_VERB_MANAGER_ASK_H
#define STATETAPE_TOOLS_VERB_MANAGER_ASK_H

#include <stdio.h>

#include <cjson/cJSON.h>

struct invocation;

/*
 * EXIT_SUCCESS and *ret, or EXIT_FAILURE, and stderr says why. The repository
 * is the invocation's first argument.
 */
int manager_ask(const struct invocation *in, const char *ask,
		const cJSON *question, cJSON **ret);

/* The answer as JSON, or by `print`, as the invocation wants it. */
void manager_show(const struct invocation *in, const cJSON *answer,
		  void (*print)(FILE *out, const cJSON *answer));

#endif
