/* statetape(1) in man(7) macros, without a date that would go stale. */
#include "tools/cli/generate.h"

#include "tools/cli/config.h"
#include "tools/cli/roff.h"
#include "tools/cli/verbs.h"

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
		(void)fprintf(out, "%s\\fI%s\\fR%s%s\n", a->optional ? "[" : "",
			      a->name, a->repeated ? "..." : "",
			      a->optional ? "]" : "");
	if (v->command)
		(void)fprintf(out,
			      "%s\\fB\\-\\-\\fR \\fICOMMAND\\fR "
			      "[\\fIARG\\fR...]%s\n",
			      verb_needs_command(v) ? "" : "[",
			      verb_needs_command(v) ? "" : "]");
	(void)fputs(".YS\n", out);
}

static void put_examples(FILE *out, const struct verb_example *examples)
{
	for (const struct verb_example *e = examples; e && e->command; e++) {
		(void)fprintf(out, ".PP\n%s:\n.RS 4\n.EX\n", e->text);
		roff_example(out, e->command);
		(void)fputs(".EE\n.RE\n", out);
	}
}

static void put_verb(FILE *out, const struct verb *v)
{
	(void)fprintf(out, ".SS %s\n", v->name);
	put_synopsis(out, v);
	(void)fprintf(out, ".PP\n%s.\n.PP\n", v->summary);
	roff_text(out, v->description, ".PP");
	for (const struct verb_option *o = v->options; o->name; o++) {
		(void)fputs(".TP\n", out);
		put_option_name(out, o, ", ");
		(void)fputc('\n', out);
		roff_line(out, o->text, ".");
	}
	put_examples(out, v->examples);
}

static void put_notes(FILE *out, const char *title,
		      const struct verb_note *notes)
{
	(void)fprintf(out, ".SH %s\n", title);
	for (; notes->name; notes++) {
		(void)fputs(".TP\n.B ", out);
		roff_line(out, notes->name, "");
		roff_line(out, notes->text, "");
	}
}

/* "pinned, eager or off." */
static void put_values(FILE *out, const char *const *values)
{
	const char *between = "One of";

	for (; *values; values++) {
		(void)fprintf(out, "%s \\fB%s\\fR", between, *values);
		between = values[1] && values[2] ? "," : " or";
	}
	(void)fputs(".\n", out);
}

static void put_setting(FILE *out, const struct config_row *c)
{
	(void)fprintf(out, ".TP\n\\fB%s\\fR in \\fB[%s]\\fR, \\fB%s\\fR\n",
		      c->key, c->table, c->variable);
	roff_line(out, c->text, ".");
	if (c->values)
		put_values(out, c->values);
	if (c->users)
		(void)fputs("Not from a repository's file.\n", out);
}

/* The configuration keys, from the table in config.c. */
static void put_config(FILE *out)
{
	(void)fputs(".SH CONFIGURATION\n", out);
	roff_text(out, config_description, ".PP");
	for (int i = 0; i < CONFIGS; i++)
		put_setting(out, &config_rows[i]);
	(void)fputs(".PP\nFor example:\n.RS 4\n.EX\n", out);
	roff_example(out, "[run]");
	roff_example(out, "mode = \"eager\"     # rewrite in place, at once");
	roff_example(out, "[tape]");
	roff_example(out, "keep = \"90/1G\"");
	roff_example(out, "anchor = [\"syslog\", \"file:/var/log/tape/me\"]");
	roff_example(out, "[upstream]");
	roff_example(out, "anthropic = \"https://gateway.example.com\"");
	(void)fputs(".EE\n.RE\n", out);
}

static const char evidence[] =
	"The tape's entries are chained by SHA-256, together with the SHA-256 "
	"of contents of up to 1 MiB: see HASH CHAIN in statetape-tape(5). "
	"'statetape verify' finds what was altered within. Who can write the "
	"store, as any process of the same user can, the agent included, can "
	"also cut off its end, or rewrite it with all hashes. To show that "
	"later, a checkpoint of the newest entry must be kept where that "
	"process cannot reach it: an anchor, which only the user's own file "
	"or environment can set.\n"
	"\n"
	"syslog sends a line to the system's log, facility authpriv; "
	"syslog:PATH to another socket. file:PATH appends a line to a file on "
	"a local disk (made with mode 0600): root can make it append-only, "
	"with chattr +a. command:PROGRAM ARGUMENTS runs the program, without "
	"a shell, with the line on its standard input, and kills it after "
	"10 s; words are separated by blanks, a word in single or double "
	"quotes may have blanks in it, and nothing in them is replaced. Under "
	"a private mount of an ordinary user, set-user-id programs gain "
	"nothing. An anchor that fails is said once and counted by 'statetape "
	"status'; the tape never waits for one.\n"
	"\n"
	"There is a checkpoint when a tape starts, every anchor_every entries, "
	"at the end of each run, and when the tape ends. It is a line of this "
	"form: statetape-checkpoint 1 repo=ID tape=NUMBER n=ENTRY chain=HASH "
	"at=DATE.\n"
	"\n"
	"'statetape verify --against FILE' reads such lines, whatever stands "
	"before them, and finds entries that are missing behind the end, "
	"entries that were rewritten, and a tape that was replaced. What it "
	"proves is that all entries up to the newest checkpoint that agrees, "
	"and their contents, are as they were when it was made. It does not "
	"prove that they were true then, nor anything about later ones.";

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
	roff_text(out, verb_program_description, ".PP");
	(void)fputs(".SH VERBS\nEvery verb also has \\fB\\-h\\fR, "
		    "\\fB\\-\\-help\\fR, which explains it.\n",
		    out);
	FOR_EACH_VERB (v)
		put_verb(out, v);
	put_config(out);
	(void)fputs(".SH EVIDENCE\n", out);
	roff_text(out, evidence, ".PP");
	put_notes(out, "EXIT STATUS", verb_exits);
	put_notes(out, "ENVIRONMENT", verb_environment);
	put_notes(out, "FILES", verb_files);
	(void)fputs(".SH SEE ALSO\n.BR fusermount3 (1),\n"
		    ".BR mount.fuse3 (8),\n.BR inotify (7),\n"
		    ".BR statetape\\-tape (5)\n",
		    out);
}
