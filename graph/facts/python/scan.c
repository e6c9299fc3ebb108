/*
 * Scans a large text before the parser sees it. tree-sitter takes about a
 * microsecond and 230 bytes per token: a table of three million numbers, of
 * which only its being a table matters, would take seconds and more than a
 * gigabyte. The scan is a hundred times faster and finds two things:
 *
 * - Gaps. In brackets, after many items of plain data (numbers, strings without
 *   expressions, constants, brackets of such), further items of the same kind
 *   are hidden from the parser. A gap begins and ends after a comma and
 *   contains nothing but items and commas: so the text parses without it if
 *   and only if it parses with it. Hashes, lines and places still include it.
 * - The number of tokens between the gaps. A file of more than TOKENS_MAX is
 *   not parsed at all.
 *
 * Both depend on the text alone, and the gaps inside a definition do not depend
 * on the text around it: its facts are the same whether it is read by itself or
 * with its file. Where quotes or brackets do not match, the file is broken and
 * nothing is read by itself: then it is enough that the result is always the
 * same.
 */
#include <ctype.h>

#include "graph/facts/python/reader_i.h"

/* Plain items that stay before a gap: more than TUPLE_MAX, so that the rest of
   a table is still taken for one. */
#define ITEMS_KEPT 256
/* Assumed size of a token in text that cannot be scanned. */
#define TOKEN_BYTES 4

/* What the current item consists of so far. */
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
	bool field;  /* `{` in a string, whose quotes are below */
	bool format; /* after the field's colon */
	char quote;
	uint8_t quotes;

	uint8_t item; /* enum scan_item */
	bool pair;    /* the current item has had its colon */
	uint8_t form; /* of items; 0: no item yet, 1: single, 2: pairs */
	bool plain;   /* all items so far are data */

	/* Plain items in a row; after ITEMS_KEPT of them, the possible gap. */
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

/* Replaces the gaps inside it; later ones are in an item that stays. */
static void add_gap(struct reader *r, struct gap gap)
{
	uint32_t from = r->gaps.count, to;

	assert(gap.start < gap.end);
	while (from && r->gaps.at[from - 1].start >= gap.start)
		from--;
	for (to = from; to < r->gaps.count && r->gaps.at[to].start < gap.end;)
		to++;
	/* Sorted and apart, as the parser wants its ranges. */
	assert(!from || r->gaps.at[from - 1].end <= gap.start);
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

/* Is the current item data, of the same form as those before it? */
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

/* Brackets do not match: no open one is taken for data. */
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

	/* A call or an index is not data. */
	if (o && o->item != ITEM_EMPTY)
		o->item = ITEM_MIXED;
	(void)push(s, close);
}

static bool ends_string(const struct scan_state *s, char quote, uint8_t quotes)
{
	return peek(s, 0) == quote &&
	       (quotes == 1 || (peek(s, 1) == quote && peek(s, 2) == quote));
}

/* A line ends inside a string of one line, or the file inside any. */
static void string_breaks(struct scan_state *s)
{
	if (s->at >= s->len)
		s->tokens += s->len / TOKEN_BYTES;
	lose(s);
}

/* To the end of an ordinary string. */
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
 * Continues in a formatted string, or (`format`) after the colon of a field in
 * it: to its end, or into the next field.
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

/* A field ends: continues in its string, or in the format around it. */
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

/* A name, a keyword, or the prefix of a string. */
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

/* 1, 1_000, 1.5, 1e-9, 2j, 0xff: the forms that are certainly numbers. */
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
