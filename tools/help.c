#include "tools/help.h"

#include <string.h>

#include "graph/base/cleanup.h"
#include "tools/options.h"
#include "tools/say.h"

#define WIDTH	       79 /* the last column makes some terminals wrap */
#define OPTION_COLUMN  24
#define SUMMARY_COLUMN 11

void help_summary(FILE *out)
{
	(void)fprintf(out, "statetape - %s\n\n", verb_program_summary);
	(void)fputs("Usage: statetape VERB [OPTION...] [ARGUMENT...]\n\n", out);
	for (const struct verb *v = verbs; v < verbs + VERBS; v++)
		if (!v->hidden)
			(void)fprintf(out, "  %-*s%s\n", SUMMARY_COLUMN - 2,
				      v->name, v->summary);
	(void)fputs("\n'statetape help VERB' explains one of them; "
		    "'statetape --version' says which\nstatetape this is. "
		    "New here? Try 'statetape demo'.\n",
		    out);
}

/* One word of a synopsis; `*at` is the column where it would begin. */
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
	char *letter =
		o->letter ? sentence("-%c|", o->letter) : sentence("%s", "");

	return sentence("[%s--%s%s%s]", letter, o->name, o->value ? " " : "",
			o->value ? o->value : "");
}

static void print_synopsis(FILE *out, const struct verb *v)
{
	CLEANUP(free_p) char *start = sentence("Usage: statetape %s", v->name);
	size_t at = strlen(start), indent = at + 1;

	(void)fputs(start, out);
	for (const struct verb_option *o = v->options; o->name; o++) {
		CLEANUP(free_p) char *word = option_word(o);

		print_word(out, word, indent, &at);
	}
	for (const struct verb_argument *a = v->arguments; a->name; a++) {
		CLEANUP(free_p)
		char *word = sentence(a->optional ? "[%s]" : "%s", a->name);

		print_word(out, word, indent, &at);
	}
	if (v->command)
		print_word(out, "[-- COMMAND [ARG...]]", indent, &at);
	(void)fputc('\n', out);
}

static void print_option(FILE *out, const struct verb_option *o)
{
	int at = o->letter ? fprintf(out, "  -%c, --%s", o->letter, o->name)
			   : fprintf(out, "      --%s", o->name);

	if (o->value)
		at += fprintf(out, " %s", o->value);
	at += fprintf(out, "%*s", at < OPTION_COLUMN ? OPTION_COLUMN - at : 1,
		      "");
	print_wrapped(out, o->text, (size_t)at, OPTION_COLUMN, WIDTH);
}

void help_verb(FILE *out, const struct verb *v)
{
	print_synopsis(out, v);
	(void)fprintf(out, "\n%s.\n\n", v->summary);
	print_wrapped(out, v->description, 0, 0, WIDTH);
	(void)fputs("\nOptions:\n", out);
	for (const struct verb_option *o = v->options; o->name; o++)
		print_option(out, o);
	print_option(out, &verb_help_option);
	if (v->examples)
		(void)fputs("\nExamples:\n", out);
	for (const struct verb_example *e = v->examples; e && e->command; e++)
		(void)fprintf(out, "  %s\n      %s\n", e->command, e->text);
}

int verb_help(const struct invocation *in)
{
	const char *name = in->arguments[0];
	const struct verb *v = name ? verb_find(name) : NULL;
	const char *similar = name ? options_similar_verb(name) : NULL;

	if (!name)
		help_summary(stdout);
	else if (v)
		help_verb(stdout, v);
	else if (similar)
		return complain_usage("there is no verb '%s'; did you mean "
				      "'%s'?",
				      name, similar);
	else
		return complain_usage("there is no verb '%s'; 'statetape help' "
				      "lists them",
				      name);
	return EXIT_SUCCESS;
}
