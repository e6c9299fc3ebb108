/*
 * Completions. Each shell gets a short script of its own with the parts that
 * depend on the table filled in. The shells differ too much for one script in
 * three syntaxes.
 */
#include "tools/cli/generate.h"

#include <string.h>

#include "graph/base/cleanup.h"
#include "tools/cli/options.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

/*
 * Print `text` inside single quotes of a shell, with a backslash before each
 * character in `special`.
 */
static void put_quoted(FILE *out, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			(void)fputs("'\\'", out);
		else if (strchr(special, *text))
			(void)fputc('\\', out);
		(void)fputc(*text, out);
	}
}

/* Print the verbs of `group`, or the top-level verbs. */
static void put_verb_names(FILE *out, const struct verb *group)
{
	FOR_EACH_VERB (v)
		if (!v->hidden && verb_is_part(v, group))
			(void)fprintf(out, " %s", verb_word(v));
}

static void put_formats(FILE *out)
{
	for (size_t i = 0; i < FORMATS; i++)
		(void)fprintf(out, " %s", verb_formats[i]);
}

/* bash */

static void bash_words(FILE *out, const struct verb_option *o)
{
	if (o->letter)
		(void)fprintf(out, " -%c", o->letter);
	(void)fprintf(out, " --%s", o->name);
}

/* "(--mode)mode (-m)mode": what completes the options' values. */
static void bash_values(FILE *out, const struct verb_option *o)
{
	const char *kind = complete_names[o->complete];

	if (o->complete == COMPLETE_NOTHING)
		return;
	(void)fprintf(out, " --%s:%s", o->name, kind);
	if (o->letter)
		(void)fprintf(out, " -%c:%s", o->letter, kind);
}

static void bash_verb(FILE *out, const struct verb *v)
{
	bool repeated = false;

	(void)fprintf(out, "\t'%s')\n", v->name);
	if (v->group) {
		(void)fputs("\t\tparts='", out);
		put_verb_names(out, v);
		(void)fputs("'\n", out);
	}
	(void)fputs("\t\toptions='", out);
	for (const struct verb_option *o = v->options; o->name; o++)
		bash_words(out, o);
	bash_words(out, &verb_help_option);
	(void)fputs("'\n\t\tvalued='", out);
	for (const struct verb_option *o = v->options; o->name; o++)
		if (o->kind != OPTION_FLAG)
			bash_words(out, o);
	(void)fputs(" '\n\t\tvalues='", out);
	for (const struct verb_option *o = v->options; o->name; o++)
		bash_values(out, o);
	(void)fputs(" '\n\t\targuments=(", out);
	for (const struct verb_argument *a = v->arguments; a->name; a++) {
		(void)fprintf(out, " %s", complete_names[a->complete]);
		repeated = a->repeated;
	}
	(void)fprintf(out, " )\n\t\trepeated=%d\n\t\tcommand=%d\n\t\t;;\n",
		      repeated, v->command);
}

static const char bash_head[] =
	"# bash completion for statetape, printed by 'statetape generate "
	"bash'.\n"
	"\n"
	"# What the verb $1 takes, into the caller's variables.\n"
	"_statetape_verb()\n"
	"{\n"
	"\tcase $1 in\n";

