/*
 * Splits a command line into commands and words, in one pass over the text;
 * words go into the arena. Substitutions are skipped as a whole and make their
 * word dynamic. Here-documents are read at the end of their line, as in a
 * shell.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "graph/base/array.h"
#include "manager/record/shell.h"

/* A here-document to read at the end of the line, by its redirect. */
struct shell_document {
	uint32_t command, redirect;
};

struct splitter {
	const char *at, *end;
	struct arena *arena;
	ARRAY(struct shell_command) commands;
	ARRAY(struct shell_word) words;		/* of the command being read */
	ARRAY(struct shell_redirect) redirects; /* of the command being read */
	ARRAY(char) text;			/* of the word being read */
	struct shell_word word;
	bool in_word;
	bool piped;
	uint32_t all;				/* words in total */
	ARRAY(struct shell_document) documents; /* of this line */
	uint16_t opened;
};

static char char_at(const char *p, const char *end)
{
	if (p < end)
		return *p;
	return '\0';
}

static char *take_copy(struct arena *a, const void *from, size_t size)
{
	char *copy = arena_take(a, size);

	if (size > 0)
		memcpy(copy, from, size);
	return copy;
}

static void add_char(struct splitter *s, char c)
{
	array_push(&s->text, c);
	s->in_word = true;
}

static struct shell_word take_word(struct splitter *s)
{
	struct shell_word w = s->word;

	w.text = arena_copy(s->arena, s->text.at ? s->text.at : "",
			    s->text.count);
	w.len = s->text.count;
	s->text.count = 0;
	s->word = (struct shell_word){ 0 };
	s->in_word = false;
	return w;
}

static void end_word(struct splitter *s)
{
	if (!s->in_word)
		return;
	if (++s->all <= SHELL_WORDS_MAX)
		array_push(&s->words, take_word(s));
	else
		(void)take_word(s);
}

static void end_command(struct splitter *s)
{
	struct shell_command *c;

	end_word(s);
	assert(!s->in_word && s->text.count == 0);
	if (s->words.count == 0 && s->redirects.count == 0)
		return;
	c = array_add(&s->commands);
	c->words_count = s->words.count;
	c->words = (struct shell_word *)take_copy(
		s->arena, s->words.at, s->words.count * sizeof(*c->words));
	c->redirects_count = s->redirects.count;
	c->redirects = (struct shell_redirect *)take_copy(
		s->arena, s->redirects.at,
		s->redirects.count * sizeof(*c->redirects));
	c->piped = s->piped;
	c->opened = s->opened;
	s->piped = false;
	s->opened = 0;
	s->words.count = 0;
	s->redirects.count = 0;
}

/* From behind a "(" to behind its ")". */
static void skip_parens(struct splitter *s)
{
	unsigned depth = 1;
	char quote = '\0';

	for (; s->at < s->end && depth > 0; s->at++) {
		char c = *s->at;

		if (c == '\\' && quote != '\'' && s->at + 1 < s->end)
			s->at++;
		else if (quote && c == quote)
			quote = '\0';
		else if (quote)
			continue;
		else if (c == '\'' || c == '"')
			quote = c;
		else if (c == '(')
			depth++;
		else if (c == ')')
			depth--;
	}
}

static void skip_to(struct splitter *s, char stop)
{
	const char *p = memchr(s->at, stop, (size_t)(s->end - s->at));

	s->at = p ? p + 1 : s->end;
}

/* At a "$": an expansion, or the character itself. */
static void read_dollar(struct splitter *s)
{
	const char *start = s->at++;
	char c = char_at(s->at, s->end);

	if (c == '(') {
		s->at++;
		skip_parens(s);
	} else if (c == '{') {
		skip_to(s, '}');
	} else if (isalnum((unsigned char)c) || (c && strchr("_?!#@*$-", c))) {
		while (s->at < s->end &&
		       (isalnum((unsigned char)*s->at) || *s->at == '_'))
			s->at++;
		if (s->at == start + 1)
			s->at++;
	} else {
		add_char(s, '$');
		return;
	}
	s->word.dynamic = true;
	for (; start < s->at; start++)
		add_char(s, *start);
}

