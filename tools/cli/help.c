#include "tools/cli/help.h"

#include <string.h>

#include "graph/base/cleanup.h"
#include "tools/cli/options.h"
#include "tools/cli/say.h"

#define WIDTH	       79 /* some terminals wrap at the last column */
#define OPTION_COLUMN  24
#define SUMMARY_COLUMN 11

/* Print the verbs of `group`, or the top-level verbs. */
static void print_verbs(FILE *out, const struct verb *group)
{
	FOR_EACH_VERB (v)
		if (!v->hidden && verb_is_part(v, group))
			(void)fprintf(out, "  %-*s%s\n", SUMMARY_COLUMN - 2,
				      verb_word(v), v->summary);
}

void help_summary(FILE *out)
{
	(void)fprintf(out, "statetape - %s\n\n", verb_program_summary);
	(void)fputs("Usage: statetape VERB [OPTION...] [ARGUMENT...]\n\n", out);
	print_verbs(out, NULL);
	(void)fputs("\n'statetape help VERB' explains one of them; "
		    "'statetape --version' says which\nstatetape this is. "
		    "New here? Try 'statetape demo'.\n",
		    out);
}

/* Print one word of a synopsis; `*at` is the column it would begin in. */
static void print_word(FILE *out, const char *word, size_t indent, size_t *at)
{
	size_t len = strlen(word);

	if (*at + 1 + len > WIDTH) {
		(void)fprintf(out, "\n%*s", (int)indent, "");
		*at = indent;
	} else {
		(void)fputc(' ', out);
		(*at)++;
	}
	(void)fputs(word, out);
	*at += len;
}

static char *option_word(const struct verb_option *o)
{
	CLEANUP(free_p)
	char *letter = o->letter ? format_text("-%c|", o->letter)
				 : format_text("%s", "");

	return format_text("[%s--%s%s%s]", letter, o->name, o->value ? " " : "",
			   o->value ? o->value : "");
}

static void print_synopsis(FILE *out, const struct verb *v)
{
	CLEANUP(free_p)
	char *start = format_text("Usage: statetape %s", v->name);
	size_t at = strlen(start), indent = at + 1;

	(void)fputs(start, out);
	if (v->group)
		print_word(out, "VERB [OPTION...] [ARGUMENT...]", indent, &at);
	for (const struct verb_option *o = v->options; o->name; o++) {
		CLEANUP(free_p) char *word = option_word(o);

		print_word(out, word, indent, &at);
	}
	for (const struct verb_argument *a = v->arguments; a->name; a++) {
		CLEANUP(free_p)
		char *word = format_text("%s%s%s%s", a->optional ? "[" : "",
					 a->name, a->repeated ? "..." : "",
					 a->optional ? "]" : "");

		print_word(out, word, indent, &at);
	}
	if (v->command)
		print_word(out,
			   verb_needs_command(v) ? "-- COMMAND [ARG...]"
						 : "[-- COMMAND [ARG...]]",
			   indent, &at);
	(void)fputc('\n', out);
}

static void print_option(FILE *out, const struct verb_option *o)
{
	int at = o->letter ? fprintf(out, "  -%c, --%s", o->letter, o->name)
			   : fprintf(out, "      --%s", o->name);

	if (o->value)
		at += fprintf(out, " %s", o->value);
	/* After a long name the text begins on the next line. */
	if (at >= OPTION_COLUMN)
		at = fprintf(out, "\n") - 1;
	(void)fprintf(out, "%*s", OPTION_COLUMN - at, "");
	print_wrapped(out, o->text, OPTION_COLUMN, OPTION_COLUMN, WIDTH);
}

void help_verb(FILE *out, const struct verb *v)
{
	print_synopsis(out, v);
	(void)fprintf(out, "\n%s.\n\n", v->summary);
	print_wrapped(out, v->description, 0, 0, WIDTH);
	if (v->group) {
		(void)fputs("\nVerbs:\n", out);
		print_verbs(out, v);
	}
	(void)fputs("\nOptions:\n", out);
	for (const struct verb_option *o = v->options; o->name; o++)
		print_option(out, o);
	print_option(out, &verb_help_option);
	if (v->examples)
		(void)fputs("\nExamples:\n", out);
	for (const struct verb_example *e = v->examples; e && e->command; e++)
		(void)fprintf(out, "  %s\n      %s\n", e->command, e->text);
}

/* The verb that these words name; NULL: none. */
static const struct verb *find_words(const char *name, const char *part)
{
	const struct verb *v = verb_find(name);

	return v && part ? verb_find_part(v, part) : v;
}

int verb_help(const struct invocation *in)
{
	const char *name = in->arguments[0], *part = in->arguments[1];
	CLEANUP(free_p) char *words = NULL;
	const struct verb *v;
	const char *similar;

	if (!name) {
		help_summary(stdout);
		return EXIT_SUCCESS;
	}
	v = find_words(name, part);
	if (v) {
		help_verb(stdout, v);
		return EXIT_SUCCESS;
	}
	words = part ? format_text("%s %s", name, part)
		     : format_text("%s", name);
	similar = options_similar_verb(words);
	if (similar)
		return say_usage_error("there is no verb '%s'; did you mean "
				       "'%s'?",
				       words, similar);
	return say_usage_error("there is no verb '%s'; 'statetape help%s%s' "
			       "lists them",
			       words, part && verb_find(name) ? " " : "",
			       part && verb_find(name) ? name : "");
}
