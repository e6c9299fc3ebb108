/*
 * statetape undo, redo: what entries did is taken back, in these steps:
 *
 *	choice		which entries
 *	history		what they did to which files, and where these are now
 *	place		where to write
 *	plan		what each file becomes
 *	act		write it
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/cli/where.h"
#include "tools/verb/tape.h"
#include "tools/verb/undo/act.h"
#include "tools/verb/undo/choice.h"
#include "tools/verb/undo/history.h"
#include "tools/verb/undo/place.h"
#include "tools/verb/undo/plan.h"
#include "tools/verb/undo/show.h"

/* A tape without a mount notices a change after two looks. */
#define UNSEEN_TRIES 40
#define UNSEEN_MS    25

struct undo {
	const struct invocation *in;
	struct tape_reader tape;
	struct where where;
	struct choice choice;
	struct history history;
	ARRAY(char *) patterns; /* NULL at the end */
	enum merge_favour favour;
	char *const *paths; /* as they were given, NULL at the end */
	uint64_t redone;    /* of redo: an entry of the undo, 0: the newest's */
	char *command;	    /* this one, with --yes */
	uint64_t head;	    /* the newest entry before */
};

static void undo_release(struct undo *u)
{
	for (uint32_t i = 0; i < u->patterns.count; i++)
		free(u->patterns.at[i]);
	array_release(&u->patterns);
	history_release(&u->history);
	choice_release(&u->choice);
	where_release(&u->where);
	tape_release(&u->tape);
	free(u->command);
}

/* -- The command line again, for the user to repeat. */

static void print_quoted(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./,:=@%+-";

	if (*word && strspn(word, plain) == strlen(word)) {
		(void)fputs(word, out);
		return;
	}
	(void)fputc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			(void)fputs("'\\''", out);
		else
			(void)fputc(*word, out);
	(void)fputc('\'', out);
}

static void print_option(FILE *out, const struct verb_option *o,
			 const struct option_value *value)
{
	if (!value->given || o->id == OPTION_YES)
		return;
	(void)fprintf(out, " --%s", o->name);
	if (!value->text)
		return;
	(void)fputc(' ', out);
	print_quoted(out, value->text);
}

static void print_repo(FILE *out, const struct invocation *in)
{
	print_option(out, verb_option_find(in->verb, "repo"),
		     &in->options[OPTION_REPO]);
}

static char *command_text(const struct invocation *in)
{
	char *text = NULL;
	size_t size;
	FILE *out = must_have(open_memstream(&text, &size));

	(void)fprintf(out, "statetape %s", in->verb->name);
	for (const struct verb_option *o = in->verb->options; o->name; o++)
		print_option(out, o, &in->options[o->id]);
	(void)fputs(" --yes", out);
	for (size_t i = 0; i < in->words_count; i++) {
		(void)fputc(' ', out);
		print_quoted(out, in->words[i]);
	}
	if (!in->words && in->arguments[0])
		(void)fprintf(out, " %s", in->arguments[0]);
	(void)fclose(out);
	return must_have(text);
}

/* -- Which entries, and what they did. */

static bool are_paths_used(const struct undo *u)
{
	for (size_t i = 0; u->paths[i]; i++) {
		if (u->history.used[i])
			continue;
		(void)say_error("none of the entries is about '%s'",
				u->paths[i]);
		return false;
	}
	return true;
}

/* Returns the exit code. */
static int choose(struct undo *u)
{
	bool redo = u->in->verb->id == VERB_REDO;
	int r = redo ? choice_redo(&u->choice, u->redone, &u->tape)
		     : choice_read(&u->choice, u->in, &u->tape);

	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
	if (history_read(&u->history, &u->tape, &u->choice, u->patterns.at) <
		    0 ||
	    !are_paths_used(u))
		return EXIT_FAILURE;
	u->head = u->history.head;
	return EXIT_SUCCESS;
}

/* -- Showing it. */

static int exit_code(const struct undo *u, const struct undo_plan *p)
{
	return p->left || u->history.remarks.count ? EXIT_FAILURE
						   : EXIT_SUCCESS;
}

static void say_nothing(const struct undo_plan *p)
{
	if (!p->left)
		(void)puts("nothing to do: the files are as they would be");
}

static void say_hint(const struct undo *u, const struct undo_plan *p)
{
	if (p->left && u->favour == MERGE_NONE)
		(void)fputs("For conflicts, --ours keeps the later change and "
			    "--theirs takes what was before.\n",
			    stderr);
}

static int show_plan(const struct undo *u, const struct undo_plan *p)
{
	CLEANUP(free_p)
	char *files = count_text(p->changed, "file", "files");
	struct unified_style style = { .terminal = isatty(STDOUT_FILENO),
				       .colours = colour_wanted(stdout) };

	show_diff(p, &u->where, style);
	(void)fflush(stdout);
	show_left(p, &u->history, &u->where);
	say_hint(u, p);
	if (p->changed) {
		(void)printf("%s would change. To do it:\n    ", files);
		(void)print_safe(stdout, u->command);
		(void)putchar('\n');
	} else {
		say_nothing(p);
	}
	return exit_code(u, p);
}