static const char bash_tail[] =
	"\t*)\n"
	"\t\treturn 1\n"
	"\t\t;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_statetape_reply()\n"
	"{\n"
	"\tmapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"_statetape_files()\n"
	"{\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\t_statetape_reply \"$@\"\n"
	"}\n"
	"\n"
	"# One candidate per line; a description follows a tab.\n"
	"_statetape_ask()\n"
	"{\n"
	"\tlocal IFS=$'\\n'\n"
	"\t_statetape_reply -W \"$(statetape complete \"$1\" ${cur:+\"$cur\"} "
	"\\\n"
	"\t\t2>/dev/null | cut -f1)\"\n"
	"}\n"
	"\n"
	"# Complete with what $1 names.\n"
	"_statetape_kind()\n"
	"{\n"
	"\tlocal found\n"
	"\n"
	"\tcase $1 in\n"
	"\tdirectory)\n"
	"\t\t_statetape_files -d\n"
	"\t\t;;\n"
	"\tfile)\n"
	"\t\t_statetape_files -f\n"
	"\t\t;;\n"
	"\tverb)\n"
	"\t\t_statetape_reply -W \"$_statetape_verbs\"\n"
	"\t\t;;\n"
	"\tformat)\n"
	"\t\t_statetape_reply -W \"$_statetape_formats\"\n"
	"\t\t;;\n"
	"\tentry | symbol)\n"
	"\t\t_statetape_ask \"$1\"\n"
	"\t\t;;\n"
	"\trepository)\n"
	"\t\t_statetape_ask repository\n"
	"\t\tfound=(\"${COMPREPLY[@]}\")\n"
	"\t\t_statetape_files -d\n"
	"\t\tCOMPREPLY+=(\"${found[@]}\")\n"
	"\t\t;;\n"
	"\tfile_or_symbol)\n"
	"\t\t_statetape_ask symbol\n"
	"\t\tfound=(\"${COMPREPLY[@]}\")\n"
	"\t\t_statetape_files -f\n"
	"\t\tCOMPREPLY+=(\"${found[@]}\")\n"
	"\t\t;;\n"
	"\t*)\n"
	"\t\tfound=_statetape_words_$1\n"
	"\t\t_statetape_reply -W \"${!found}\"\n"
	"\t\t;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# The command after --: completed as if it stood alone.\n"
	"_statetape_command()\n"
	"{\n"
	"\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telif ((COMP_CWORD == $1)); then\n"
	"\t\t_statetape_files -c\n"
	"\telse\n"
	"\t\t_statetape_files -f\n"
	"\tfi\n"
	"}\n"
	"\n"
	"_statetape()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} i word position=0 ended=0\n"
	"\tlocal options valued values arguments repeated command parts=''\n"
	"\tlocal first=2 kind\n"
	"\n"
	"\tCOMPREPLY=()\n"
	"\tif ((COMP_CWORD == 1)); then\n"
	"\t\t_statetape_reply -W \"$_statetape_verbs --help --version\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t_statetape_verb \"${COMP_WORDS[1]}\" || return\n"
	"\tif [[ $parts ]]; then\n"
	"\t\tif ((COMP_CWORD == 2)); then\n"
	"\t\t\t_statetape_reply -W \"$parts --help\"\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\t\tfirst=3\n"
	"\t\t_statetape_verb \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" || "
	"return\n"
	"\tfi\n"
	"\tfor ((i = first; i < COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif [[ $ended == 0 && $word == -- ]]; then\n"
	"\t\t\tended=1\n"
	"\t\t\tif [[ $command == 1 ]]; then\n"
	"\t\t\t\t_statetape_command $((i + 1))\n"
	"\t\t\t\treturn\n"
	"\t\t\tfi\n"
	"\t\telif [[ $ended == 0 && $valued == *\" $word \"* ]]; then\n"
	"\t\t\t# Its value is the next word; bash cuts --name=value in three.\n"
	"\t\t\t[[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))\n"
	"\t\t\tif ((++i >= COMP_CWORD)); then\n"
	"\t\t\t\tkind=${values##* \"$word\":}\n"
	"\t\t\t\t[[ $kind == \"$values\" ]] ||\n"
	"\t\t\t\t\t_statetape_kind \"${kind%% *}\"\n"
	"\t\t\t\treturn\n"
	"\t\t\tfi\n"
	"\t\telif [[ $ended == 1 || $word != -?* ]]; then\n"
	"\t\t\t((position++))\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tif [[ $ended == 0 && $cur == -* ]]; then\n"
	"\t\t_statetape_reply -W \"$options\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif ((repeated && position >= ${#arguments[@]})); then\n"
	"\t\tposition=$((${#arguments[@]} - 1))\n"
	"\tfi\n"
	"\t[[ ${arguments[position]} ]] &&\n"
	"\t\t_statetape_kind \"${arguments[position]}\"\n"
	"}\n"
	"\n"
	"complete -F _statetape statetape\n";

void generate_bash(FILE *out)
{
	(void)fputs(bash_head, out);
	FOR_EACH_VERB (v)
		bash_verb(out, v);
	(void)fputs(bash_tail, out);
	(void)fputs("_statetape_verbs='", out);
	put_verb_names(out, NULL);
	(void)fputs("'\n_statetape_formats='", out);
	put_formats(out);
	(void)fputs("'\n", out);
	for (size_t i = 0; i < COMPLETES; i++)
		if (complete_words[i])
			(void)fprintf(out, "_statetape_words_%s='%s'\n",
				      complete_names[i], complete_words[i]);
}

