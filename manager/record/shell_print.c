#include "manager/record/shell_print.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#define NUMBER_MAX 1000000000u

/* Read a number at *at and advance *at; false: there is none. */
static bool take_number(const char **at, uint32_t *ret)
{
	uint32_t value = 0;
	const char *p = *at;

	while (isdigit((unsigned char)*p) && value < NUMBER_MAX / 10)
		value = value * 10 + (uint32_t)(*p++ - '0');
	if (p == *at || isdigit((unsigned char)*p))
		return false;
	*at = p;
	*ret = value;
	return true;
}

static bool is_number(const char *text, uint32_t *ret)
{
	return take_number(&text, ret) && !*text;
}

static bool is_option(const struct shell_word *w)
{
	return w->text[0] == '-' && w->text[1];
}

/*
 * The count of head and tail: "-n 5", "-n5", "-5", "--lines=5". Returns its
 * text, or NULL, and moves *i to the last word used.
 */
static const char *count_option(const struct shell_word *words, uint32_t count,
				uint32_t *i)
{
	const char *t = words[*i].text;

	if (strncmp(t, "--lines=", 8) == 0)
		return t + 8;
	if (strcmp(t, "-n") == 0 || strcmp(t, "--lines") == 0)
		return *i + 1 < count ? words[++*i].text : NULL;
	if (strncmp(t, "-n", 2) == 0)
		return t + 2;
	return isdigit((unsigned char)t[1]) ? t + 1 : NULL;
}

static void range_ends(enum shell_printer p, const struct shell_word *words,
		       uint32_t count, struct shell_range *r)
{
	const char *n = "10";
	uint32_t i, value;

	for (i = 1; i < count && is_option(&words[i]); i++) {
		const char *text = words[i].text;
		const char *given = count_option(words, count, &i);

		if (given)
			n = given;
		else if (text[1] == 'c') {
			n = "bytes";
			i += !text[2];
		}
	}
	r->first = i;
	r->kind = RANGE_SOME;
	if (p == PRINT_TAIL && *n == '+' && is_number(n + 1, &value)) {
		r->kind = RANGE_LINES;
		r->start = value > 0 ? value : 1;
	} else if (is_number(n, &value)) {
		r->kind = p == PRINT_TAIL ? RANGE_LAST : RANGE_LINES;
		r->start = p == PRINT_TAIL ? 0 : 1;
		r->end = p == PRINT_TAIL ? 0 : value;
	}
}

static void range_cat(const struct shell_word *words, uint32_t count,
		      struct shell_range *r)
{
	uint32_t i;

	for (i = 1; i < count && is_option(&words[i]); i++) {
		const char *t = words[i].text;

		if (strcmp(t, "-n") == 0 || strcmp(t, "--number") == 0) {
			r->number = "%u";
			r->width = 6;
			r->separator = "\t";
		} else if (strcmp(t, "-u") != 0 && strcmp(t, "--") != 0) {
			r->kind = RANGE_SOME;
		}
	}
	r->first = i;
}

/* Without a terminal only -r changes what bat prints. */
static void range_bat(const struct shell_word *words, uint32_t count,
		      struct shell_range *r)
{
	uint32_t i;

	for (i = 1; i < count && is_option(&words[i]); i++) {
		const char *t = words[i].text;

		if (strcmp(t, "-r") == 0 || strcmp(t, "--line-range") == 0)
			t = i + 1 < count ? words[++i].text : "";
		else if (strncmp(t, "--line-range=", 13) == 0)
			t += 13;
		else
			continue;
		r->kind = RANGE_LINES;
		r->start = 1;
		(void)take_number(&t, &r->start);
		if (*t == ':')
			t++;
		(void)take_number(&t, &r->end);
	}
	r->first = i;
}

static void range_nl(const struct shell_word *words, uint32_t count,
		     struct shell_range *r)
{
	bool all = false;
	uint32_t i, value;

