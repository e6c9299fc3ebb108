/*
 * What a text is made of, before the parser sees it. tree-sitter takes about
 * a microsecond and 230 bytes for a token: a table of three million numbers,
 * of which nobody wants to know more than that it is one, would take seconds
 * and more than a gigabyte. So a text that is large is looked over first, at
 * a hundred times that speed, for two things:
 *
 * - Gaps. In brackets, behind many items that are plain data (numbers, strings
 *   without expressions in them, constants, brackets of such), what follows of
 *   the same kind is left out of what is parsed. A gap begins and ends behind
 *   a comma, and what lies in it was seen to be items and commas and nothing
 *   else: so the text parses without it if and only if it does with it. It
 *   still counts where text is compared (hashes, lines, places).
 * - How many tokens are left. A file of more than TOKENS_MAX is not
 *   parsed at all.
 *
 * Both are functions of the text alone, and what a definition says about its
 * gaps does not depend on what surrounds it: facts stay the same whether it
 * is read by itself or with its file. Where quotes or brackets do not match
 * the file is broken, nothing is read by itself, and what we take for data
 * need only be the same each time.
 */
#include <ctype.h>

#include "graph/facts/python/reader_i.h"

/* Plain items that are read, of many in a row: more than TUPLE_MAX, so that
   what is left of a table is still taken for one. */
#define ITEMS_KEPT 256
/* A text that cannot be looked through further has so many bytes a token. */
#define TOKEN_BYTES 4

/* How far the item at hand is data. */
enum scan_item {
	ITEM_EMPTY,
	ITEM_SIGNED,
	ITEM_VALUE,
	ITEM_STRINGS,
	ITEM_MIXED
};

enum token {
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_CONSTANT,
	TOKEN_SIGN,
	TOKEN_ANY
};

/* A bracket that is open, or `{` in a formatted string. */
struct scan_open {
	char close;
	bool field;  /* in a string, which goes on behind it: */
	bool format; /* behind the field's colon */
	char quote;
	uint8_t quotes;

	uint8_t item; /* enum scan_item */
	bool pair;    /* of the item at hand: its colon was there */
	uint8_t form; /* 0: no item yet, 1: they are single, 2: pairs */
	bool plain;   /* all items so far are data */

	/* Plain items in a row; behind ITEMS_KEPT of them, the gap to be. */
	uint32_t items;
	struct gap gap;
	uint32_t tokens_from, tokens_to;
};

struct scan_state {
	struct reader *r;
	const char *text;
	uint32_t len, at;
	uint32_t tokens;
};

static char peek(const struct scan_state *s, uint32_t ahead)
{
	if (s->at + ahead >= s->len)
		return '\0';
	return s->text[s->at + ahead];
}

static struct scan_open *top(const struct scan_state *s)
{
	return s->r->opens.count ? array_last(&s->r->opens) : NULL;
}

/* Gaps inside of it go; those behind it are of an item that stays. */
static void add_gap(struct reader *r, struct gap gap)
{
	uint32_t from = r->gaps.count, to;

	while (from && r->gaps.at[from - 1].start >= gap.start)
		from--;
	for (to = from; to < r->gaps.count && r->gaps.at[to].start < gap.end;)
		to++;
	array_reserve(&r->gaps, 1);
	memmove(r->gaps.at + from + 1, r->gaps.at + to,
		(r->gaps.count - to) * sizeof(gap));
	r->gaps.at[from] = gap;
	r->gaps.count += 1 + from - to;
}

static void end_run(struct scan_state *s, struct scan_open *o)
{
	if (o->items > ITEMS_KEPT && o->gap.end - o->gap.start >= GAP_MIN) {
		add_gap(s->r, o->gap);
		s->tokens -= o->tokens_to - o->tokens_from;
	}
	o->items = 0;
}

/* Is the item at hand data, and of the form of those before it? */
static bool item_is_plain(const struct scan_open *o)
{
	return (o->item == ITEM_VALUE || o->item == ITEM_STRINGS) &&
	       (!o->form || o->form == 1 + o->pair);
}

static void on_comma(struct scan_state *s)
{
	struct scan_open *o = top(s);

	if (!o)
		return;
	if (item_is_plain(o)) {
		o->form = 1 + o->pair;
		o->gap.end = s->at;
		o->tokens_to = s->tokens;
		if (++o->items == ITEMS_KEPT) {
			o->gap.start = s->at;
			o->tokens_from = s->tokens;
		}
	} else {
		o->plain = false;
		end_run(s, o);
	}
	o->item = ITEM_EMPTY;
	o->pair = false;
}