/* zsh */

static void zsh_values(FILE *out, enum complete kind)
{
	switch (kind) {
	case COMPLETE_NOTHING:
		(void)fputc(' ', out);
		return;
	case COMPLETE_DIRECTORY:
		(void)fputs("_directories", out);
		return;
	case COMPLETE_FILE:
		(void)fputs("_files", out);
		return;
	case COMPLETE_VERB:
		(void)fputc('(', out);
		put_verb_names(out, NULL);
		(void)fputs(" )", out);
		return;
	case COMPLETE_FORMAT:
		(void)fputc('(', out);
		put_formats(out);
		(void)fputs(" )", out);
		return;
	case COMPLETE_MODE:
	case COMPLETE_POLICY:
	case COMPLETE_MOUNT:
	case COMPLETE_EXPORT:
	case COMPLETE_NOTES:
		(void)fprintf(out, "(%s)", complete_words[kind]);
		return;
	case COMPLETE_ENTRY:
	case COMPLETE_SYMBOL:
	case COMPLETE_REPOSITORY:
	case COMPLETE_FILE_OR_SYMBOL:
	case COMPLETES:
		(void)fprintf(out, "{_statetape_ask %s}", complete_names[kind]);
	}
}

static void zsh_option(FILE *out, const struct verb_option *o)
{
	(void)fputs(" \\\n\t\t\t\t", out);
	if (o->letter)
		(void)fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter,
			      o->name, o->letter, o->value ? "+" : "", o->name,
			      o->value ? "=" : "");
	else
		(void)fprintf(out, "'--%s%s[", o->name, o->value ? "=" : "");
	put_quoted(out, o->text, "[]:\\");
	(void)fputc(']', out);
	if (o->value) {
		(void)fprintf(out, ":%s:", o->value);
		zsh_values(out, o->complete);
	}
	(void)fputc('\'', out);
}

static void zsh_argument(FILE *out, const struct verb_argument *a, size_t i)
{
	CLEANUP(free_p)
	char *place =
		a->repeated ? format_text("*") : format_text("%zu", i + 1);

	(void)fprintf(out, " \\\n\t\t\t\t'%s:%s%s:", place,
		      a->optional && !a->repeated ? ":" : "", a->name);
	zsh_values(out, a->complete);
	(void)fputc('\'', out);
}

static const char zsh_command[] = "\t\t\tlocal -i dashes=${words[(i)--]}\n"
				  "\t\t\tif (( dashes < CURRENT )); then\n"
				  "\t\t\t\tshift $dashes words\n"
				  "\t\t\t\t(( CURRENT -= dashes ))\n"
				  "\t\t\t\t_normal\n"
				  "\t\t\t\treturn\n"
				  "\t\t\tfi\n";

static void zsh_verb(FILE *out, const struct verb *v)
{
	(void)fprintf(out, "\t\t'%s')\n%s\t\t\t_arguments -s -S :", v->name,
		      v->command ? zsh_command : "");
	for (const struct verb_option *o = v->options; o->name; o++)
		zsh_option(out, o);
	zsh_option(out, &verb_help_option);
	for (size_t i = 0; v->arguments[i].name; i++)
		zsh_argument(out, &v->arguments[i], i);
	(void)fputs("\n\t\t\t;;\n", out);
}

static const char zsh_head[] =
	"#compdef statetape\n"
	"# zsh completion for statetape, printed by 'statetape generate zsh'.\n"
	"\n"
	"# One candidate per line; a description follows a tab.\n"
	"_statetape_ask()\n"
	"{\n"
	"\tlocal -a found\n"
	"\n"
	"\tfound=(${(f)\"$(statetape complete ${1#file_or_} $PREFIX "
	"2>/dev/null |\n"
	"\t\tcut -f1)\"})\n"
	"\tcompadd -a found\n"
	"\tcase $1 in\n"
	"\trepository) _directories ;;\n"
	"\tfile_or_*) _files ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_statetape()\n"
	"{\n"
	"\tlocal curcontext=$curcontext state line\n"
	"\tlocal -a verbs\n"
	"\tverbs=(\n";

