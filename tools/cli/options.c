#include "tools/cli/options.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tools/cli/say.h"

#define WORD_MAX 32 /* longer words are never similar */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The edit distance from `a` to `b`: insertions, deletions, changes, and swaps
 * of neighbours. WORD_MAX if either is too long.
 */
static size_t distance(const char *a, const char *b)
{
	size_t cost[WORD_MAX + 1][WORD_MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n >= WORD_MAX || m >= WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= n; i++)
		cost[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		cost[0][j] = j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			cost[i][j] = least(
				least(cost[i - 1][j], cost[i][j - 1]) + 1,
				cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				cost[i][j] = least(cost[i][j],
						   cost[i - 2][j - 2] + 1);
		}
	assert(cost[n][m] <= (n > m ? n : m));
	return cost[n][m];
}

/* Keep in *best the candidate most similar to `word`, if any is. */
static void consider(const char *word, const char *candidate, const char **best,
		     size_t *best_cost)
{
	size_t cost = distance(word, candidate);

	/* A prefix is a good guess; a single letter is not a word. */
	if (strlen(word) > 1 && strncmp(word, candidate, strlen(word)) == 0)
		cost = 1;
	if (cost > 1 + strlen(word) / 3 || cost >= strlen(word) ||
	    cost >= *best_cost)
		return;
	*best = candidate;
	*best_cost = cost;
}

const char *options_similar_verb(const char *name)
{
	/* Names that other programs use for our verbs. */
	static const char *const other[][2] = {
		{ "unmount", "umount" },
		{ "log", "journal" },
		{ "check", "doctor" },
	};
	const char *best = NULL;
	size_t cost = SIZE_MAX;

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (strcmp(name, other[i][0]) == 0)
			return other[i][1];
	for (size_t i = 0; i < VERBS; i++)
		if (!verbs[i]->hidden)
			consider(name, verbs[i]->name, &best, &cost);
	return best;
}

static const char *similar_option(const struct verb *v, const char *name)
{
	const char *best = NULL;
	size_t cost = SIZE_MAX;

	for (const struct verb_option *o = v->options; o->name; o++)
		consider(name, o->name, &best, &cost);
	consider(name, verb_help_option.name, &best, &cost);
	return best;
}

/* Write a sentence to *ret_why and return -EINVAL. */
#define REFUSE(ret_why, ...) (*(ret_why) = format_text(__VA_ARGS__), -EINVAL)

static int refuse_option(const struct verb *v, const char *name, char **ret_why)
{
	const char *similar = similar_option(v, name);

	if (similar)
		return REFUSE(ret_why,
			      "%s has no option --%s; did you mean --%s?",
			      v->name, name, similar);
	for (size_t i = 0; i < VERBS; i++)
		if (verb_option_find(verbs[i], name))
			return REFUSE(ret_why,
				      "--%s is an option of %s, not of %s",
				      name, verbs[i]->name, v->name);
	return REFUSE(ret_why, "%s has no option --%s", v->name, name);
}

static int parse_number(const char *text, uint64_t *ret, const char **ret_end)
{
	unsigned long long n;
	char *end = NULL;

	/* strtoull() would also take "-1", "+1" and " 1". */
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return -errno;
	*ret = n;
	*ret_end = end;
	return 0;
}

int options_size(const char *text, uint64_t *ret)
{
	static const char units[] = "KMGTkmgt";
	const char *end = NULL, *unit;
	uint64_t n = 0;
	size_t shift;

	if (parse_number(text, &n, &end) < 0 || n == 0)
		return -EINVAL;
	if (!*end) {
		*ret = n;
		return 0;
	}
	unit = strchr(units, *end);
	if (!unit || end[1])
		return -EINVAL;
	shift = 10 * ((size_t)(unit - units) % 4 + 1);
	if (n > UINT64_MAX >> shift)
		return -ERANGE;
	*ret = n << shift;
	return 0;
}

int options_keep(const char *text, uint64_t *ret_days, uint64_t *ret_bytes)
{
	const char *slash = strchr(text, '/');
	const char *size = slash ? slash + 1 : text;
	CLEANUP(free_p) char *days = NULL;

	if (!slash && strspn(text, "0123456789") == strlen(text)) {
		slash = text + strlen(text);
		size = NULL;
	}
	if (slash) {
		days = must_have(strndup(text, (size_t)(slash - text)));
		if (strspn(days, "0123456789") != strlen(days) ||
		    options_size(days, ret_days) < 0)
			return -EINVAL;
	}
	return size ? options_size(size, ret_bytes) : 0;
}

/* Store option `o`, which the user wrote as `as`, with the value `text`. */
static int set_value(const struct verb_option *o, const char *as,
		     const char *text, struct invocation *in, char **ret_why)
{
	struct option_value value = { .given = true, .text = text };
	const char *end = "";

	assert(o->id < OPTIONS);
	assert((o->kind == OPTION_FLAG) == !text);
	switch (o->kind) {
	case OPTION_FLAG:
	case OPTION_TEXT:
		break;
	case OPTION_NUMBER:
		if (parse_number(text, &value.number, &end) < 0 || *end)
			return REFUSE(ret_why,
				      "%s wants a whole number, not '%s'", as,
				      text);
		break;
	case OPTION_SIZE:
		if (options_size(text, &value.number) < 0)
			return REFUSE(ret_why,
				      "%s wants a size such as 500M or 2G, "
				      "not '%s'",
				      as, text);
		break;
	}
	in->options[o->id] = value;
	return 0;
}

/* Parse the word after "--"; *argv is the next word. */
static int parse_long(const char *word, char ***argv, struct invocation *in,
		      char **ret_why)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	CLEANUP(free_p) char *name = must_have(strndup(word, len));
	CLEANUP(free_p) char *as = format_text("--%s", name);
	const struct verb_option *o = verb_option_find(in->verb, name);
	const char *text = equals ? equals + 1 : NULL;

	if (!o)
		return refuse_option(in->verb, name, ret_why);
	if (o->kind == OPTION_FLAG && text)
		return REFUSE(ret_why, "%s takes no value", as);
	if (o->kind != OPTION_FLAG && !text)
		text = **argv ? *(*argv)++ : NULL;
	if (o->kind != OPTION_FLAG && !text)
		return REFUSE(ret_why, "%s wants a value: %s %s", as, as,
			      o->value);
	return set_value(o, as, text, in, ret_why);
}

