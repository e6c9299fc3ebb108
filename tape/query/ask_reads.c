/*
 * READSET: the paths that processes opened, listed or missed, as the fs process
 * recorded them.
 */
#include <errno.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "tape/query/answers_i.h"

static cJSON *reads_question(const cJSON *q)
{
	cJSON *o = json_object(NULL, NULL);

	json_put_number(o, "pid", json_number(q, "pid", 0));
	json_put_bool(o, "tree", true);
	json_put_number(o, "from_ns", json_number(q, "from_ns", 0));
	json_put_number(o, "to_ns", json_number(q, "to_ns", 0));
	return o;
}

static bool is_left_out(const cJSON *process, const cJSON *without)
{
	const char *comm = json_string(process, "comm");
	const cJSON *item;

	cJSON_ArrayForEach (item, without) {
		const char *name = cJSON_GetStringValue(item);

		if (name && comm && strcmp(name, comm) == 0)
			return true;
	}
	return false;
}

int ask_readset(struct answers *a, const cJSON *q, cJSON *ret)
{
	CLEANUP(json_p) cJSON *about = reads_question(q);
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *without = json_member(q, "without");
	cJSON *processes, *item, *next;
	const char *why;
	int r;

	if (!a->config.reads)
		return answers_refuse_offline(ret);
	r = a->config.reads(a->config.ctx, about, &answer);
	if (r == ANSWERS_LATER)
		return r;
	if (r == -ECONNREFUSED)
		return answers_refuse(
			ret, r,
			"Nothing is mounted; reads are recorded only "
			"under a mount.");
	why = json_string(answer, "error");
	if (r == -EREMOTEIO && why)
		return answers_refuse(ret, r, "%s", why);
	if (r < 0)
		return r;
	processes =
		cJSON_DetachItemFromObjectCaseSensitive(answer, "processes");
	if (!cJSON_IsArray(processes)) {
		cJSON_Delete(processes);
		return -EBADMSG;
	}
	for (item = processes->child; item; item = next) {
		next = item->next;
		if (is_left_out(item, without))
			cJSON_Delete(
				cJSON_DetachItemViaPointer(processes, item));
	}
	json_put(ret, "processes", processes);
	json_put_number(ret, "forgotten", json_number(answer, "forgotten", 0));
	return 0;
}