static const char zsh_middle[] =
	"\t)\n"
	"\t_arguments -C \\\n"
	"\t\t'(- *)'{-h,--help}'[List the verbs]' \\\n"
	"\t\t'(- *)'{-V,--version}'[Say which statetape this is]' \\\n"
	"\t\t'1:verb:->verb' '*::argument:->argument' && return\n"
	"\tcase $state in\n"
	"\tverb)\n"
	"\t\t_describe -t verbs verb verbs\n"
	"\t\t;;\n"
	"\targument)\n"
	"\t\tcurcontext=${curcontext%:*:*}:statetape-$words[1]:\n";

static const char zsh_group[] =
	"\t\t\t)\n"
	"\t\t\t\t_describe -t verbs verb verbs\n"
	"\t\t\t\treturn\n"
	"\t\t\tfi\n"
	"\t\t\t# Two words, taken for one from here on.\n"
	"\t\t\twords[1,2]=(\"$words[1] $words[2]\")\n"
	"\t\t\t(( CURRENT-- ))\n"
	"\t\tfi\n";

static const char zsh_tail[] = "\t\tesac\n"
			       "\t\t;;\n"
			       "\tesac\n"
			       "}\n"
			       "\n"
			       "# Autoloaded from $fpath this file is the "
			       "function; sourced it is not.\n"
			       "if [[ $funcstack[1] == _statetape ]]; then\n"
			       "\t_statetape \"$@\"\n"
			       "else\n"
			       "\tcompdef _statetape statetape\n"
			       "fi\n";

/* The list that _describe shows for the verbs of `group`. */
static void zsh_describe(FILE *out, const struct verb *group,
			 const char *indent)
{
	FOR_EACH_VERB (v) {
		if (v->hidden || !verb_is_part(v, group))
			continue;
		(void)fprintf(out, "%s'%s:", indent, verb_word(v));
		put_quoted(out, v->summary, ":\\");
		(void)fputs("'\n", out);
	}
}

static void zsh_parts(FILE *out, const struct verb *group)
{
	(void)fprintf(out,
		      "\t\tif [[ $words[1] == %s ]]; then\n"
		      "\t\t\tif (( CURRENT == 2 )); then\n"
		      "\t\t\t\tverbs=(\n",
		      group->name);
	zsh_describe(out, group, "\t\t\t\t\t");
	(void)fputc('\t', out);
	(void)fputs(zsh_group, out);
}

void generate_zsh(FILE *out)
{
	(void)fputs(zsh_head, out);
	zsh_describe(out, NULL, "\t\t");
	(void)fputs(zsh_middle, out);
	FOR_EACH_VERB (v)
		if (v->group)
			zsh_parts(out, v);
	(void)fputs("\t\tcase $words[1] in\n", out);
	FOR_EACH_VERB (v)
		zsh_verb(out, v);
	(void)fputs(zsh_tail, out);
}

/* fish */

static void fish_values(FILE *out, enum complete kind)
{
	const char *words = complete_words[kind];

	(void)fputs(" -a '", out);
	if (kind == COMPLETE_DIRECTORY)
		(void)fputs("(__fish_complete_directories)", out);
	else if (kind == COMPLETE_FILE)
		(void)fputs("(__fish_complete_path)", out);
	else if (kind == COMPLETE_VERB)
		put_verb_names(out, NULL);
	else if (kind == COMPLETE_FORMAT)
		put_formats(out);
	else if (words)
		(void)fputs(words, out);
	else
		(void)fprintf(out, "(__statetape_ask %s)",
			      complete_names[kind]);
	(void)fputc('\'', out);
}

static void fish_option(FILE *out, const struct verb *v,
			const struct verb_option *o)
{
	(void)fprintf(out, "complete -c statetape -n '__statetape_verb %s'",
		      v->name);
	if (o->letter)
		(void)fprintf(out, " -s %c", o->letter);
	(void)fprintf(out, " -l %s%s", o->name, o->value ? " -x" : "");
	if (o->complete != COMPLETE_NOTHING)
		fish_values(out, o->complete);
	(void)fputs(" -d '", out);
	put_quoted(out, o->text, "\\");
	(void)fputs("'\n", out);
}

