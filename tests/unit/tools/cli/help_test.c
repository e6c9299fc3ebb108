#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tools/cli/help.h"

static char *summary_text(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	help_summary(out);
	(void)fclose(out);
	return text;
}

static char *verb_text(const struct verb *v)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	help_verb(out, v);
	(void)fclose(out);
	return text;
}

static size_t times(const char *text, const char *word)
{
	size_t n = 0;

	for (; *text; text++)
		n += strncmp(text, word, strlen(word)) == 0;
	return n;
}

static void assert_fits(const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		if (strcspn(line, "\n") > 80)
			fail_msg("too wide: %.*s", (int)strcspn(line, "\n"),
				 line);
}

static void the_summary_lists_each_verb_but_the_hidden(void **state)
{
	(void)state;
	CLEANUP(free_p) char *text = summary_text();

	for (size_t i = 0; i < VERBS; i++) {
		char line[128];
		bool there;

		(void)snprintf(line, sizeof(line), "%s\n", verbs[i]->summary);
		there = strstr(text, line);
		assert_int_equal(there, !verbs[i]->hidden &&
						verb_is_part(verbs[i], NULL));
	}
}

static void a_group_lists_its_parts(void **state)
{
	(void)state;
	const struct verb *group = verb_find("graph");
	CLEANUP(free_p) char *text = verb_text(group);

	for (size_t i = 0; i < VERBS; i++)
		if (verb_is_part(verbs[i], group))
			assert_non_null(strstr(text, verbs[i]->summary));
	assert_ptr_equal(verb_find_part(group, "edges"),
			 verbs[VERB_GRAPH_EDGES]);
	assert_null(verb_find_part(group, "mount"));
	assert_null(verb_find_part(verbs[VERB_MOUNT], "edges"));
}

static void a_verb_explains_each_of_its_options(void **state)
{
	(void)state;
	for (size_t i = 0; i < VERBS; i++) {
		CLEANUP(free_p) char *text = verb_text(verbs[i]);

		assert_non_null(strstr(text, "--help"));
		for (const struct verb_option *o = verbs[i]->options; o->name;
		     o++) {
			char word[64];

			(void)snprintf(word, sizeof(word), "--%s", o->name);
			/*
			 * Once in the synopsis, and again with its description.
			 */
			assert_true(times(text, word) >= 2);
		}
		for (const struct verb_argument *a = verbs[i]->arguments;
		     a->name; a++)
			assert_non_null(strstr(text, a->name));
	}
}

static void everything_fits_into_eighty_columns(void **state)
{
	(void)state;
	CLEANUP(free_p) char *summary = summary_text();

	assert_fits(summary);
	for (size_t i = 0; i < VERBS; i++) {
		CLEANUP(free_p) char *text = verb_text(verbs[i]);

		assert_fits(text);
	}
}

/* Rules of the table that the parser and the completions rely on. */
static void the_table_is_well_formed(void **state)
{
	(void)state;
	FOR_EACH_VERB (v) {
		assert_non_null(v->name);
		assert_non_null(v->summary);
		assert_non_null(v->description);
		assert_null(v->arguments[VERB_ARGUMENTS_MAX].name);
		assert_ptr_equal(verb_find(v->name), v);
		for (const struct verb_option *o = v->options; o->name; o++) {
			assert_true(o->id != OPTION_HELP);
			assert_int_equal(!o->value, o->kind == OPTION_FLAG);
			/* No two options share a name or a letter. */
			assert_ptr_equal(verb_option_find(v, o->name), o);
			if (o->letter)
				assert_ptr_equal(
					verb_option_find_letter(v, o->letter),
					o);
			assert_true(o->letter != verb_help_option.letter);
		}
		for (const struct verb_argument *a = v->arguments; a->name; a++)
			if (a->optional && a[1].name)
				assert_true(a[1].optional);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_summary_lists_each_verb_but_the_hidden),
		cmocka_unit_test(a_group_lists_its_parts),
		cmocka_unit_test(a_verb_explains_each_of_its_options),
		cmocka_unit_test(everything_fits_into_eighty_columns),
		cmocka_unit_test(the_table_is_well_formed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