/* Parse the letters after "-"; the rest of the word may be a value. */
static int parse_letters(const char *letters, char ***argv,
			 struct invocation *in, char **ret_why)
{
	for (; *letters; letters++) {
		const struct verb_option *o =
			verb_option_find_letter(in->verb, *letters);
		char as[] = { '-', *letters, '\0' };
		const char *text = letters[1] ? letters + 1 : **argv;
		int r;

		if (!o)
			return REFUSE(ret_why, "%s has no option %s",
				      in->verb->name, as);
		if (o->kind != OPTION_FLAG && !text)
			return REFUSE(ret_why, "%s wants a value: %s %s", as,
				      as, o->value);
		if (o->kind != OPTION_FLAG && !letters[1])
			(*argv)++;
		r = set_value(o, as, o->kind == OPTION_FLAG ? NULL : text, in,
			      ret_why);
		if (r < 0 || o->kind != OPTION_FLAG)
			return r;
	}
	return 0;
}

/* Does the verb take any number of arguments? */
static bool is_repeated(const struct verb *v)
{
	size_t i = 0;

	while (v->arguments[i].name && !v->arguments[i].repeated)
		i++;
	return v->arguments[i].name;
}

/* Each argument was a word of argv, so there is room for it. */
static int add_word(char *word, struct invocation *in, char **ret_why)
{
	if (!*word)
		return REFUSE(ret_why, "an argument is empty");
	in->words[in->words_count++] = word;
	return 0;
}

static int add_argument(char *word, struct invocation *in, char **ret_why)
{
	size_t i = 0;

	if (in->words)
		return add_word(word, in, ret_why);
	while (i < VERB_ARGUMENTS_MAX && in->arguments[i])
		i++;
	if (verb_needs_command(in->verb))
		return REFUSE(ret_why,
			      "the command must follow --, as in "
			      "'statetape %s -- %s'",
			      in->verb->name, word);
	if (!in->verb->arguments[i].name)
		return REFUSE(ret_why, "'%s' is one argument too many for %s",
			      word, in->verb->name);
	/* An empty argument is a script's unset variable, never a file name. */
	if (!*word)
		return REFUSE(ret_why, "%s is empty",
			      in->verb->arguments[i].name);
	/* The table ends each verb's arguments with a nameless one. */
	assert(i < VERB_ARGUMENTS_MAX);
	in->arguments[i] = word;
	return 0;
}

/* Store everything after `--`. */
static int parse_rest(char **argv, struct invocation *in, char **ret_why)
{
	if (in->verb->command && !*argv)
		return REFUSE(ret_why, "a command is missing after --");
	assert(!in->command);
	if (in->verb->command) {
		in->command = argv;
		return 0;
	}
	for (; *argv; argv++) {
		int r = add_argument(*argv, in, ret_why);

		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_words(char **argv, struct invocation *in, char **ret_why)
{
	while (*argv) {
		char *word = *argv++;
		int r;

		if (strcmp(word, "--") == 0)
			return parse_rest(argv, in, ret_why);
		if (strncmp(word, "--", 2) == 0)
			r = parse_long(word + 2, &argv, in, ret_why);
		else if (word[0] == '-' && word[1])
			r = parse_letters(word + 1, &argv, in, ret_why);
		else
			r = add_argument(word, in, ret_why);
		if (r < 0)
			return r;
	}
	return 0;
}

int options_parse(const struct verb *v, char **argv, struct invocation *ret,
		  char **ret_why)
{
	struct invocation in = { .verb = v,
				 .words = is_repeated(v) ? argv : NULL };
	int r = parse_words(argv, &in, ret_why);

	if (r < 0)
		return r;
	if (in.words)
		in.words[in.words_count] = NULL;
	for (size_t i = 0; v->arguments[i].name; i++)
		if (!v->arguments[i].optional && !in.arguments[i] &&
		    !(v->arguments[i].repeated && in.words_count) &&
		    !in.options[OPTION_HELP].given)
			return REFUSE(ret_why, "%s wants %s %s", v->name,
				      strchr("AEIOU", v->arguments[i].name[0])
					      ? "an"
					      : "a",
				      v->arguments[i].name);
	*ret = in;
	return 0;
}
