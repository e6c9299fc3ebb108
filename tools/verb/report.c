/*
 * statetape report, statetape context: the manager's actions, and the records
 * that agents hold. A running manager answers; without one its archive is read.
 */
#include <stdio.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/report_text.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/manager_ask.h"

static int show(const struct invocation *in, const char *ask,
		const cJSON *question, void (*print)(FILE *, const cJSON *))
{
	CLEANUP(json_p) cJSON *answer = NULL;
	int code = manager_ask(in, ask, question, &answer);

	if (code == EXIT_SUCCESS)
		manager_show(in, answer, print);
	return code;
}

int verb_report(const struct invocation *in)
{
	return show(in, "REPORT", NULL, report_print);
}

int verb_context(const struct invocation *in)
{
	CLEANUP(json_p) cJSON *question = must_have(cJSON_CreateObject());
	const struct option_value *which = &in->options[OPTION_CONVERSATION];

	if (which->given)
		must_have(cJSON_AddStringToObject(question, "conversation",
						  which->text));
	return show(in, "CONTEXT", question, report_print_context);
}
