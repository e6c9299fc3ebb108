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
#include "tools/cli/terminal.h"
#include "tools/cli/verbs.h"
#include "tools/cli/when.h"
#include "tools/cli/where.h"
#include "tools/verb/entry_text.h"
#include "tools/verb/log/group.h"
#include "tools/verb/log/paragraph.h"
#include "tools/verb/log/turns.h"
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

/* -- Log. */

enum log_form { FORM_COMMANDS, FORM_FILES, FORM_LINES, FORM_BARS, FORM_TURNS };

struct log_run {
	struct tape_reader tape;
	struct where where;
	struct entry_style style;
	enum log_form form;
	bool json;
	unsigned width;
	uint64_t left; /* paragraphs that may still be printed */
	bool any;      /* did the tape have any? */
	struct groups groups;
	struct turns turns;
};

static void log_release(struct log_run *l)
{
	groups_release(&l->groups);
	turns_release(&l->turns);
	where_release(&l->where);
	tape_release(&l->tape);
}

/* On failure prints a message and returns false. */
static bool read_form(const struct invocation *in, enum log_form *ret)
{
	static const struct {
		enum option_id option;
		enum log_form form;
	} forms[] = {
		{ OPTION_FILES, FORM_FILES },
		{ OPTION_ONELINE, FORM_LINES },
		{ OPTION_STAT, FORM_BARS },
		{ OPTION_TURNS, FORM_TURNS },
	};
	unsigned given = 0;

	*ret = FORM_COMMANDS;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (!in->options[forms[i].option].given)
			continue;
		*ret = forms[i].form;
		given++;
	}
	if (given > 1)
		(void)say_usage_error("--files, --oneline, --stat and --turns "
				      "exclude each other");
	else if (in->options[OPTION_PATCH].given && given && *ret != FORM_FILES)
		(void)say_usage_error("-p goes with --files or with none of "
				      "--oneline, --stat and --turns");
	else
		return true;
	return false;
}

static void print_group(struct log_run *l, const struct group *g)
{
	if (l->form == FORM_LINES) {
		paragraph_print_line(stdout, g, l->style, l->width);
		return;
	}
	if (l->form == FORM_BARS)
		paragraph_print_stat(stdout, g, l->style, l->width);
	else
		paragraph_print(stdout, g, l->style, &l->tape);
	(void)fputc('\n', stdout);
}

/* Those that are complete. */
static void print_groups(struct log_run *l, bool end)
{
	struct group *g;

	while (l->left && (g = groups_next(&l->groups, end))) {
		print_group(l, g);
		group_free(g);
		l->left--;
	}
}

/* Takes an entry. False: no more are wanted. */
static bool take_entry(struct log_run *l, cJSON *e)
{
	if (!l->json && l->form == FORM_TURNS)
		return turns_add(&l->turns, e, l->left);
	if (!l->json && l->form != FORM_FILES) {
		groups_add(&l->groups, e);
		print_groups(l, false);
		return l->left;
	}
	if (l->json) {
		print_json(e);
	} else {
		entry_print(stdout, e, l->style, &l->tape);
		(void)fputc('\n', stdout);
	}
	cJSON_Delete(e);
	return --l->left;
}

/* One page of the log. Returns the number to continue before, 0: done. */
static uint64_t take_page(struct log_run *l, cJSON *answer)
{
	cJSON *list = cJSON_DetachItemFromObject(answer, "entries");
	uint64_t last = 0;
	bool wanted = true;

	while (wanted && cJSON_GetArraySize(list)) {
		cJSON *e = cJSON_DetachItemFromArray(list, 0);

		last = json_number(e, "n", 0);
		l->any = true;
		wanted = take_entry(l, e);
	}
	cJSON_Delete(list);
	return wanted && cJSON_IsTrue(json_member(answer, "more")) ? last : 0;
}

/* A command may have many entries. */
static uint64_t page_of(const struct log_run *l)
{
	bool by_entry = l->json || l->form == FORM_FILES;

	return by_entry && l->left < PAGE ? l->left : PAGE;
}

static int print_log(struct log_run *l, cJSON *q)
{
	uint64_t before = 0;
	int r;

	if (!l->left)
		return 0;
	do {
		CLEANUP(json_p) cJSON *answer = NULL;

		cJSON_DeleteItemFromObjectCaseSensitive(q, "limit");
		cJSON_DeleteItemFromObjectCaseSensitive(q, "before");
		json_put_number(q, "limit", page_of(l));
		if (before)
			json_put_number(q, "before", before);
		r = tape_ask(&l->tape, "LOG", q, &answer);
		if (r < 0)
			return r;
		before = take_page(l, answer);
	} while (before && !ferror(stdout));
	print_groups(l, true);
	if (!l->any && !l->json)
		(void)puts("No changes on the tape match.");
	if (!l->json && l->form == FORM_TURNS)
		turns_print(stdout, &l->turns, l->style);
	return 0;
}

/* A glob from the current directory becomes one from the root. */
static bool put_path(cJSON *q, const struct log_run *l,
		     const struct option_value *o)
{
	CLEANUP(free_p) char *path = NULL;

	if (!o->given)
		return true;
	path = where_path(&l->where, o->text);
	if (!path)
		(void)say_error("'%s' is outside of '%s'", o->text,
				l->tape.state.repo);
	else if (*path)
		json_put_bytes(q, "path", path);
	return path;
}

int verb_log(const struct invocation *in)
{
	CLEANUP(log_release)
	struct log_run l = { .tape = TAPE_NONE, .left = UINT64_MAX };
	CLEANUP(json_p) cJSON *q = NULL;
	struct pager pager = { .pid = 0 };
	int r;

	if (in->options[OPTION_PID].number > INT32_MAX)
		return say_usage_error("--pid wants a process number");
	q = log_question(in);
	if (!q || !read_form(in, &l.form))
		return EXIT_USAGE;
	if (in->options[OPTION_COUNT].given)
		l.left = in->options[OPTION_COUNT].number;
	l.json = in->options[OPTION_JSON].given;
	l.style.patch = in->options[OPTION_PATCH].given;
	if (tape_open_for(in, in->arguments[0], l.json, &l.tape) < 0)
		return EXIT_FAILURE;
	tape_where(&l.tape, &l.where);
	l.style.where = &l.where;
	if (!put_path(q, &l, &in->options[OPTION_PATH]))
		return EXIT_FAILURE;
	l.width = terminal_width();
	if (!l.json)
		pager_begin(&pager);
	l.style.terminal = pager.terminal;
	l.style.colours = pager.colours;
	r = print_log(&l, q);
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

/* 1: nobody reads on. */
static int export_csv(cJSON *e, void *arg)
{
	(void)arg;
	entry_print_csv(stdout, e);
	return ferror(stdout) != 0;
}

static int export_json(cJSON *e, void *arg)
{
	(void)arg;
	print_json(e);
	return ferror(stdout) != 0;
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
	if (tape_open_for(in, in->arguments[0], true, &t) < 0)
		return EXIT_FAILURE;
	if (csv)
		entry_print_csv_head(stdout);
	if (tape_each(&t, 0, csv ? export_csv : export_json, NULL) < 0)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