	r->number = "%u";
	r->width = 6;
	r->separator = "\t";
	for (i = 1; i < count && is_option(&words[i]); i++) {
		const char *t = words[i].text + 2;
		char option = words[i].text[1];

		if (!*t && strchr("bwsnviflhd", option))
			t = i + 1 < count ? words[++i].text : "";
		if (option == 'b')
			all = strcmp(t, "a") == 0;
		else if (option == 'w' && is_number(t, &value) && value < 100)
			r->width = (uint8_t)value;
		else if (option == 's')
			r->separator = t;
		else
			r->kind = RANGE_SOME;
	}
	/* Without -ba empty lines get no number. */
	if (!all)
		r->kind = RANGE_SOME;
	r->first = i;
}

/* "5", "5,8", "5,+3", "5,$"; `end` 0: the last line. */
static bool sed_lines(const char **at, uint32_t *start, uint32_t *end)
{
	bool more;

	if (!take_number(at, start))
		return false;
	*end = *start;
	if (**at != ',')
		return true;
	++*at;
	if (**at == '$') {
		++*at;
		*end = 0;
		return true;
	}
	more = **at == '+';
	*at += more;
	if (!take_number(at, end))
		return false;
	*end += more ? *start : 0;
	return true;
}

static void sed_print(struct shell_range *r, uint32_t start, uint32_t end)
{
	r->kind = r->kind == RANGE_ALL ? RANGE_LINES : RANGE_SOME;
	if (r->start == 0 || start < r->start)
		r->start = start;
	if (end == 0 || end > r->end)
		r->end = end;
}

/* One command of a sed script at *at: a range and "p", "$p", or "8q". */
static bool sed_command(const char **at, bool quiet, struct shell_range *r)
{
	uint32_t start = 0, end = 0;
	char command;

	if (strncmp(*at, "$p", 2) == 0) {
		r->kind = r->kind == RANGE_ALL ? RANGE_LAST : RANGE_SOME;
		*at += 2;
		return true;
	}
	if (!sed_lines(at, &start, &end) || !**at)
		return false;
	command = *(*at)++;
	if (command == 'p' && quiet)
		sed_print(r, start, end);
	else if (command == 'q' && !quiet && r->kind == RANGE_ALL)
		*r = (struct shell_range){ .kind = RANGE_LINES,
					   .start = 1,
					   .end = start };
	else
		return command == 'q' && quiet;
	return true;
}

static void sed_script(const char *text, bool quiet, struct shell_range *r)
{
	while (*text) {
		if (strchr("; \t\n", *text)) {
			text++;
		} else if (!sed_command(&text, quiet, r)) {
			*r = (struct shell_range){ .kind = RANGE_SOME };
			return;
		}
	}
}

static bool sed_is_quiet(const struct shell_word *words, uint32_t count)
{
	uint32_t i;

	for (i = 1; i < count; i++) {
		const char *t = words[i].text;

		if (strcmp(t, "--quiet") == 0 || strcmp(t, "--silent") == 0 ||
		    (t[0] == '-' && t[1] != '-' && strchr(t, 'n')))
			return true;
	}
	return false;
}

static void range_sed(const struct shell_word *words, uint32_t count,
		      struct shell_range *r)
{
	bool quiet = sed_is_quiet(words, count), given = false;
	const char *script = "";
	bool edits = false;
	uint32_t i;

	for (i = 1; i < count && is_option(&words[i]); i++) {
		const char *t = words[i].text;
		bool takes = t[1] != '-' && strchr("ef", t[strlen(t) - 1]);

		edits = edits || (t[1] != '-' && strchr(t, 'i')) ||
			strncmp(t, "--in-place", 10) == 0;
		if (!takes)
			continue;
		given = true;
		script = i + 1 < count ? words[++i].text : "";
		sed_script(script, quiet, r);
	}
	if (!given && i < count)
		sed_script(words[i++].text, quiet, r);
	if (r->kind == RANGE_ALL)
		r->kind = RANGE_SOME;
	r->edits = edits;
	r->first = i;
}