static void fish_argument(FILE *out, const struct verb *v,
			  const struct verb_argument *a)
{
	if (a->complete == COMPLETE_NOTHING)
		return;
	(void)fprintf(out, "complete -c statetape -n '__statetape_verb %s'",
		      v->name);
	fish_values(out, a->complete);
	(void)fputc('\n', out);
}

static void fish_verb(FILE *out, const struct verb *v)
{
	int group = (int)strcspn(v->name, " ");

	if (!v->hidden) {
		(void)fprintf(out, "complete -c statetape -n ");
		if (verb_is_part(v, NULL))
			(void)fputs("__statetape_bare", out);
		else
			(void)fprintf(out, "'__statetape_group %.*s'", group,
				      v->name);
		(void)fprintf(out, " -a %s -d '", verb_word(v));
		put_quoted(out, v->summary, "\\");
		(void)fputs("'\n", out);
	}
	for (const struct verb_option *o = v->options; o->name; o++)
		fish_option(out, v, o);
	fish_option(out, v, &verb_help_option);
	/*
	 * fish does not count positions: offer the first argument's values for
	 * all.
	 */
	fish_argument(out, v, &v->arguments[0]);
	if (v->command)
		(void)fprintf(out,
			      "complete -c statetape -n "
			      "'__statetape_dashes %s' -a "
			      "'(__statetape_command)'\n",
			      v->name);
}

static const char fish_head[] =
	"# fish completion for statetape, printed by 'statetape generate "
	"fish'.\n"
	"\n"
	"function __statetape_ask -d 'Candidates, with a description behind a "
	"tab'\n"
	"\tset -l kind (string replace file_or_ '' $argv[1])\n"
	"\tstatetape complete $kind (commandline -ct | string match -v '') "
	"2>/dev/null\n"
	"\tswitch $argv[1]\n"
	"\t\tcase repository\n"
	"\t\t\t__fish_complete_directories\n"
	"\t\tcase 'file_or_*'\n"
	"\t\t\t__fish_complete_path\n"
	"\tend\n"
	"end\n"
	"\n"
	"function __statetape_bare -d 'No verb yet'\n"
	"\ttest (count (commandline -opc)) -eq 1\n"
	"end\n"
	"\n"
	"function __statetape_group -d 'The verb is $argv, its part not yet "
	"said'\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -eq 2; and test \"$words[2]\" = $argv[1]\n"
	"end\n"
	"\n"
	"function __statetape_dashes -d 'The verb is $argv and -- was seen'\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest \"$words[2]\" = $argv[1]; and contains -- -- $words\n"
	"end\n"
	"\n"
	"function __statetape_verb -d 'The verb is $argv and no -- was seen'\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -l last (math 1 + (count $argv))\n"
	"\ttest \"$words[2..$last]\" = \"$argv\"\n"
	"\tand not contains -- -- $words\n"
	"end\n"
	"\n"
	"function __statetape_command -d 'The command after --'\n"
	"\tset -l words (commandline -opc) (commandline -ct)\n"
	"\tset -l at (contains -i -- -- $words)\n"
	"\tset -e words[1..$at]\n"
	"\tcomplete -C \"$words\"\n"
	"end\n"
	"\n"
	"complete -c statetape -f\n"
	"complete -c statetape -n __statetape_bare -s h -l help "
	"-d 'List the verbs'\n"
	"complete -c statetape -n __statetape_bare -s V -l version "
	"-d 'Say which statetape this is'\n";

void generate_fish(FILE *out)
{
	(void)fputs(fish_head, out);
	FOR_EACH_VERB (v)
		fish_verb(out, v);
}

int verb_generate(const struct invocation *in)
{
	static void (*const print[FORMATS])(FILE * out) = {
		[FORMAT_MAN] = generate_man,
		[FORMAT_MAN_TAPE] = generate_man_tape,
		[FORMAT_BASH] = generate_bash,
		[FORMAT_ZSH] = generate_zsh,
		[FORMAT_FISH] = generate_fish,
	};

	for (size_t i = 0; i < FORMATS; i++)
		if (strcmp(in->arguments[0], verb_formats[i]) == 0) {
			print[i](stdout);
			return EXIT_SUCCESS;
		}
	return say_usage_error("generate prints man, man-tape, bash, zsh or "
			       "fish, not '%s'",
			       in->arguments[0]);
}
