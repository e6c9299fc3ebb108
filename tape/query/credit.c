#include "tape/query/credit.h"

#include <string.h>

/* A shorter command says too little to know a process by it alone. */
#define TELLING 6

/*
 * Clients wrap commands (`bash -c "eval '...'"`) and quote them in their own
 * ways, so quotes, backslashes and blanks do not count.
 */
static bool is_dressing(char c)
{
	return strchr(" \t\r\n'\"\\", c) && c;
}

static const char *skip_dressing(const char *at)
{
	while (is_dressing(*at))
		at++;
	return at;
}

static size_t bare_length(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += !is_dressing(*text);
	return n;
}

static bool goes_on(const char *line, const char *command)
{
	for (;;) {
		line = skip_dressing(line);
		command = skip_dressing(command);
		if (!*command)
			return true;
		if (*line++ != *command++)
			return false;
	}
}

static bool contains(const char *line, const char *command)
{
	for (; *line; line++)
		if (!is_dressing(*line) && goes_on(line, command))
			return true;
	return false;
}

/* The best call so far, and whether another one is as good. */
struct credit_choice {
	size_t at, score;
	bool tied;
};

static void consider(struct credit_choice *c, size_t at, size_t score)
{
	if (score && score == c->score && at != c->at)
		c->tied = true;
	if (score <= c->score)
		return;
	*c = (struct credit_choice){ at, score, false };
}

static size_t chosen(const struct credit_choice *c)
{
	return c->score && !c->tied ? c->at : CREDIT_NONE;
}

/* -- A process that the agent started. */

static bool is_told_by(const struct credit_entry *e, size_t from,
		       const struct credit_call *c)
{
	for (size_t i = from; i < e->cmdlines_count; i++)
		if (contains(e->cmdlines[i], c->command))
			return true;
	return false;
}

/* Of several commands in the command line, the longest. */
static struct credit_choice by_command(const struct credit_entry *e,
				       const struct credit_call *calls,
				       size_t count)
{
	struct credit_choice best = { 0 };

	for (size_t i = 0; i < count; i++)
		if (calls[i].open && *calls[i].command &&
		    is_told_by(e, 0, &calls[i]))
			consider(&best, i, bare_length(calls[i].command));
	return best;
}

/* A process that goes on after its call: the newest call of its command. */
static size_t by_past_command(const struct credit_entry *e,
			      const struct credit_call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!calls[i].open && *calls[i].command &&
		    bare_length(calls[i].command) >= TELLING &&
		    is_told_by(e, e->cmdlines_count - 1, &calls[i]))
			return i;
	return CREDIT_NONE;
}

/* The only call under way of a kind: shell tools, or those of no kind. */
static size_t only_one(const struct credit_call *calls, size_t count,
		       bool shell)
{
	struct credit_choice best = { 0 };

	for (size_t i = 0; i < count; i++)
		if (calls[i].open && !*calls[i].paths &&
		    !*calls[i].command == !shell)
			consider(&best, i, 1);
	return chosen(&best);
}

static size_t of_process(const struct credit_entry *e,
			 const struct credit_call *calls, size_t count)
{
	struct credit_choice told = by_command(e, calls, count);
	size_t at;

	if (told.score)
		return chosen(&told);
	at = by_past_command(e, calls, count);
	if (at == CREDIT_NONE)
		at = only_one(calls, count, true);
	if (at == CREDIT_NONE)
		at = only_one(calls, count, false);
	return at;
}

/* -- The agent's own writes. */

/*
 * How well a call's files fit a path: 2: it is one of them. 1: it is a
 * temporary file of the same name with something behind it.
 */
static size_t fit(const char *paths, const char *path)
{
	size_t len = path ? strlen(path) : 0, line, best = 0;

	for (; len && *paths; paths += line + (paths[line] == '\n')) {
		line = strcspn(paths, "\n");
		if (line > len || memcmp(paths, path, line) != 0)
			continue;
		if (line == len)
			return 2;
		if (path[line] == '.')
			best = 1;
	}
	return best;
}

static size_t of_agent(const struct credit_entry *e,
		       const struct credit_call *calls, size_t count)
{
	struct credit_choice best = { 0 };
	size_t open = 0, at = CREDIT_NONE;

	for (size_t i = 0; i < count; i++) {
		if (!calls[i].open)
			continue;
		open++;
		at = i;
		consider(&best, i, fit(calls[i].paths, e->path));
		consider(&best, i, fit(calls[i].paths, e->path2));
	}
	if (best.score)
		return chosen(&best);
	/* Some agents run commands in their own process. */
	return open == 1 && !*calls[at].paths ? at : CREDIT_NONE;
}

size_t credit_choose(const struct credit_entry *e,
		     const struct credit_call *calls, size_t count)
{
	return e->cmdlines_count ? of_process(e, calls, count)
				 : of_agent(e, calls, count);
}