static int preview(struct undo *u)
{
	CLEANUP(close_p)
	int fd = open(u->tape.state.repo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(undo_plan_release) struct undo_plan p = { .changed = 0 };
	int code;

	act_tell(u->tape.state.dir_fd);
	code = choose(u);
	if (code != EXIT_SUCCESS)
		return code;
	if (fd < 0)
		return say_error("'%s' cannot be opened: %s",
				 u->tape.state.repo, errno_text(errno));
	undo_plan_init(&p, &u->history, &u->tape, fd, u->favour);
	return show_plan(u, &p);
}

/* -- Doing it. */

/* Entries after those that were known before: how many, and the newest. */
static uint64_t count_new(struct undo *u, size_t limit, uint64_t *ret_last)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	uint64_t count = 0;
	const cJSON *e;

	json_put_number(q, "n", u->head);
	json_put_number(q, "limit", limit);
	tape_settle(&u->tape);
	if (tape_try(&u->tape, "SINCE", q, &answer, NULL) < 0)
		return 0;
	cJSON_ArrayForEach (e, json_member(answer, "entries")) {
		*ret_last = json_number(e, "n", 0);
		count++;
	}
	return count;
}

/*
 * Nothing was mounted. If a tape runs, it soon has the changes as entries: say
 * how to take them back, unless others are among them.
 */
static void say_unseen(struct undo *u, const struct undo_plan *p)
{
	uint64_t count = 0, last = 0;

	(void)fputs("Nothing is mounted, so the tape shows this as changed "
		    "from outside.\n",
		    stderr);
	if (!u->tape.client)
		return;
	for (int i = 0; i < UNSEEN_TRIES && count < p->changed; i++) {
		if (i)
			(void)poll(NULL, 0, UNSEEN_MS);
		count = count_new(u, p->changed + 1, &last);
	}
	if (count != p->changed)
		return;
	(void)fputs("To take it back:\n    statetape undo", stdout);
	print_repo(stdout, u->in);
	(void)printf(" --yes %" PRIu64 "..%" PRIu64 "\n", u->head + 1, last);
}

static void say_done(struct undo *u, const struct undo_plan *p, bool seen)
{
	show_done(p, &u->where);
	(void)fflush(stdout);
	show_left(p, &u->history, &u->where);
	say_hint(u, p);
	if (!seen) {
		say_unseen(u, p);
	} else if (u->in->verb->id == VERB_UNDO) {
		(void)fputs("To take it back:\n    statetape redo", stdout);
		print_repo(stdout, u->in);
		(void)puts(" --yes");
	}
}

/* A redo without a number has done its work, if an undo was taken back. */
static bool is_done(const struct undo *u, enum act_before before)
{
	return u->in->verb->id == VERB_REDO && !u->redone && before == ACT_UNDO;
}

static int carry_out(const struct place *place, void *arg)
{
	struct undo *u = arg;
	CLEANUP(undo_plan_release) struct undo_plan p = { .changed = 0 };
	const struct act a = { .root_fd = place->root_fd,
			       .state_fd = u->tape.state.dir_fd,
			       .command = u->command,
			       .redo = u->in->verb->id == VERB_REDO };
	enum act_before before = ACT_NONE;
	CLEANUP(close_p) int intent = act_begin(&a, &before);
	int code;

	if (intent < 0)
		return EXIT_FAILURE;
	if (before != ACT_NONE)
		tape_settle(&u->tape);
	if (is_done(u, before))
		return EXIT_SUCCESS;
	code = choose(u);
	if (code != EXIT_SUCCESS)
		return code;
	undo_plan_init(&p, &u->history, &u->tape, place->root_fd, u->favour);
	if (!p.changed) {
		show_left(&p, &u->history, &u->where);
		say_hint(u, &p);
		say_nothing(&p);
		return exit_code(u, &p);
	}
	if (act_plan(&a, intent, &p) < 0)
		return EXIT_FAILURE;
	tape_settle(&u->tape);
	say_done(u, &p, place->seen);
	return exit_code(u, &p);
}

/* -- From the command line. */

/* False, after a message: a path lies outside the repository. */
static bool take_paths(struct undo *u, char *const *paths)
{
	for (; *paths; paths++) {
		char *pattern = where_path(&u->where, *paths);

		if (!pattern) {
			(void)say_usage_error("'%s' is outside the repository "
					      "'%s'",
					      *paths, u->where.root);
			return false;
		}
		array_push(&u->patterns, pattern);
	}
	return true;
}

static int begin(struct undo *u, char *const *paths)
{
	u->paths = paths;
	if (tape_open(u->in->options[OPTION_REPO].text, false, &u->tape) < 0)
		return EXIT_FAILURE;
	tape_where(&u->tape, &u->where);
	u->command = command_text(u->in);
	u->favour = u->in->options[OPTION_OURS].given	  ? MERGE_MINE
		    : u->in->options[OPTION_THEIRS].given ? MERGE_THEIRS
							  : MERGE_NONE;
	if (!take_paths(u, paths))
		return EXIT_USAGE;
	array_push(&u->patterns, NULL);
	return EXIT_SUCCESS;
}

static int undo_run(struct undo *u, char *const *paths)
{
	int code = begin(u, paths);

	if (code != EXIT_SUCCESS)
		return code;
	if (!u->in->options[OPTION_YES].given)
		return preview(u);
	return place_do(&u->tape.state, carry_out, u);
}

int verb_undo(const struct invocation *in)
{
	CLEANUP(undo_release)
	struct undo u = { .in = in, .tape = TAPE_NONE };
	char **paths = NULL;

	return choice_check(in, &paths) ? undo_run(&u, paths) : EXIT_USAGE;
}

int verb_redo(const struct invocation *in)
{
	CLEANUP(undo_release)
	struct undo u = { .in = in, .tape = TAPE_NONE };
	char *none[] = { NULL };

	return choice_redo_check(in, &u.redone) ? undo_run(&u, none)
						: EXIT_USAGE;
}
