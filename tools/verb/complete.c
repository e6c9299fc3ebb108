/*
 * statetape complete: candidates for a shell. It is asked at each press of a
 * key, so it prints nothing rather than make its user wait.
 */
#include <string.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "graph/build/cache.h"
#include "tape/wire/state.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/code.h"
#include "tools/verb/entry_text.h"
#include "tools/verb/tape.h"

#define ENTRIES 100
#define SYMBOLS 2000

static bool begins_so(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* The newest entries. */
static int complete_entries(const char *beginning)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *e;

	json_put_number(q, "limit", ENTRIES);
	if (tape_open(NULL, true, &t) < 0 ||
	    tape_ask(&t, "LOG", q, &answer) < 0)
		return EXIT_FAILURE;
	cJSON_ArrayForEach (e, json_member(answer, "entries")) {
		CLEANUP(free_p)
		char *n = format_text(
			"%llu", (unsigned long long)json_number(e, "n", 0));

		if (!begins_so(n, beginning))
			continue;
		(void)printf("%s\t%s ", n, json_string_or(e, "kind", ""));
		(void)print_safe(stdout, json_string_or(e, "path", ""));
		(void)putchar('\n');
	}
	return EXIT_SUCCESS;
}

/* Only of a graph that is cached: another would have to be built first. */
static int complete_symbols(const struct invocation *in, const char *beginning)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	CLEANUP(code_release) struct code c = CODE_EMPTY;
	struct invocation plain = { .verb = in->verb };
	size_t shown = 0;

	if (repo_find_here(&s) < 0 || s.dir_fd < 0 ||
	    faccessat(s.dir_fd, CACHE_NAME, F_OK, 0) < 0 ||
	    code_open(&plain, s.repo, &c) < 0)
		return EXIT_FAILURE;

	CLEANUP(code_list_release)
	struct code_list l = code_symbols(c.graph, true);

	for (size_t i = 0; i < l.count && shown < SYMBOLS; i++) {
		const char *name = code_name(c.graph, l.symbols[i]);

		if (!begins_so(name, beginning))
			continue;
		(void)print_safe(stdout, name);
		(void)putchar('\n');
		shown++;
	}
	return EXIT_SUCCESS;
}

/* All that have state, wherever they are. */
static int complete_repositories(const char *beginning)
{
	char **ids = NULL;
	size_t n = 0;

	if (state_list(&ids, &n) < 0)
		return EXIT_FAILURE;
	for (size_t i = 0; i < n; i++) {
		CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;

		if (state_init_id(ids[i], &s, NULL) < 0 ||
		    !begins_so(s.repo, beginning))
			continue;
		(void)print_safe(stdout, s.repo);
		(void)putchar('\n');
	}
	state_list_free(ids, n);
	return EXIT_SUCCESS;
}

int verb_complete(const struct invocation *in)
{
	const char *kind = in->arguments[0];
	const char *beginning = in->arguments[1] ? in->arguments[1] : "";

	if (strcmp(kind, complete_names[COMPLETE_ENTRY]) == 0)
		return complete_entries(beginning);
	if (strcmp(kind, complete_names[COMPLETE_SYMBOL]) == 0)
		return complete_symbols(in, beginning);
	if (strcmp(kind, complete_names[COMPLETE_REPOSITORY]) == 0)
		return complete_repositories(beginning);
	return say_usage_error("complete prints entry, symbol or repository, "
			       "not '%s'",
			       kind);
}