static void on_colon(struct scan_state *s)
{
	struct scan_open *o = top(s);

	if (!o)
		return;
	if (o->close != '}' || o->pair ||
	    (o->item != ITEM_VALUE && o->item != ITEM_STRINGS)) {
		o->item = ITEM_MIXED;
	} else {
		o->item = ITEM_EMPTY;
		o->pair = true;
	}
}

static void on_token(struct scan_state *s, enum token t)
{
	struct scan_open *o = top(s);

	if (!o)
		return;
	if (t == TOKEN_STRING &&
	    (o->item == ITEM_EMPTY || o->item == ITEM_STRINGS))
		o->item = ITEM_STRINGS;
	else if (t == TOKEN_SIGN && o->item == ITEM_EMPTY)
		o->item = ITEM_SIGNED;
	else if ((t == TOKEN_CONSTANT && o->item == ITEM_EMPTY) ||
		 (t == TOKEN_NUMBER &&
		  (o->item == ITEM_EMPTY || o->item == ITEM_SIGNED)))
		o->item = ITEM_VALUE;
	else
		o->item = ITEM_MIXED;
}

static struct scan_open *push(struct scan_state *s, char close)
{
	struct scan_open *o = array_add(&s->r->opens);

	o->close = close;
	o->plain = true;
	return o;
}

/* Brackets that do not match: nothing that is open is data. */
static void lose(struct scan_state *s)
{
	s->r->opens.count = 0;
}

static void on_close(struct scan_state *s, char c)
{
	struct scan_open *o = top(s);
	bool plain;

	if (!o || o->field || o->close != c) {
		lose(s);
		return;
	}
	plain = o->plain &&
		(item_is_plain(o) || (o->item == ITEM_EMPTY && !o->pair));
	end_run(s, o);
	s->r->opens.count--;
	o = top(s);
	if (o)
		o->item = plain && o->item == ITEM_EMPTY ? ITEM_VALUE
							 : ITEM_MIXED;
}

static void on_open(struct scan_state *s, char close)
{
	struct scan_open *o = top(s);

	/* What is called or indexed is no data, whatever with. */
	if (o && o->item != ITEM_EMPTY)
		o->item = ITEM_MIXED;
	(void)push(s, close);
}

static bool ends_string(const struct scan_state *s, char quote, uint8_t quotes)
{
	return peek(s, 0) == quote &&
	       (quotes == 1 || (peek(s, 1) == quote && peek(s, 2) == quote));
}

/* A line that ends in a string of one line, or a file in any. */
static void string_breaks(struct scan_state *s)
{
	if (s->at >= s->len)
		s->tokens += s->len / TOKEN_BYTES;
	lose(s);
}

/* Past an ordinary string's end. */
static void skip_string(struct scan_state *s, char quote, uint8_t quotes)
{
	for (; s->at < s->len; s->at++) {
		char c = s->text[s->at];

		if (c == '\\') {
			s->at++;
		} else if (c == '\n' && quotes == 1) {
			string_breaks(s);
			return;
		} else if (c == quote && ends_string(s, quote, quotes)) {
			s->at += quotes;
			on_token(s, TOKEN_STRING);
			return;
		}
	}
	string_breaks(s);
}

/*
 * On in a formatted string, or (`format`) in what stands behind the colon of
 * a field in it: past its end, or into the next field.
 */
static void skip_formatted(struct scan_state *s, char quote, uint8_t quotes,
			   bool format)
{
	for (; s->at < s->len; s->at++) {
		char c = s->text[s->at];
		struct scan_open *o;

		if (c == '\n' && quotes == 1)
			break;
		if (c == '\\' || (c == '{' && peek(s, 1) == '{' && !format)) {
			s->at++;
		} else if (c == '{') {
			s->at++;
			o = push(s, '}');
			o->field = true;
			o->quote = quote;
			o->quotes = quotes;
			return;
		} else if (c == '}' && format) {
			return; /* the field's end, which the caller sees */
		} else if (c == quote && ends_string(s, quote, quotes)) {
			s->at += quotes;
			on_token(s, TOKEN_ANY);
			return;
		}
	}
	string_breaks(s);
}

/* Behind a field: in its string, or in the format of the field around it. */
static void field_ends(struct scan_state *s)
{
	struct scan_open o = *top(s);
	const struct scan_open *around;

	s->at++;
	s->r->opens.count--;
	around = top(s);
	skip_formatted(s, o.quote, o.quotes, around && around->format);
}

static void format_begins(struct scan_state *s, struct scan_open *field)
{
	field->format = true;
	skip_formatted(s, field->quote, field->quotes, true);
}

static void on_string(struct scan_state *s, bool formatted)
{
	char quote = peek(s, 0);
	uint8_t quotes = peek(s, 1) == quote && peek(s, 2) == quote ? 3 : 1;

	s->tokens++;
	s->at += quotes;
	if (formatted)
		skip_formatted(s, quote, quotes, false);
	else
		skip_string(s, quote, quotes);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 128;
}

