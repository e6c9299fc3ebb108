/* statetape log, show, export: print entries of the tape. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tools/cli/pager.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/cli/when.h"
#include "tools/verb/entry_text.h"
#include "tools/verb/tape.h"

#define PAGE 200

static void put_bytes(cJSON *q, const char *name, const struct option_value *o)
{
	if (o->given)
		json_put_bytes(q, name, o->text);
}

/* On failure prints a message and returns false. */
static bool put_time(cJSON *q, const char *name, const char *option,
		     const struct option_value *o)
{
	int64_t ns;

	if (!o->given)
		return true;
	if (when_parse(o->text, clock_wall_ns(), &ns) < 0) {
		(void)say_usage_error(
			"%s wants a date such as 2026-01-31, "
			"\"2026-01-31 18:30\" or \"2 hours ago\", "
			"not '%s'",
			option, o->text);
		return false;
	}
	json_put_number(q, name, ns > 0 ? (uint64_t)ns : 1);
	return true;
}

/* The question for these options; NULL: invalid, with a message. */
static cJSON *log_question(const struct invocation *in)
{
	cJSON *q = json_object(NULL, NULL);
	const struct option_value *pid = &in->options[OPTION_PID];

	put_bytes(q, "path", &in->options[OPTION_PATH]);
	put_bytes(q, "symbol", &in->options[OPTION_SYMBOL]);
	put_bytes(q, "author", &in->options[OPTION_AUTHOR]);
	if (pid->given)
		json_put_number(q, "pid", pid->number);
	if (put_time(q, "since_ns", "--since", &in->options[OPTION_AFTER]) &&
	    put_time(q, "until_ns", "--until", &in->options[OPTION_UNTIL]))
		return q;
	cJSON_Delete(q);
	return NULL;
}

static void print_json(const cJSON *e)
{
	CLEANUP(free_p) char *line = must_have(cJSON_PrintUnformatted(e));

	(void)puts(line);
}

/* Print one page of the log. Returns the number to continue before, 0: done. */
static uint64_t print_page(struct tape_reader *t, const cJSON *answer,
			   const struct entry_style *style, bool json)
{
	const cJSON *e;
	uint64_t last = 0;

	cJSON_ArrayForEach (e, json_member(answer, "entries")) {
		last = json_number(e, "n", 0);
		if (json) {
			print_json(e);
			continue;
		}
		entry_print(stdout, e, *style, t);
		(void)fputc('\n', stdout);
	}
	return cJSON_IsTrue(json_member(answer, "more")) ? last : 0;
}

static int print_log(struct tape_reader *t, cJSON *q, uint64_t count,
		     const struct entry_style *style, bool json)
{
	uint64_t before = 0;
	int r;

	do {
		CLEANUP(json_p) cJSON *answer = NULL;
		uint64_t limit = count < PAGE ? count : PAGE;

		cJSON_DeleteItemFromObjectCaseSensitive(q, "limit");
		cJSON_DeleteItemFromObjectCaseSensitive(q, "before");
		json_put_number(q, "limit", limit);
		if (before)
			json_put_number(q, "before", before);
		r = tape_ask(t, "LOG", q, &answer);
		if (r < 0)
			return r;
		before = print_page(t, answer, style, json);
		count -= limit;
	} while (before && count && !ferror(stdout));
	return 0;
}

int verb_log(const struct invocation *in)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	CLEANUP(json_p) cJSON *q = NULL;
	const struct option_value *count = &in->options[OPTION_COUNT];
	bool json = in->options[OPTION_JSON].given;
	struct entry_style style = { .patch = in->options[OPTION_PATCH].given };
	struct pager pager = { .pid = 0 };
	int r;

	if (in->options[OPTION_PID].number > INT32_MAX)
		return say_usage_error("--pid wants a process number");
	q = log_question(in);
	if (!q)
		return EXIT_USAGE;
	if (tape_open_for(in, in->arguments[0], json, &t) < 0)
		return EXIT_FAILURE;
	if (!json)
		pager_begin(&pager);
	style.terminal = pager.terminal;
	style.colours = pager.colours;
	r = print_log(&t, q, count->given ? count->number : UINT64_MAX, &style,
		      json);
	pager_end(&pager);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A whole number from 1. */
static bool entry_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *ret;
}

int verb_show(const struct invocation *in)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	bool json = in->options[OPTION_JSON].given;
	struct pager pager;
	uint64_t n;

	if (!entry_number(in->arguments[0], &n))
		return say_usage_error("show wants the number of an entry, not "
				       "'%s'",
				       in->arguments[0]);
	json_put_number(q, "n", n);
	if (tape_open_for(in, in->arguments[1], json, &t) < 0 ||
	    tape_ask(&t, "SHOW", q, &answer) < 0)
		return EXIT_FAILURE;
	if (json) {
		print_json(json_member(answer, "entry"));
		return EXIT_SUCCESS;
	}
	pager_begin(&pager);
	entry_print(stdout, json_member(answer, "entry"),
		    (struct entry_style){ .terminal = pager.terminal,
					  .colours = pager.colours,
					  .full = true,
					  .patch = true },
		    &t);
	pager_end(&pager);
	return EXIT_SUCCESS;
}

/* Export. */

static int export_all(struct tape_reader *t, bool csv)
{
	uint64_t n = 0;
	bool more = true;

	if (csv)
		entry_print_csv_head(stdout);
	while (more && !ferror(stdout)) {
		CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
		CLEANUP(json_p) cJSON *answer = NULL;
		const cJSON *e;
		int r;

		json_put_number(q, "n", n);
		json_put_number(q, "limit", PAGE);
		r = tape_ask(t, "SINCE", q, &answer);
		if (r < 0)
			return r;
		cJSON_ArrayForEach (e, json_member(answer, "entries")) {
			n = json_number(e, "n", n);
			if (csv)
				entry_print_csv(stdout, e);
			else
				print_json(e);
		}
		more = cJSON_IsTrue(json_member(answer, "more"));
	}
	return 0;
}

int verb_export(const struct invocation *in)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	const char *format = in->options[OPTION_FORMAT].given
				     ? in->options[OPTION_FORMAT].text
				     : "jsonl";
	bool csv = strcmp(format, "csv") == 0;

	if (!csv && strcmp(format, "jsonl") != 0)
		return say_usage_error("--format wants jsonl or csv, not '%s'",
				       format);
	if (tape_open_for(in, in->arguments[0], true, &t) < 0 ||
	    export_all(&t, csv) < 0)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
