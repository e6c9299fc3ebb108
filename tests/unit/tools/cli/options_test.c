#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tools/cli/options.h"
#include "tools/cli/say.h"

/*
 * An argv as main() has it. The words are not written to, though the type would
 * allow it.
 */
static char **argv_of(const char **words)
{
	union {
		const char **words;
		char **argv;
	} both = { .words = words };

	return both.argv;
}

#define WORDS(...) argv_of((const char *[]){ __VA_ARGS__, NULL })
#define NO_WORDS   argv_of((const char *[]){ NULL })

/* The error message for `words` (free it); "": they are accepted. */
static char *refusal(enum verb_id verb, char **words)
{
	struct invocation in;
	char *why = NULL;

	if (options_parse(verbs[verb], words, &in, &why) == 0)
		return strdup("");
	return why;
}

static void assert_refused(enum verb_id verb, char **words, const char *with)
{
	char *why = refusal(verb, words);

	assert_non_null(why);
	if (!strstr(why, with))
		fail_msg("refused with \"%s\", not with \"%s\"", why, with);
	free(why);
}

static struct invocation parse(enum verb_id verb, char **words)
{
	struct invocation in = { 0 };
	char *why = NULL;

	if (options_parse(verbs[verb], words, &in, &why) < 0)
		fail_msg("refused: %s", why);
	return in;
}

static void long_and_short_forms_say_the_same(void **state)
{
	(void)state;
	char **forms[] = {
		WORDS("--lines", "20", "--follow"),
		WORDS("--lines=20", "-f"),
		WORDS("-n", "20", "-f"),
		WORDS("-n20", "--follow"),
		WORDS("-fn20"),
		WORDS("-fn", "20"),
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct invocation in = parse(VERB_JOURNAL, forms[i]);

		assert_true(in.options[OPTION_FOLLOW].given);
		assert_true(in.options[OPTION_LINES].given);
		assert_int_equal(in.options[OPTION_LINES].number, 20);
		assert_null(in.arguments[0]);
	}
}

static void options_and_arguments_come_in_any_order(void **state)
{
	(void)state;
	struct invocation in =
		parse(VERB_MOUNT, WORDS("a", "-f", "b", "--keep", "1M"));

	assert_string_equal(in.arguments[0], "a");
	assert_string_equal(in.arguments[1], "b");
	assert_true(in.options[OPTION_FOREGROUND].given);
	assert_int_equal(in.options[OPTION_KEEP_SIZE].number, 1 << 20);
}

static void an_option_given_twice_counts_as_given_last(void **state)
{
	(void)state;
	struct invocation in =
		parse(VERB_JOURNAL, WORDS("--pid", "1", "--pid=2"));

	assert_int_equal(in.options[OPTION_PID].number, 2);
}

static void a_value_may_look_like_an_option_or_be_empty(void **state)
{
	(void)state;
	struct invocation in =
		parse(VERB_JOURNAL, WORDS("--path", "--json", "."));

	assert_string_equal(in.options[OPTION_PATH].text, "--json");
	assert_false(in.options[OPTION_JSON].given);
	in = parse(VERB_JOURNAL, WORDS("--path="));
	assert_string_equal(in.options[OPTION_PATH].text, "");
}

static void after_two_dashes_nothing_is_an_option(void **state)
{
	(void)state;
	struct invocation in = parse(VERB_JOURNAL, WORDS("--", "--follow"));

	assert_string_equal(in.arguments[0], "--follow");
	assert_false(in.options[OPTION_FOLLOW].given);
	assert_null(in.command);
}

static void after_two_dashes_a_command_keeps_its_own_dashes(void **state)
{
	(void)state;
	char **words = WORDS("repo", "--", "make", "--", "-f", "x");
	struct invocation in = parse(VERB_MOUNT, words);

	assert_string_equal(in.arguments[0], "repo");
	assert_null(in.arguments[1]);
	assert_false(in.options[OPTION_FOREGROUND].given);
	assert_ptr_equal(in.command, words + 2);
	assert_refused(VERB_MOUNT, WORDS("repo", "--"), "command is missing");
	assert_refused(VERB_RUN, WORDS("claude", "-p"),
		       "the command must follow --, as in 'statetape run -- "
		       "claude'");
}

static void sizes_have_units_and_an_end(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t bytes; /* 0: refused */
	} sizes[] = {
		{ "1", 1 },
		{ "500M", UINT64_C(500) << 20 },
		{ "2g", UINT64_C(2) << 30 },
		{ "3K", 3072 },
		{ "16777215T", UINT64_C(16777215) << 40 },
		{ "18446744073709551615", UINT64_MAX },
		{ "16777216T", 0 },
		{ "18446744073709551616", 0 },
		{ "0", 0 },
		{ "-1", 0 },
		{ " 1", 0 },
		{ "1MB", 0 },
		{ "1 M", 0 },
		{ "M", 0 },
		{ "", 0 },
		{ "1.5G", 0 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CLEANUP(free_p)
		char *word = format_text("--keep=%s", sizes[i].text);
		struct invocation in;

		if (sizes[i].bytes == 0) {
			assert_refused(VERB_MOUNT, WORDS(word, "."), "size");
			continue;
		}
		in = parse(VERB_MOUNT, WORDS(word, "."));
		assert_true(in.options[OPTION_KEEP_SIZE].number ==
			    sizes[i].bytes);
	}
}

