#include "tools/cli/report_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/fit.h"
#include "tools/cli/say.h"
#include "tools/cli/terminal.h"

#define ROOM_MAX 4096 /* of a line that goes to another program */

void report_print(FILE *out, const cJSON *answer)
{
	const cJSON *t = json_member(answer, "tokens");
	const cJSON *cost = json_member(answer, "cost");
	const cJSON *latency = json_member(answer, "latency_us");
	const cJSON *passed = json_member(answer, "passed");
	double requests = json_double(answer, "requests", 0);
	double talks = json_double(answer, "conversations", 0);
	const cJSON *at;

	(void)fprintf(out,
		      "%.0f request%s of %.0f conversation%s, %.0f rewritten; "
		      "tokens over all of them,\n"
		      "  estimated as four bytes each:\n",
		      requests, requests == 1 ? "" : "s", talks,
		      talks == 1 ? "" : "s",
		      json_double(answer, "rewritten", 0));
	(void)fprintf(out, "  received %.0f tokens, sent %.0f\n",
		      json_double(t, "received", 0), json_double(t, "sent", 0));
	(void)fprintf(out,
		      "  held %.0f, of which stale %.0f would have been sent "
		      "as they were\n",
		      json_double(t, "held", 0), json_double(t, "stale", 0));
	(void)fprintf(out,
		      "  refreshed %.0f, dropped %.0f, rerun %.0f, notes %.0f, "
		      "evicted %.0f, retrieved %.0f\n",
		      json_double(t, "refreshed", 0),
		      json_double(t, "dropped", 0), json_double(t, "rerun", 0),
		      json_double(t, "notes", 0), json_double(t, "evicted", 0),
		      json_double(t, "retrieved", 0));
	(void)fprintf(out,
		      "  cost %.0f with, %.0f without, ratio %.2f; cached "
		      "tokens written anew %.0f\n",
		      json_double(cost, "with", 0),
		      json_double(cost, "without", 0),
		      json_double(cost, "ratio", 0),
		      json_double(answer, "cache_rewrites", 0));
	(void)fprintf(out, "  latency added: p50 %.1f ms, p99 %.1f ms\n",
		      json_double(latency, "p50", 0) / 1000,
		      json_double(latency, "p99", 0) / 1000);
	if (json_double(answer, "strangers", 0) > 0)
		(void)fprintf(out,
			      "  refused at the port, not the agent's own: "
			      "%.0f\n",
			      json_double(answer, "strangers", 0));
	if (passed && passed->child)
		(void)fprintf(out, "  passed on without anything new:\n");
	cJSON_ArrayForEach (at, passed)
		(void)fprintf(out, "    %s: %.0f\n", at->string,
			      at->valuedouble);
}

/* Columns before what a record is, and of the lines that follow it. */
#define RECORD_COLUMN 34

static void print_sentence(FILE *out, const char *sentence, size_t room)
{
	(void)fprintf(out, "%*s", RECORD_COLUMN, "");
	print_wrapped(out, sentence, RECORD_COLUMN, RECORD_COLUMN, room);
}

/* A row for the record, and one for what became of it if it is stale. */
static void print_record(FILE *out, const cJSON *r, size_t room)
{
	const char *path = json_string_or(r, "path", "");
	const char *action = json_string_or(r, "action", "");
	const char *told = json_string_or(r, "told", "");
	const char *place = json_string_or(r, "place", "");
	bool noted = *told && strcmp(told, "none") != 0;
	CLEANUP(free_p) char *lines = NULL, *what = NULL, *became = NULL;

	lines = json_double(r, "end_line", 0) > 0
			? format_text(":%.0f-%.0f",
				      json_double(r, "start_line", 0),
				      json_double(r, "end_line", 0))
			: format_text("%s", "");
	what = format_text("%s%s", *path ? path : json_string_or(r, "call", ""),
			   lines);
	(void)fprintf(
		out, "  %4.0f %-9s %-6s %8.0f  ", json_double(r, "request", 0),
		json_string_or(r, "state", ""), json_string_or(r, "kind", ""),
		json_double(r, "tokens", 0));
	(void)print_fitted(out, what, room - RECORD_COLUMN);
	(void)fputc('\n', out);
	if (!*action)
		return;
	became = format_text(
		"%s: %s%s%s%s%s%s%s", action, json_string_or(r, "why", ""),
		noted ? " [note: " : "", noted ? told : "", noted ? "]" : "",
		*place ? " [in place: " : "", place, *place ? "]" : "");
	print_sentence(out, became, room);
}

void report_print_context(FILE *out, const cJSON *answer)
{
	size_t room = terminal_room();
	const cJSON *c, *r;

	if (room == SIZE_MAX)
		room = ROOM_MAX;
	if (!cJSON_GetArraySize(json_member(answer, "conversations")))
		(void)fputs("No agent has asked its model through StateTape "
			    "here yet.\n",
			    out);
	cJSON_ArrayForEach (c, json_member(answer, "conversations")) {
		(void)fprintf(out, "%.12s %s %s, %.0f requests%s%s%s\n",
			      json_string_or(c, "key", ""),
			      json_string_or(c, "client", ""),
			      json_string_or(c, "model", ""),
			      json_double(c, "requests", 0),
			      cJSON_IsTrue(cJSON_GetObjectItem(c, "subagent"))
				      ? ", a sub-agent"
				      : "",
			      cJSON_IsTrue(cJSON_GetObjectItem(c, "left_alone"))
				      ? ", left alone"
				      : "",
			      cJSON_IsTrue(cJSON_GetObjectItem(c, "stopped"))
				      ? ", stopped"
				      : "");
		(void)fprintf(out, "  seen state     kind     tokens  what\n");
		cJSON_ArrayForEach (r, json_member(c, "records"))
			print_record(out, r, room);
	}
}

/*
 * A record that was marked and later replaced counts twice: it was kept from
 * the model twice.
 */
void report_print_brief(FILE *out, const cJSON *answer)
{
	double ratio = json_double(json_member(answer, "cost"), "ratio", 1);
	uint64_t n = json_number(answer, "told", 0) +
		     json_number(answer, "placed", 0);
	CLEANUP(free_p)
	char *results = count_text(n, "stale result", "stale results");

	(void)fprintf(out,
		      "%s kept from the model; cost %.2f of without "
		      "(statetape report)\n",
		      n ? results : "no stale result had to be", ratio);
}
