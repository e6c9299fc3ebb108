/*
 * statetape explain: one request before and after the manager changed it, with
 * each decision and its reason; or one line for each request of a conversation.
 */
#include <stdbool.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/report/explain.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/manager_ask.h"

static bool has(const cJSON *answer, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(answer, name) != NULL;
}

static int none_found(const struct invocation *in, const cJSON *answer)
{
	const char *key = in->options[OPTION_CONVERSATION].text;
	const char *found = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(answer, "conversation"));

	if (found)
		return say_error(
			"conversation %.12s has no request %llu; "
			"'statetape explain' lists those it has",
			found,
			(unsigned long long)in->options[OPTION_REQUEST].number);
	if (key)
		return say_error("there is no conversation whose key begins "
				 "with '%s'",
				 key);
	return say_error("no request has gone through the manager yet");
}

int verb_explain(const struct invocation *in)
{
	CLEANUP(json_p) cJSON *question = must_have(cJSON_CreateObject());
	CLEANUP(json_p) cJSON *answer = NULL;
	const struct option_value *which = &in->options[OPTION_CONVERSATION];
	const struct option_value *number = &in->options[OPTION_REQUEST];
	int code;

	if (which->given)
		must_have(cJSON_AddStringToObject(question, "conversation",
						  which->text));
	if (number->given)
		must_have(cJSON_AddNumberToObject(question, "request",
						  (double)number->number));
	code = manager_ask(in, "EXPLAIN", question, &answer);
	if (code != EXIT_SUCCESS)
		return code;
	if (!has(answer, number->given ? "request" : "requests"))
		return none_found(in, answer);
	manager_show(in, answer, explain_print);
	return EXIT_SUCCESS;
}
