/*
 * statetape reads: the files that each process opened, listed or failed to
 * find, from the memory of the file system process.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

static void print_paths(const cJSON *process, const char *name, enum colour c,
			bool colours)
{
	const cJSON *path;

	cJSON_ArrayForEach (path, json_member(process, name)) {
		const char *text = cJSON_GetStringValue(path);

		(void)printf("  %s%-8s%s", colour_text(colours, c), name,
			     colour_text(colours, COLOUR_NONE));
		/* The root itself has an empty relative path. */
		(void)print_safe(stdout, text && *text ? text : ".");
		(void)putchar('\n');
	}
}

static void print_process(const cJSON *p, bool colours)
{
	const char *comm = cJSON_GetStringValue(json_member(p, "comm"));
	const char *cmdline = cJSON_GetStringValue(json_member(p, "cmdline"));

	(void)fputs(colour_text(colours, COLOUR_BOLD), stdout);
	(void)print_safe(stdout, comm && *comm ? comm : "?");
	(void)printf("[%.0f]%s", cJSON_GetNumberValue(json_member(p, "pid")),
		     colour_text(colours, COLOUR_NONE));
	if (cmdline && *cmdline) {
		(void)printf(" %s", colour_text(colours, COLOUR_DIM));
		(void)print_safe(stdout, cmdline);
		(void)fputs(colour_text(colours, COLOUR_NONE), stdout);
	}
	(void)putchar('\n');
	print_paths(p, "opened", COLOUR_GREEN, colours);
	print_paths(p, "listed", COLOUR_CYAN, colours);
	print_paths(p, "missed", COLOUR_YELLOW, colours);
}

static void print_answer(const cJSON *answer)
{
	bool colours = colour_wanted(stdout);
	double forgotten =
		cJSON_GetNumberValue(json_member(answer, "forgotten"));
	const cJSON *process;

	cJSON_ArrayForEach (process, json_member(answer, "processes"))
		print_process(process, colours);
	if (forgotten > 0)
		(void)printf("%s%.0f entries were dropped to limit memory%s\n",
			     colour_text(colours, COLOUR_RED), forgotten,
			     colour_text(colours, COLOUR_NONE));
}

static int ask(const struct invocation *in, const struct state *s, cJSON **ret)
{
	CLEANUP(json_p) cJSON *question = must_have(cJSON_CreateObject());
	const struct option_value *pid = &in->options[OPTION_PID];

	must_have(
		cJSON_AddNumberToObject(question, "pid", (double)pid->number));
	must_have(cJSON_AddBoolToObject(question, "tree",
					in->options[OPTION_TREE].given));
	return repo_ask(s, "READS", question, ret);
}

int verb_reads(const struct invocation *in)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	CLEANUP(json_p) cJSON *answer = NULL;
	const struct option_value *pid = &in->options[OPTION_PID];
	int r;

	if (pid->given && (pid->number == 0 || pid->number > INT32_MAX))
		return say_usage_error("--pid wants a process number");
	if (in->options[OPTION_TREE].given && !pid->given)
		return say_usage_error("--tree needs --pid N, the process "
				       "whose descendants to show");
	if (repo_find(in->arguments[0], &s) < 0)
		return EXIT_FAILURE;
	r = ask(in, &s, &answer);
	if (r == -ECONNREFUSED)
		return say_error("'%s' is not mounted; reads are recorded only "
				 "while it is mounted",
				 s.repo);
	if (r < 0)
		return EXIT_FAILURE;
	if (in->options[OPTION_JSON].given) {
		CLEANUP(free_p)
		char *text = must_have(cJSON_PrintUnformatted(answer));

		(void)puts(text);
	} else {
		print_answer(answer);
	}
	return EXIT_SUCCESS;
}
