/*
 * statetape verify: is the tape as it was written? Reads the store in this
 * process, so the daemon is not held up. With --against, it is held against
 * checkpoints that were kept elsewhere (tape/anchor/).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tape/anchor/against.h"
#include "tape/query/answers.h"
#include "tape/store/aside.h"
#include "tape/store/store.h"
#include "tools/cli/options.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/tape.h"

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

static void print_answer(const char *name, const cJSON *answer, bool well,
			 bool colours)
{
	CLEANUP(free_p)
	char *entries = count_text(json_number(answer, "entries", 0), "entry",
				   "entries");
	CLEANUP(free_p)
	char *contents = count_text(json_number(answer, "contents", 0),
				    "content", "contents");
	const char *anchored = json_string(answer, "anchored");
	const cJSON *f;

	cJSON_ArrayForEach (f, cJSON_GetObjectItem(answer, "findings"))
		print_finding(f, colours);
	if (anchored)
		(void)printf("%s\n", anchored);
	(void)print_safe(stdout, name);
	(void)printf(": %s and %s, %s\n", entries, contents,
		     well ? "all as they were written"
			  : "not all of them as they were written");
}

/* -- Checkpoints. */

/* The stores that checkpoints may be of: the present one comes first. */
struct known_stores {
	ARRAY(struct store *) of;
};

static void known_release(struct known_stores *k)
{
	/* The first is the caller's. */
	for (uint32_t i = 1; i < k->of.count; i++)
		store_free(k->of.at[i]);
	array_release(&k->of);
}

static void find_stores(const char *path, struct store *present,
			struct known_stores *k)
{
	char **asides = NULL;
	size_t count = 0;

	array_push(&k->of, present);
	if (store_asides(path, &asides, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		struct store *s = NULL;

		if (strcmp(asides[i], store_path(present)) != 0 &&
		    store_open(asides[i], STORE_SALVAGE, &s, NULL) == 0)
			array_push(&k->of, s);
	}
	store_asides_free(asides, count);
}

/* A date in UTC, for a sentence. */
struct date {
	char text[sizeof("2026-01-02 03:04:05 UTC")];
};

static struct date date_of(const struct checkpoint *c)
{
	time_t at = (time_t)(c->at_ns / NS_PER_S);
	struct date d = { "" };
	struct tm tm;

