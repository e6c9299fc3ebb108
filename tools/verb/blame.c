/*
 * statetape blame: which entry and which command last changed each symbol.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/fit.h"
#include "tools/cli/pager.h"
#include "tools/cli/say.h"
#include "tools/cli/terminal.h"
#include "tools/cli/verbs.h"
#include "tools/cli/when.h"
#include "tools/verb/blame_lines.h"
#include "tools/verb/entry_text.h"
#include "tools/verb/tape.h"

#define COMMAND_MAX 60
#define GUESSES_MAX 100

/* Between the name and the command: lines, entry, date. */
#define MIDDLE_COLUMNS 47

/* The columns of names and commands. */
static void blame_columns(const cJSON *symbols, size_t *ret)
{
	size_t room = terminal_room();
	const cJSON *s;

	ret[0] = ret[1] = 0;
	cJSON_ArrayForEach (s, symbols) {
		CLEANUP(free_p) char *who = entry_authors(s, COMMAND_MAX);
		size_t name = safe_columns(json_string_or(s, "name", "?"));
		size_t command = safe_columns(who);

		ret[0] = name > ret[0] ? name : ret[0];
		ret[1] = command > ret[1] ? command : ret[1];
	}
	if (room != SIZE_MAX)
		fit_columns(room - MIDDLE_COLUMNS, ret, 2);
}

static void print_symbol(const cJSON *s, const size_t *widths, bool colours)
{
	CLEANUP(free_p) char *who = NULL;
	char date[WHEN_TEXT_SIZE];
	size_t at;

	(void)fputs(colour_text(colours, COLOUR_BOLD), stdout);
	at = print_fitted(stdout, json_string_or(s, "name", "?"), widths[0]);
	(void)printf("%*s%s", at < widths[0] ? (int)(widths[0] - at) : 0, "",
		     colour_text(colours, COLOUR_NONE));
	/* A symbol found by name may have no known place. */
	if (json_member(s, "start_line"))
		(void)printf("  %5" PRIu64 "-%-5" PRIu64 " ",
			     json_number(s, "start_line", 0),
			     json_number(s, "end_line", 0));
	else
		(void)printf("  %12s", "");
	if (!json_member(s, "entry")) {
		(void)printf("%sas before the tape began%s\n",
			     colour_text(colours, COLOUR_DIM),
			     colour_text(colours, COLOUR_NONE));
		return;
	}
	when_text((int64_t)json_number(s, "at_ns", 0), 0, date, sizeof(date));
	who = entry_authors(s, COMMAND_MAX);
	(void)printf("%sentry %-6" PRIu64 "%s %s ",
		     colour_text(colours, COLOUR_YELLOW),
		     json_number(s, "entry", 0),
		     colour_text(colours, COLOUR_NONE), date);
	(void)print_fitted(stdout, who, widths[1]);
	(void)putchar('\n');
}

static int ask_about(struct tape_reader *t, const char *member,
		     const char *what, cJSON **ret, char **why)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);

	json_put_bytes(q, member, what);
	return tape_try(t, "BLAME", q, ret, why);
}

static bool ends_so(const char *name, const char *tail)
{
	size_t n = strlen(name), m = strlen(tail);

	return n > m && name[n - m - 1] == '.' &&
	       strcmp(name + n - m, tail) == 0;
}

/* The symbols that the end of a name may mean. */
struct guess {
	const char *tail;
	const char *found; /* NULL: nothing yet */
	bool several;
};

static void guess_from(struct guess *g, const cJSON *symbols)
{
	const cJSON *s;

	cJSON_ArrayForEach (s, symbols) {
		const char *name = json_string(s, "name");

		if (!name || !ends_so(name, g->tail))
			continue;
		g->several |= g->found && strcmp(g->found, name) != 0;
		g->found = name;
	}
}

/*
 * The one symbol on the tape whose name ends with this; NULL: none, or several.
 */
static char *guess(struct tape_reader *t, const char *tail)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	struct guess g = { .tail = tail };
	const cJSON *e;

	json_put_bytes(q, "symbol", tail);
	json_put_number(q, "limit", GUESSES_MAX);
	if (tape_try(t, "LOG", q, &answer, NULL) < 0)
		return NULL;
	cJSON_ArrayForEach (e, json_member(answer, "entries")) {
		guess_from(&g, json_member(e, "X"));
		guess_from(&g, json_member(e, "new"));
	}
	return g.found && !g.several ? must_have(strdup(g.found)) : NULL;
}

/* FILE|SYMBOL: a file, a symbol, or the end of a symbol's name. */
static int find(struct tape_reader *t, const char *what, cJSON **ret)
{
	CLEANUP(free_p) char *path = tape_path(t, what);
	CLEANUP(free_p) char *name = NULL;
	CLEANUP(free_p) char *why = NULL;
	int r;

	if (!path)
		return -ENOENT;
	r = ask_about(t, "path", path, ret, NULL);
	if (r == 0)
		return 0;
	/* A word that looks like a path is meant as a path. */
	if (strchr(what, '/')) {
		(void)ask_about(t, "path", path, ret, &why);
		(void)say_error("%s", why ? why : errno_text(r));
		return r;
	}
	r = ask_about(t, "symbol", what, ret, &why);
	if (r < 0)
		name = guess(t, what);
	if (name)
		r = ask_about(t, "symbol", name, ret, NULL);
	if (r < 0)
		(void)say_error("'%s' is neither a file nor the name of "
				"exactly one symbol on the tape",
				what);
	return r;
}

int verb_blame(const struct invocation *in)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *symbols, *s;
	size_t widths[2];
	struct pager pager;

	if (tape_open_for(in, in->arguments[1], false, &t) < 0)
		return EXIT_FAILURE;
	if (in->options[OPTION_BY_LINE].given)
		return blame_lines(&t, in->arguments[0],
				   in->options[OPTION_JSON].given);
	if (find(&t, in->arguments[0], &answer) < 0)
		return EXIT_FAILURE;
	symbols = json_member(answer, "symbols");
	if (in->options[OPTION_JSON].given) {
		cJSON_ArrayForEach (s, symbols) {
			char *line = must_have(cJSON_PrintUnformatted(s));

			(void)puts(line);
			free(line);
		}
		return EXIT_SUCCESS;
	}
	blame_columns(symbols, widths);
	pager_begin(&pager);
	cJSON_ArrayForEach (s, symbols)
		print_symbol(s, widths, pager.colours);
	pager_end(&pager);
	return EXIT_SUCCESS;
}