static void read_single(struct splitter *s)
{
	s->at++;
	s->in_word = s->word.quoted = true;
	while (s->at < s->end && *s->at != '\'')
		add_char(s, *s->at++);
	s->at += s->at < s->end;
}

/* $'...', with the escapes that occur in practice. */
static void read_ansi(struct splitter *s)
{
	static const char from[] = "ntr\\'\"", to[] = "\n\t\r\\'\"";

	s->at += 2;
	s->in_word = s->word.quoted = true;
	while (s->at < s->end && *s->at != '\'') {
		const char *known = NULL;

		if (*s->at == '\\' && s->at + 1 < s->end && s->at[1])
			known = strchr(from, s->at[1]);
		if (known)
			s->at++;
		if (known)
			add_char(s, to[known - from]);
		else
			add_char(s, *s->at);
		s->at++;
	}
	s->at += s->at < s->end;
}

static void read_double(struct splitter *s)
{
	s->at++;
	s->in_word = s->word.quoted = true;
	while (s->at < s->end && *s->at != '"') {
		char next = char_at(s->at + 1, s->end);

		if (*s->at == '$') {
			read_dollar(s);
			continue;
		}
		if (*s->at == '`')
			s->word.dynamic = true;
		if (*s->at == '\\' && next && strchr("\"\\$`", next))
			s->at++;
		if (*s->at == '\\' && next == '\n')
			s->at++;
		else
			add_char(s, *s->at);
		s->at++;
	}
	s->at += s->at < s->end;
}

static void add_redirect(struct splitter *s, enum shell_redirect_kind kind,
			 int fd)
{
	struct shell_redirect *r = array_add(&s->redirects);

	r->kind = kind;
	r->fd = fd;
	r->text = "";
}

/* "<", "<<", "<<-", "<<<", "<&": the operator at s->at. */
static enum shell_redirect_kind read_input(struct splitter *s)
{
	size_t left = (size_t)(s->end - s->at);

	if (left >= 3 && memcmp(s->at, "<<<", 3) == 0) {
		s->at += 3;
		return REDIRECT_COPY; /* its word is no file */
	}
	if (left >= 2 && memcmp(s->at, "<<", 2) == 0) {
		s->at += 2;
		s->at += s->at < s->end && *s->at == '-';
		return REDIRECT_TEXT;
	}
	s->at++;
	if (s->at < s->end && (*s->at == '&' || *s->at == '>')) {
		s->at++;
		return REDIRECT_COPY;
	}
	return REDIRECT_IN;
}

static enum shell_redirect_kind read_output(struct splitter *s)
{
	s->at++;
	if (s->at < s->end && *s->at == '>') {
		s->at++;
		return REDIRECT_APPEND;
	}
	if (s->at < s->end && *s->at == '&') {
		s->at++;
		return REDIRECT_COPY;
	}
	s->at += s->at < s->end && *s->at == '|';
	return REDIRECT_OUT;
}

/* A digit directly in front of the operator is a descriptor, not a word. */
static int take_descriptor(struct splitter *s, int usual)
{
	if (!s->in_word || s->word.quoted || s->text.count != 1 ||
	    !isdigit((unsigned char)s->text.at[0])) {
		end_word(s);
		return usual;
	}
	usual = s->text.at[0] - '0';
	(void)take_word(s);
	return usual;
}

static void read_word(struct splitter *s);

static void read_redirect(struct splitter *s)
{
	bool input = *s->at == '<', both = *s->at == '&';
	struct shell_redirect *r;
	int fd;

	if (input && s->at + 1 < s->end && s->at[1] == '(') {
		/* <(command): a word whose value only a shell knows. */
		s->at += 2;
		skip_parens(s);
		s->word.dynamic = s->in_word = true;
		return;
	}
	s->at += both;
	fd = take_descriptor(s, input ? 0 : 1);
	add_redirect(s, input ? read_input(s) : read_output(s), fd);
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
		s->at++;
	read_word(s);
	r = array_last(&s->redirects);
	r->word = take_word(s);
	if (r->kind == REDIRECT_TEXT)
		array_push(&s->documents,
			   ((struct shell_document){ s->commands.count,
						     s->redirects.count - 1 }));
}