static bool is_constant(const char *word, uint32_t len)
{
	return (len == 4 &&
		(!memcmp(word, "None", 4) || !memcmp(word, "True", 4))) ||
	       (len == 5 && !memcmp(word, "False", 5));
}

/* A name, a keyword, or what stands before a string's quotes. */
static void on_word(struct scan_state *s)
{
	const char *word = s->text + s->at;
	uint32_t len = 1, prefix = 0;
	bool formatted = false;

	while (is_word(peek(s, len)))
		len++;
	while (prefix < len && strchr("rbuftRBUFT", word[prefix]))
		formatted |= strchr("ftFT", word[prefix++]) != NULL;
	s->at += len;
	if (prefix == len && len <= 2 &&
	    (peek(s, 0) == '"' || peek(s, 0) == '\''))
		on_string(s, formatted);
	else
		on_token(s,
			 is_constant(word, len) ? TOKEN_CONSTANT : TOKEN_ANY);
}

static uint32_t digits(const char *text, uint32_t at, uint32_t len)
{
	while (at < len && (isdigit((unsigned char)text[at]) ||
			    (text[at] == '_' && at && text[at - 1] != '_')))
		at++;
	return at;
}

/* 1, 1_000, 1.5, 1e-9, 2j, 0xff: as far as nobody could take it otherwise. */
static bool is_number(const char *text, uint32_t len)
{
	uint32_t at;

	if (len > 2 && text[0] == '0' && strchr("xXoObB", text[1])) {
		for (at = 2; at < len; at++)
			if (!isxdigit((unsigned char)text[at]))
				return false;
		return tolower((unsigned char)text[1]) == 'x';
	}
	at = digits(text, 0, len);
	if (at < len && text[at] == '.')
		at = digits(text, at + 1, len);
	if (at < len && (text[at] | 0x20) == 'e') {
		at++;
		if (at < len && (text[at] == '-' || text[at] == '+'))
			at++;
		if (at == len)
			return false;
		at = digits(text, at, len);
	}
	if (at < len && (text[at] | 0x20) == 'j')
		at++;
	return at == len && text[len - 1] != '_';
}

static void on_number(struct scan_state *s)
{
	const char *number = s->text + s->at;
	bool hex = (peek(s, 1) | 0x20) == 'x';
	uint32_t len = 1;

	for (;; len++) {
		char c = peek(s, len), before = number[len - 1];

		if (!is_word(c) && c != '.' &&
		    !((c == '-' || c == '+') && !hex && (before | 0x20) == 'e'))
			break;
	}
	s->at += len;
	on_token(s, is_number(number, len) ? TOKEN_NUMBER : TOKEN_ANY);
}

static void on_sign(struct scan_state *s, char c)
{
	struct scan_open *o = top(s);

	if (o && o->field && c == '}') {
		field_ends(s);
		return;
	}
	s->at++;
	if (c == ',')
		on_comma(s);
	else if (c == ':' && o && o->field)
		format_begins(s, o);
	else if (c == ':')
		on_colon(s);
	else if (c == '(' || c == '[' || c == '{')
		on_open(s, (char)(c == '(' ? ')' : c + 2));
	else if (c == ')' || c == ']' || c == '}')
		on_close(s, c);
	else
		on_token(s, c == '-' || c == '+' ? TOKEN_SIGN : TOKEN_ANY);
}

static void skip_comment(struct scan_state *s)
{
	const char *at = s->text + s->at;
	const char *end = memchr(at, '\n', s->len - s->at);

	s->at = end ? (uint32_t)(end - s->text) : s->len;
}

static void step(struct scan_state *s)
{
	char c = peek(s, 0);

	if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
		s->at++;
	} else if (c == '\n') {
		s->at++;
		s->tokens += !s->r->opens.count;
	} else if (c == '\\' && peek(s, 1) == '\n') {
		s->at += 2;
	} else if (c == '#') {
		skip_comment(s);
	} else {
		s->tokens++;
		if (isdigit((unsigned char)c) ||
		    (c == '.' && isdigit((unsigned char)peek(s, 1))))
			on_number(s);
		else if (is_word(c))
			on_word(s);
		else if (c == '"' || c == '\'')
			on_string(s, false);
		else
			on_sign(s, c);
	}
}

uint32_t reader_scan(struct reader *r, const char *text, uint32_t len)
{
	struct scan_state s = { .r = r, .text = text, .len = len };

	r->gaps.count = r->opens.count = 0;
	while (s.at < s.len)
		step(&s);
	return s.tokens;
}