static void numbers_are_whole_and_not_negative(void **state)
{
	(void)state;
	const char *bad[] = { "",    "x",  "1x",
			      "-1",  "+1", "0x10",
			      "1e3", " 1", "18446744073709551616" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(VERB_JOURNAL, WORDS("--pid", bad[i]),
			       "whole number");
}

static void a_refusal_names_the_mistake_and_the_way_out(void **state)
{
	(void)state;
	assert_refused(VERB_MOUNT, WORDS("--privat", "."),
		       "did you mean --private?");
	assert_refused(VERB_JOURNAL, WORDS("--folow"),
		       "did you mean --follow?");
	assert_refused(VERB_JOURNAL, WORDS("--follwo=1"),
		       "did you mean --follow?");
	assert_refused(VERB_JOURNAL, WORDS("--lazy"),
		       "--lazy is an option of umount");
	assert_refused(VERB_JOURNAL, WORDS("--zzz"), "no option --zzz");
	assert_refused(VERB_JOURNAL, WORDS("-fz"), "no option -z");
	assert_refused(VERB_JOURNAL, WORDS("--follow=1"), "takes no value");
	assert_refused(VERB_JOURNAL, WORDS("--pid"), "--pid N");
	assert_refused(VERB_JOURNAL, WORDS("-n"), "-n N");
	assert_refused(VERB_MOUNT, NO_WORDS, "wants a REPO");
	assert_refused(VERB_JOURNAL, WORDS("a", "b"), "'b' is one argument");
	assert_refused(VERB_JOURNAL, WORDS(""), "REPO is empty");
}

static void help_excuses_what_is_missing(void **state)
{
	(void)state;
	assert_true(
		parse(VERB_MOUNT, WORDS("--help")).options[OPTION_HELP].given);
	assert_true(parse(VERB_UMOUNT, WORDS("-h")).options[OPTION_HELP].given);
}

static void similar_verbs_are_found_and_others_are_not(void **state)
{
	(void)state;
	assert_string_equal(options_similar_verb("jurnal"), "journal");
	assert_string_equal(options_similar_verb("mont"), "mount");
	assert_string_equal(options_similar_verb("stauts"), "status");
	assert_string_equal(options_similar_verb("doc"), "doctor");
	assert_string_equal(options_similar_verb("unmount"), "umount");
	assert_null(options_similar_verb("x"));
	assert_null(options_similar_verb("frobnicate"));
	assert_null(options_similar_verb(""));
	assert_null(options_similar_verb(
		"a word far longer than any verb there will ever be"));
}

/* A small random generator, so that a seed gives the same words everywhere. */
static uint64_t seed;

static uint32_t roll(uint32_t sides)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % sides;
}

#define MODEL_WORDS 64

/* A meaning, and one of the ways to type it. */
struct model {
	struct invocation meant;
	const char *words[MODEL_WORDS];
	size_t n;
	char text[MODEL_WORDS][32];
	size_t texts;
};

static char *new_text(struct model *m)
{
	return m->text[m->texts++];
}

static void model_option(struct model *m, const struct verb_option *o)
{
	uint64_t number = 1 + roll(1000000);
	char *word = new_text(m), *value = new_text(m);
	bool is_short = o->letter && roll(2), joined = roll(2);

	(void)snprintf(value, 32, "%llu", (unsigned long long)number);
	m->meant.options[o->id] = (struct option_value){
		.given = true,
		.text = o->kind == OPTION_FLAG ? NULL : value,
		.number = o->kind == OPTION_NUMBER || o->kind == OPTION_SIZE
				  ? number
				  : 0,
	};
	if (is_short)
		(void)snprintf(word, 32, "-%c%s", o->letter,
			       o->value && joined ? value : "");
	else
		(void)snprintf(word, 32, "--%s%s%s", o->name,
			       o->value && joined ? "=" : "",
			       o->value && joined ? value : "");
	m->words[m->n++] = word;
	if (o->value && !joined)
		m->words[m->n++] = value;
}

