#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tools/cli/config.h"
#include "tools/cli/generate.h"
#include "tools/cli/verbs.h"

typedef void (*generator)(FILE *out);

static char *generated(generator print)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	print(out);
	(void)fclose(out);
	return text;
}

static void assert_contains(const char *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void assert_contains(const char *text, const char *format, ...)
{
	char wanted[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(wanted, sizeof(wanted), format, args);
	va_end(args);
	if (!strstr(text, wanted))
		fail_msg("not there: %s", wanted);
}

/* An option's name with its dashes escaped for roff. */
static void roff_name(const char *name, char *ret, size_t size)
{
	size_t at = 0;

	for (; *name && at + 3 < size; name++) {
		if (*name == '-')
			ret[at++] = '\\';
		ret[at++] = *name;
	}
	ret[at] = '\0';
}

static void the_man_page_has_each_verb_and_option(void **state)
{
	(void)state;
	CLEANUP(free_p) char *text = generated(generate_man);

	FOR_EACH_VERB (v) {
		assert_contains(text, ".SS %s\n", v->name);
		for (const struct verb_option *o = v->options; o->name; o++) {
			char name[64];

			roff_name(o->name, name, sizeof(name));
			assert_contains(text, "\\fB\\-\\-%s\\fR", name);
		}
	}
	for (const struct verb_note *n = verb_environment; n->name; n++)
		assert_contains(text, "\n.B %s\n", n->name);
}

static void no_text_line_of_the_man_page_is_taken_for_a_macro(void **state)
{
	(void)state;
	CLEANUP(free_p) char *text = generated(generate_man);

	for (char *line = text; *line; line += strcspn(line, "\n") + 1) {
		assert_int_not_equal(line[0], '\'');
		if (line[0] == '.')
			assert_true(line[1] >= 'A' && line[1] <= 'Z');
	}
}

static void each_completion_has_each_verb_and_option(void **state)
{
	(void)state;
	CLEANUP(free_p) char *bash = generated(generate_bash);
	CLEANUP(free_p) char *zsh = generated(generate_zsh);
	CLEANUP(free_p) char *fish = generated(generate_fish);

	FOR_EACH_VERB (v) {
		assert_contains(bash, "\t'%s')\n", v->name);
		assert_contains(zsh, "\t\t'%s')\n", v->name);
		assert_contains(fish, "'__statetape_verb %s'", v->name);
		if (v->hidden)
			continue;
		assert_contains(zsh, "'%s:%s'", verb_word(v), v->summary);
		assert_contains(fish, "-a %s -d '%s'", verb_word(v),
				v->summary);
		for (const struct verb_option *o = v->options; o->name; o++) {
			assert_contains(bash, " --%s", o->name);
			assert_contains(zsh, "--%s", o->name);
			assert_contains(fish, "'__statetape_verb %s'", v->name);
			assert_contains(fish, " -l %s", o->name);
		}
	}
}

static void the_man_page_has_each_setting(void **state)
{
	(void)state;
	CLEANUP(free_p) char *text = generated(generate_man);

	for (int i = 0; i < CONFIGS; i++)
		assert_contains(text,
				".TP\n\\fB%s\\fR in \\fB[%s]\\fR, "
				"\\fB%s\\fR\n",
				config_rows[i].key, config_rows[i].table,
				config_rows[i].variable);
	assert_contains(text, "One of \\fBpinned\\fR, \\fBeager\\fR or "
			      "\\fBoff\\fR.\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_man_page_has_each_verb_and_option),
		cmocka_unit_test(the_man_page_has_each_setting),
		cmocka_unit_test(
			no_text_line_of_the_man_page_is_taken_for_a_macro),
		cmocka_unit_test(each_completion_has_each_verb_and_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
