/*
 * statetape verify: is the tape as it was written? Reads the store in this
 * process, so the daemon is not held up.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tape/query/answers.h"
#include "tape/store/store.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/tape.h"

static void store_p(struct store **s)
{
	store_free(*s);
}

static void print_finding(const cJSON *f, bool colours)
{
	uint64_t count = json_number(f, "count", 1);

	(void)fputs(colour_text(colours, COLOUR_RED), stdout);
	(void)print_safe(stdout, json_string(f, "text"));
	if (count > 1)
		(void)printf(" It is the first of %" PRIu64
			     " of this kind; --all prints all.",
			     count);
	(void)printf("%s\n", colour_text(colours, COLOUR_NONE));
}

static void print_answer(const struct state *s, const cJSON *answer, int found,
			 bool colours)
{
	CLEANUP(free_p)
	char *entries = count_text(json_number(answer, "entries", 0), "entry",
				   "entries");
	CLEANUP(free_p)
	char *contents = count_text(json_number(answer, "contents", 0),
				    "content", "contents");
	const cJSON *f;

	cJSON_ArrayForEach (f, cJSON_GetObjectItem(answer, "findings"))
		print_finding(f, colours);
	(void)print_safe(stdout, s->repo);
	(void)printf(": %s and %s, %s\n", entries, contents,
		     found ? "not all of them as they were written"
			   : "all as they were written");
}

int verb_verify(const struct invocation *in)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	CLEANUP(store_p) struct store *store = NULL;
	CLEANUP(json_p) cJSON *answer = json_object(NULL, NULL);
	int found;

	if (repo_find(in->arguments[0], &s) < 0 || tape_store(&s, &store) < 0)
		return EXIT_FAILURE;
	found = answers_verify(store, in->options[OPTION_ALL].given, answer);
	if (found < 0)
		return say_error("the tape of '%s' cannot be read: %s", s.repo,
				 errno_text(found));
	if (in->options[OPTION_JSON].given) {
		CLEANUP(free_p)
		char *text = must_have(cJSON_PrintUnformatted(answer));

		(void)puts(text);
	} else {
		print_answer(&s, answer, found, colour_wanted(stdout));
	}
	return found ? EXIT_FAILURE : EXIT_SUCCESS;
}
