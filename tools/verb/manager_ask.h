/*
 * Questions about what a manager did. The running manager answers; if none
 * runs, its archive is read.
 */
#ifndef STATETAPE_TOOLS_VERB_MANAGER_ASK_H
#define STATETAPE_TOOLS_VERB_MANAGER_ASK_H

#include <stdio.h>

#include <cjson/cJSON.h>

struct invocation;

/*
 * Ask about the repository that the invocation's first argument names. Returns
 * EXIT_SUCCESS and *ret (cJSON_Delete it), or prints a message and returns
 * EXIT_FAILURE.
 */
int manager_ask(const struct invocation *in, const char *ask,
		const cJSON *question, cJSON **ret);

/* Print the answer: as JSON if the invocation has --json, else by `print`. */
void manager_show(const struct invocation *in, const cJSON *answer,
		  void (*print)(FILE *out, const cJSON *answer));

#endif
