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
#include "tape/store/store.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/tape.h"

static void store_p(struct store **s)
{
	store_free(*s);
}

static void add_finding(const char *text, void *arg)
{
	(void)json_push(arg, json_bytes(text));
}

static void print_findings(const struct state *s, const cJSON *findings,
			   const struct store_stats *st, bool colours)
{
	CLEANUP(free_p)
	char *entries = count_text(st->entries, "entry", "entries");
	CLEANUP(free_p)
	char *contents = count_text(st->contents, "content", "contents");
	const cJSON *f;

	cJSON_ArrayForEach (f, findings) {
		(void)fputs(colour_text(colours, COLOUR_RED), stdout);
		(void)print_safe(stdout, cJSON_GetStringValue(f));
		(void)printf("%s\n", colour_text(colours, COLOUR_NONE));
	}
	(void)print_safe(stdout, s->repo);
	(void)printf(": %s and %s, %s\n", entries, contents,
		     cJSON_GetArraySize(findings) ? "not all of them as they "
						    "were written"
						  : "all as they were written");
}

int verb_verify(const struct invocation *in)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	CLEANUP(store_p) struct store *store = NULL;
	CLEANUP(json_p) cJSON *answer = json_object(NULL, NULL);
	cJSON *findings = json_array(answer, "findings");
	struct store_stats st;
	int found, r;

	if (repo_find(in->arguments[0], &s) < 0 || tape_store(&s, &store) < 0)
		return EXIT_FAILURE;
	found = store_verify(store, add_finding, findings);
	r = found < 0 ? found : store_stat(store, &st);
	if (r < 0)
		return say_error("the tape of '%s' cannot be read: %s", s.repo,
				 errno_text(r));
	if (in->options[OPTION_JSON].given) {
		CLEANUP(free_p) char *text = NULL;

		json_put_number(answer, "entries", st.entries);
		json_put_number(answer, "contents", st.contents);
		text = must_have(cJSON_PrintUnformatted(answer));
		(void)puts(text);
	} else {
		print_findings(&s, findings, &st, colour_wanted(stdout));
	}
	return found ? EXIT_FAILURE : EXIT_SUCCESS;
}