static void model_make(struct model *m, const struct verb *v)
{
	size_t argument = 0;

	*m = (struct model){ .meant.verb = v };
	for (const struct verb_option *o = v->options; o->name; o++) {
		while (v->arguments[argument].name && roll(3) == 0) {
			char *word = new_text(m);

			(void)snprintf(word, 32, "arg%u", roll(100));
			m->words[m->n++] = word;
			m->meant.arguments[argument++] = word;
		}
		if (roll(2))
			model_option(m, o);
	}
	for (; v->arguments[argument].name && !v->arguments[argument].optional;
	     argument++) {
		m->words[m->n++] = "last";
		m->meant.arguments[argument] = "last";
	}
	if (v->command && roll(2)) {
		m->words[m->n++] = "--";
		m->meant.command = argv_of(m->words + m->n);
		m->words[m->n++] = "command";
	}
}

/* Of a verb that takes any number of them. */
static void assert_words(const struct model *m, const struct invocation *in)
{
	size_t count = 0;

	for (; count < VERB_ARGUMENTS_MAX && m->meant.arguments[count]; count++)
		assert_string_equal(in->words[count],
				    m->meant.arguments[count]);
	assert_int_equal(in->words_count, count);
	assert_null(in->words[count]);
}

static void assert_as_meant(const struct model *m, const struct invocation *in)
{
	assert_ptr_equal(in->verb, m->meant.verb);
	assert_ptr_equal(in->command, m->meant.command);
	if (in->words)
		assert_words(m, in);
	for (size_t i = 0; i < VERB_ARGUMENTS_MAX; i++) {
		const char *meant = m->meant.arguments[i];

		if (in->words)
			continue;
		assert_int_equal(!in->arguments[i], !meant);
		if (meant)
			assert_string_equal(in->arguments[i], meant);
	}
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option_value *meant = &m->meant.options[i];

		assert_int_equal(in->options[i].given, meant->given);
		assert_true(in->options[i].number == meant->number);
		if (meant->text)
			assert_string_equal(in->options[i].text, meant->text);
	}
}

static void a_repeated_argument_may_come_between_options(void **state)
{
	struct invocation in =
		parse(VERB_UNDO, WORDS("3", "--yes", "a", "b", "--ours", "c",
				       "--", "--d", "e"));
	static const char *const words[] = { "3", "a", "b", "c", "--d", "e" };

	(void)state;
	assert_int_equal(in.words_count, 6);
	for (size_t i = 0; i < in.words_count; i++)
		assert_string_equal(in.words[i], words[i]);
	assert_null(in.words[6]);
	assert_true(in.options[OPTION_OURS].given);
	assert_refused(VERB_UNDO, WORDS("3", ""), "an argument is empty");
}

static void whatever_is_meant_is_understood(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct model m;
		struct invocation in = { 0 };
		char *why = NULL;

		model_make(&m, verbs[roll(VERBS)]);
		if (options_parse(m.meant.verb, argv_of(m.words), &in, &why) <
		    0)
			fail_msg("round %d: %s", round, why);
		assert_as_meant(&m, &in);
	}
}

static void whatever_is_typed_gets_an_answer_of_one_line(void **state)
{
	(void)state;
	static const char *const pieces[] = {
		"-",	   "--",      "=",    "-n",   "--path", "--json",
		"--keep=", "--help=", "-fph", "",     "\xff",	"a",
		"--=x",	   "-=",      "---",  "99999"
	};

	for (int round = 0; round < 20000; round++) {
		const char *words[6] = { NULL };
		const struct verb *v = verbs[roll(VERBS)];
		struct invocation in = { 0 };
		char *why = NULL;
		uint32_t n = roll(6);

		for (uint32_t i = 0; i < n; i++)
			words[i] = pieces[roll(sizeof(pieces) /
					       sizeof(pieces[0]))];
		if (options_parse(v, argv_of(words), &in, &why) == 0) {
			assert_ptr_equal(in.verb, v);
			assert_null(why);
		} else {
			assert_non_null(why);
			assert_null(strchr(why, '\n'));
			assert_null(in.verb);
		}
		free(why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_and_short_forms_say_the_same),
		cmocka_unit_test(options_and_arguments_come_in_any_order),
		cmocka_unit_test(an_option_given_twice_counts_as_given_last),
		cmocka_unit_test(a_value_may_look_like_an_option_or_be_empty),
		cmocka_unit_test(after_two_dashes_nothing_is_an_option),
		cmocka_unit_test(
			after_two_dashes_a_command_keeps_its_own_dashes),
		cmocka_unit_test(sizes_have_units_and_an_end),
		cmocka_unit_test(numbers_are_whole_and_not_negative),
		cmocka_unit_test(a_refusal_names_the_mistake_and_the_way_out),
		cmocka_unit_test(help_excuses_what_is_missing),
		cmocka_unit_test(similar_verbs_are_found_and_others_are_not),
		cmocka_unit_test(a_repeated_argument_may_come_between_options),
		cmocka_unit_test(whatever_is_meant_is_understood),
		cmocka_unit_test(whatever_is_typed_gets_an_answer_of_one_line),
	};
	const char *given = getenv("SEED"); /* NOLINT(concurrency-mt-unsafe) */

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	print_message("SEED=%llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