	if (gmtime_r(&at, &tm))
		(void)strftime(d.text, sizeof(d.text), "%Y-%m-%d %H:%M:%S UTC",
			       &tm);
	return d;
}

/* Takes ownership of `text`. */
static void add_anchor_finding(cJSON *answer, const struct against_some *some,
			       char *text)
{
	cJSON *o = json_push_object(cJSON_GetObjectItem(answer, "findings"));

	json_put_text(o, "kind", "anchor");
	json_put_bytes(o, "text", text);
	/* The sentence has the count. */
	json_put_number(o, "count", 1);
	json_put_number(o, "checkpoints", some->count);
	json_put_number(o, "n", some->first.n);
	free(text);
}

static char *checkpoints_text(uint64_t count)
{
	return count_text(count, "checkpoint", "checkpoints");
}

static void add_behind(cJSON *answer, const struct against *a, uint64_t head)
{
	CLEANUP(free_p) char *many = checkpoints_text(a->behind.count);

	if (a->behind.count)
		add_anchor_finding(
			answer, &a->behind,
			format_text("Entries %" PRIu64 " to %" PRIu64
				    " are missing: the tape ends with entry "
				    "%" PRIu64
				    ", and it was longer; of its later part "
				    "there are %s, the first of entry %" PRIu64
				    " (%s).",
				    head + 1, a->behind.last.n, head, many,
				    a->behind.first.n,
				    date_of(&a->behind.first).text));
}

static void add_differ(cJSON *answer, const struct against *a)
{
	CLEANUP(free_p) char *many = checkpoints_text(a->differ.count);

	if (a->differ.count)
		add_anchor_finding(
			answer, &a->differ,
			format_text("Entries were rewritten between %" PRIu64
				    " and %" PRIu64 ": entry %" PRIu64
				    " is not the one of its checkpoint (%s). "
				    "In all, %s differ.",
				    a->before_differ + 1, a->differ.first.n,
				    a->differ.first.n,
				    date_of(&a->differ.first).text, many));
}

static void add_other(cJSON *answer, const struct against *a)
{
	CLEANUP(free_p) char *many = checkpoints_text(a->other.count);

	if (a->other.count)
		add_anchor_finding(
			answer, &a->other,
			format_text("A tape of this repository is missing, "
				    "number %016" PRIx64
				    ": %s of tapes that are not here, the last "
				    "of entry %" PRIu64 " (%s).",
				    a->other.last.tape, many, a->other.last.n,
				    date_of(&a->other.last).text));
}

/* What was proven, and what could not be. */
static void add_agreement(cJSON *answer, const struct against *a, uint64_t head)
{
	CLEANUP(free_p) char *many = checkpoints_text(a->agree.count);
	CLEANUP(free_p) char *old = checkpoints_text(a->retired.count);
	CLEANUP(free_p) char *text = NULL;

	if (!a->agree.count)
		text = format_text("No checkpoint agrees.");
	else
		text = format_text(
			"%s agree%s, the newest of entry %" PRIu64
			" (%s); the %" PRIu64 " entries after it have none.",
			many, a->agree.count == 1 ? "s" : "", a->agree.last.n,
			date_of(&a->agree.last).text,
			head > a->agree.last.n ? head - a->agree.last.n : 0);
	if (a->retired.count) {
		CLEANUP(free_p) char *before = TAKE(text);

		text = format_text("%s %s cannot be checked: their entries are "
				   "not kept any more.",
				   before, old);
	}
	json_put_text(answer, "anchored", text);
}

/* The number of findings, or a negative errno after a message. */
static int hold_against(const struct state *s, struct store *store,
			const char *file, cJSON *answer)
{
	CLEANUP(known_release) struct known_stores k = { 0 };
	CLEANUP(free_p) char *path = tape_store_path(s);
	bool is_stdin = strcmp(file, "-") == 0;
	CLEANUP(fclose_p) FILE *opened = is_stdin ? NULL : fopen(file, "re");
	FILE *in = is_stdin ? stdin : opened;
	struct against a = { 0 };
	int r = in ? 0 : -errno;

	find_stores(path, store, &k);
	if (r == 0)
		r = against_read(in, s->id, k.of.at, k.of.count, &a);
	if (r < 0) {
		(void)say_error("'%s' cannot be read: %s", file, errno_text(r));
		return r;
	}
	if (!a.agree.count && !a.behind.count && !a.differ.count &&
	    !a.retired.count && !a.other.count) {
		(void)say_error("'%s' has no checkpoint of '%s' (%s)%s", file,
				s->repo, s->id,
				a.elsewhere ? ", but of other repositories"
					    : "");
		return -ENODATA;
	}
	add_behind(answer, &a, store_head(store));
	add_differ(answer, &a);
	add_other(answer, &a);
	add_agreement(answer, &a, store_head(store));
	return (a.behind.count != 0) + (a.differ.count != 0) +
	       (a.other.count != 0);
}

/* -- The verb. */

static int open_subject(const struct invocation *in, struct tape_reader *ret)
{
	const struct option_value *file = &in->options[OPTION_STORE];

	if (file->given)
		return tape_open_store(file->text, true, ret);
	if (repo_find(in->arguments[0], &ret->state) < 0)
		return -ENOENT;
	tape_tell_asides(&ret->state);
	return tape_store(&ret->state, &ret->store);
}

static int verify(const struct invocation *in, struct tape_reader *t,
		  cJSON *answer)
{
	const struct option_value *against = &in->options[OPTION_AGAINST];
	int found =
		answers_verify(t->store, in->options[OPTION_ALL].given, answer);
	int more;

	if (found < 0)
		return say_error("the tape of '%s' cannot be read: %s",
				 t->state.repo, errno_text(found));
	if (against->given && !t->state.id)
		return say_error("'%s' lies in no repository's state, so it is "
				 "not known whose checkpoints are its own",
				 store_path(t->store));
	if (against->given) {
		more = hold_against(&t->state, t->store, against->text, answer);
		if (more < 0)
			return EXIT_FAILURE;
		found += more;
	}
	if (in->options[OPTION_JSON].given) {
		CLEANUP(free_p)
		char *text = must_have(cJSON_PrintUnformatted(answer));

		(void)puts(text);
	} else {
		print_answer(t->state.repo, answer, found == 0,
			     colour_wanted(stdout));
	}
	return found ? EXIT_FAILURE : EXIT_SUCCESS;
}

int verb_verify(const struct invocation *in)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	CLEANUP(json_p) cJSON *answer = json_object(NULL, NULL);

	if (open_subject(in, &t) < 0)
		return EXIT_FAILURE;
	return verify(in, &t, answer);
}
