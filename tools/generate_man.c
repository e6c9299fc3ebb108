/*
 * statetape(1) in man(7) macros, which have no date to go stale. Texts of the
 * table are plain; what roff would take for its own is escaped here.
 */
#include "tools/generate.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "tools/verbs.h"

/* One character. A dash that begins a word belongs to an option: a minus. */
static void put_char(FILE *out, char before, char c)
{
	switch (c) {
	case '\\':
		(void)fputs("\\e", out);
		break;
	case '~':
		(void)fputs("\\(ti", out);
		break;
	case '-':
		(void)fputs(isalnum((unsigned char)before) ? "-" : "\\-", out);
		break;
	default:
		(void)fputc(c, out);
	}
}

/* Text in one line; at its beginning a dot or a quote would be a macro. */
static void put_line(FILE *out, const char *text, const char *end)
{
	char before = ' ';

	if (*text == '.' || *text == '\'')
		(void)fputs("\\&", out);
	for (; *text; before = *text++)
		put_char(out, before, *text);
	(void)fprintf(out, "%s\n", end);
}

/* Example input: as typed, with the quotes a shell wants. */
static void put_example(FILE *out, const char *text)
{
	for (; *text; text++)
		if (*text == '\'')
			(void)fputs("\\(aq", out);
		else if (*text == '-')
			(void)fputs("\\-", out);
		else
			put_char(out, ' ', *text);
	(void)fputc('\n', out);
}

/* Paragraphs; what stands between is the macro of the place. */
static void put_text(FILE *out, const char *text, const char *between)
{
	const char *end;

	for (; (end = strstr(text, "\n\n")); text = end + 2) {
		char paragraph[4096];

		(void)snprintf(paragraph, sizeof(paragraph), "%.*s",
			       (int)(end - text), text);
		put_line(out, paragraph, "");
		(void)fprintf(out, "%s\n", between);
	}
	put_line(out, text, "");
}

static void put_option_name(FILE *out, const struct verb_option *o,
			    const char *between)
{
	if (o->letter)
		(void)fprintf(out, "\\fB\\-%c\\fR%s", o->letter, between);
	(void)fputs("\\fB\\-\\-", out);
	for (const char *c = o->name; *c; c++)
		(void)fputs(*c == '-' ? "\\-" : (char[]){ *c, '\0' }, out);
	(void)fputs("\\fR", out);
	if (o->value)
		(void)fprintf(out, "\\~\\fI%s\\fR", o->value);
}

static void put_synopsis(FILE *out, const struct verb *v)
{
	(void)fprintf(out, ".SY \"statetape %s\"\n", v->name);
	if (v->group)
		(void)fputs("\\fIVERB\\fR [\\fIOPTION\\fR...] "
			    "[\\fIARGUMENT\\fR...]\n",
			    out);
	for (const struct verb_option *o = v->options; o->name; o++) {
		(void)fputc('[', out);
		put_option_name(out, o, "|");
		(void)fputs("]\n", out);
	}
	for (const struct verb_argument *a = v->arguments; a->name; a++)
		(void)fprintf(out,
			      a->optional ? "[\\fI%s\\fR]\n" : "\\fI%s\\fR\n",
			      a->name);
	if (v->command)
		(void)fputs("[\\fB\\-\\-\\fR \\fICOMMAND\\fR "
			    "[\\fIARG\\fR...]]\n",
			    out);
	(void)fputs(".YS\n", out);
}

static void put_examples(FILE *out, const struct verb_example *examples)
{
	for (const struct verb_example *e = examples; e && e->command; e++) {
		(void)fprintf(out, ".PP\n%s:\n.RS 4\n.EX\n", e->text);
		put_example(out, e->command);
		(void)fputs(".EE\n.RE\n", out);
	}
}

static void put_verb(FILE *out, const struct verb *v)
{
	(void)fprintf(out, ".SS %s\n", v->name);
	put_synopsis(out, v);
	(void)fprintf(out, ".PP\n%s.\n.PP\n", v->summary);
	put_text(out, v->description, ".PP");
	for (const struct verb_option *o = v->options; o->name; o++) {
		(void)fputs(".TP\n", out);
		put_option_name(out, o, ", ");
		(void)fputc('\n', out);
		put_line(out, o->text, ".");
	}
	put_examples(out, v->examples);
}

static void put_notes(FILE *out, const char *title,
		      const struct verb_note *notes)
{
	(void)fprintf(out, ".SH %s\n", title);
	for (; notes->name; notes++) {
		(void)fputs(".TP\n.B ", out);
		put_line(out, notes->name, "");
		put_line(out, notes->text, "");
	}
}

void generate_man(FILE *out)
{
	(void)fprintf(out,
		      ".TH STATETAPE 1 \"\" \"statetape %s\"\n"
		      ".SH NAME\nstatetape \\- %s\n.SH SYNOPSIS\n",
		      STATETAPE_VERSION, verb_program_summary);
	(void)fputs(".SY statetape\n"
		    "\\fIVERB\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
		    ".YS\n.SY statetape\n\\fB\\-\\-help\\fR | "
		    "\\fB\\-\\-version\\fR\n.YS\n.SH DESCRIPTION\n",
		    out);
	put_text(out, verb_program_description, ".PP");
	(void)fputs(".SH VERBS\nEvery verb also has \\fB\\-h\\fR, "
		    "\\fB\\-\\-help\\fR, which explains it.\n",
		    out);
	for (const struct verb *v = verbs; v < verbs + VERBS; v++)
		put_verb(out, v);
	put_notes(out, "EXIT STATUS", verb_exits);
	put_notes(out, "ENVIRONMENT", verb_environment);
	put_notes(out, "FILES", verb_files);
	(void)fputs(".SH SEE ALSO\n.BR fusermount3 (1),\n"
		    ".BR mount.fuse3 (8),\n.BR inotify (7)\n",
		    out);
}