/* Remove white space from a script, except inside quotes. */
static char *squeeze(const char *text, size_t len, struct arena *a)
{
	char *out = arena_take(a, len + 1);
	bool quoted = false;
	size_t n = 0;

	for (; *text; text++) {
		quoted ^= *text == '"';
		if (quoted || !isspace((unsigned char)*text))
			out[n++] = *text;
	}
	out[n] = '\0';
	return out;
}

static bool take(const char **at, const char *what)
{
	size_t len = strlen(what);

	if (strncmp(*at, what, len) != 0)
		return false;
	*at += len;
	return true;
}

/* NR>=5&&NR<=8, NR==5,NR==8, NR==5, NR>=5, NR<=8, NR>4&&NR<9 or nothing. */
static bool awk_pattern(const char **at, struct shell_range *r)
{
	uint32_t value;

	r->start = 1;
	while (take(at, "NR")) {
		if (take(at, "==") && take_number(at, &value)) {
			r->start = r->kind == RANGE_ALL ? value : r->start;
			r->end = value;
		} else if (take(at, ">=") && take_number(at, &value)) {
			r->start = value;
		} else if (take(at, "<=") && take_number(at, &value)) {
			r->end = value;
		} else if (take(at, ">") && take_number(at, &value)) {
			r->start = value + 1;
		} else if (take(at, "<") && take_number(at, &value)) {
			r->end = value - (value > 0);
		} else {
			return false;
		}
		r->kind = RANGE_LINES;
		if (!take(at, "&&") && !take(at, ","))
			break;
	}
	return true;
}

/* {print}, {print$0}, {printNR": "$0} or nothing. */
static bool awk_action(const char **at, struct arena *a, struct shell_range *r)
{
	const char *stop;

	if (!**at || take(at, "{print}") || take(at, "{print$0}"))
		return true;
	if (!take(at, "{printNR\""))
		return false;
	stop = strstr(*at, "\"$0}");
	if (!stop)
		return false;
	r->number = "%u";
	r->separator = arena_copy(a, *at, (size_t)(stop - *at));
	if (strcmp(r->separator, "\\t") == 0)
		r->separator = "\t";
	*at = stop + 4;
	return true;
}

static void range_awk(const struct shell_word *words, uint32_t count,
		      struct arena *a, struct shell_range *r)
{
	const char *script;
	uint32_t i;

	for (i = 1; i < count && is_option(&words[i]); i++) {
		if (!words[i].text[2] && strchr("Fvf", words[i].text[1]))
			i++;
	}
	r->first = i + 1;
	if (i >= count) {
		r->first = count;
		r->kind = RANGE_SOME;
		return;
	}
	script = squeeze(words[i].text, words[i].len, a);
	if (!awk_pattern(&script, r) || !awk_action(&script, a, r) || *script)
		*r = (struct shell_range){ .kind = RANGE_SOME,
					   .first = r->first };
}

void shell_range(enum shell_printer p, const struct shell_word *words,
		 uint32_t count, struct arena *a, struct shell_range *ret)
{
	assert(count > 0);
	*ret = (struct shell_range){ .kind = RANGE_ALL, .first = count };
	switch (p) {
	case PRINT_CAT:
		range_cat(words, count, ret);
		break;
	case PRINT_HEAD:
	case PRINT_TAIL:
		range_ends(p, words, count, ret);
		break;
	case PRINT_NL:
		range_nl(words, count, ret);
		break;
	case PRINT_SED:
		range_sed(words, count, ret);
		break;
	case PRINT_AWK:
		range_awk(words, count, a, ret);
		break;
	case PRINT_BAT:
		range_bat(words, count, ret);
		break;
	}
	if (ret->kind == RANGE_ALL)
		ret->start = 1;
}