/* The lines up to the document's delimiter. */
static void read_document(struct splitter *s, struct shell_redirect *r)
{
	r->text = s->at;
	while (s->at < s->end) {
		const char *line = s->at, *stop;

		stop = memchr(line, '\n', (size_t)(s->end - line));
		stop = stop ? stop : s->end;
		s->at = stop < s->end ? stop + 1 : stop;
		r->text_len = (size_t)(line - r->text);
		while (line < stop && *line == '\t')
			line++;
		if ((size_t)(stop - line) == r->word.len &&
		    memcmp(line, r->word.text, r->word.len) == 0)
			return;
	}
	r->text_len = (size_t)(s->end - r->text);
}

static void end_line(struct splitter *s)
{
	uint32_t i;

	s->at++;
	end_command(s);
	for (i = 0; i < s->documents.count; i++) {
		struct shell_document d = s->documents.at[i];

		assert(d.command < s->commands.count);
		read_document(s,
			      &s->commands.at[d.command].redirects[d.redirect]);
	}
	s->documents.count = 0;
}

/* An operator between commands; false: there is none here. */
static bool read_operator(struct splitter *s)
{
	char c = *s->at, next = char_at(s->at + 1, s->end);

	if (c == '\n') {
		end_line(s);
		return true;
	}
	if (c == '(' || c == ')') {
		end_command(s);
		if (c == '(' && s->opened < UINT16_MAX)
			s->opened++;
		else if (c == ')' && s->commands.count > 0 &&
			 array_last(&s->commands)->closed < UINT16_MAX)
			array_last(&s->commands)->closed++;
		s->at++;
		return true;
	}
	if (c != ';' && c != '|' && (c != '&' || next == '>'))
		return false;
	end_command(s);
	s->piped = c == '|' && next != '|';
	s->at += 1 + (next == c || (c == '|' && next == '&'));
	return true;
}

static void read_plain(struct splitter *s)
{
	char c = *s->at;

	if (c == '\\') {
		s->at++;
		if (s->at == s->end || *s->at == '\n') {
			s->at += s->at < s->end;
			return;
		}
		s->word.quoted = true;
		c = *s->at;
	} else if (c == '*' || c == '?' || c == '[') {
		s->word.glob = true;
	} else if (c == '~' && !s->in_word) {
		s->word.dynamic = true;
	}
	add_char(s, c);
	s->at++;
}

/* The rest of a word, up to a blank or an operator. */
static void read_word(struct splitter *s)
{
	while (s->at < s->end && !strchr(" \t\r\n;|&()<>", *s->at)) {
		switch (*s->at) {
		case '\'':
			read_single(s);
			break;
		case '"':
			read_double(s);
			break;
		case '$':
			if (s->at + 1 < s->end && s->at[1] == '\'')
				read_ansi(s);
			else
				read_dollar(s);
			break;
		case '`':
			s->at++;
			skip_to(s, '`');
			s->word.dynamic = s->in_word = true;
			break;
		default:
			read_plain(s);
			break;
		}
	}
}

static void split_all(struct splitter *s)
{
	while (s->at < s->end) {
		char c = *s->at;

		if (c == ' ' || c == '\t' || c == '\r' || c == '\0') {
			end_word(s);
			s->at++;
		} else if (c == '#' && !s->in_word) {
			skip_to(s, '\n');
			s->at -= s->at[-1] == '\n';
		} else if (c == '<' || c == '>' ||
			   (c == '&' && s->at + 1 < s->end &&
			    s->at[1] == '>')) {
			read_redirect(s);
		} else if (!read_operator(s)) {
			read_word(s);
		}
	}
	end_command(s);
}

int shell_split(const char *text, size_t len, struct arena *a,
		struct shell_list *ret)
{
	struct splitter s = { .at = text, .arena = a };
	int e = 0;

	if (len > SHELL_TEXT_MAX)
		return -EMSGSIZE;
	s.end = text + len;
	split_all(&s);
	if (s.all > SHELL_WORDS_MAX)
		e = -EMSGSIZE;
	ret->count = s.commands.count;
	ret->at = (struct shell_command *)take_copy(
		a, s.commands.at, s.commands.count * sizeof(*ret->at));
	array_release(&s.commands);
	array_release(&s.words);
	array_release(&s.redirects);
	array_release(&s.text);
	array_release(&s.documents);
	return e;
}
