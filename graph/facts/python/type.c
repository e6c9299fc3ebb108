/*
 * Annotations in strings: 'Foo', "Optional['a.Foo'] | None". They are short
 * and of few forms, and running the main parser for each would be slow; so
 * they have a small one here. A string with anything else in it is
 * EXPR_UNKNOWN as a whole.
 *
 *	type  = item { "|" item }
 *	item  = atom { "." name | "[" types "]" }
 *	atom  = name | string | number | "..." | "[" types "]" | "(" types ")"
 *	types = [ type { "," type } [ "," ] ]
 */
#include "graph/facts/python/reader_i.h"

#define NESTING_MAX 32

struct type_scan {
	struct reader *r;
	const char *at, *end;
	struct reader_place place;
	int depth;
	bool literal; /* inside Literal[]: strings are not types */
	bool failed;
};

static uint32_t scan_type(struct type_scan *s);

static char peek(struct type_scan *s)
{
	while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
		s->at++;
	if (s->at == s->end)
		return '\0';
	return *s->at;
}

static bool is_at_end(struct type_scan *s)
{
	(void)peek(s);
	return s->at == s->end;
}

static bool take(struct type_scan *s, char c)
{
	if (peek(s) != c)
		return false;
	s->at++;
	return true;
}

static uint32_t fail(struct type_scan *s)
{
	s->failed = true;
	s->at = s->end;
	return 0;
}

/* Letters beyond ASCII count as letters. */
static bool is_letter(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c & 0x80);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static facts_str scan_word(struct type_scan *s)
{
	const char *from = s->at;

	while (s->at < s->end && (is_letter(*s->at) || is_digit(*s->at)))
		s->at++;
	return strings_add(&s->r->strings, from, (uint32_t)(s->at - from));
}

static uint32_t placed(struct type_scan *s, uint32_t e)
{
	*array_last(&s->r->places) = s->place;
	return e;
}

static uint32_t scan_name(struct type_scan *s)
{
	static const struct {
		const char *text;
		uint32_t len;
		enum facts_const kind;
		uint32_t value;
	} words[] = {
		{ "None", 4, CONST_NONE, FACTS_NONE },
		{ "True", 4, CONST_BOOL, 1 },
		{ "False", 5, CONST_BOOL, 0 },
	};
	facts_str name = scan_word(s);
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (string_is(s->r, name, words[i].text, words[i].len))
			return reader_make(s->r, EXPR_CONST, words[i].kind,
					   words[i].value, 0);
	return placed(s, reader_make(s->r, EXPR_NAME, name, s->r->block, 0));
}

static uint32_t scan_number(struct type_scan *s)
{
	while (s->at < s->end && is_digit(*s->at))
		s->at++;
	return reader_make(s->r, EXPR_CONST, CONST_INT, FACTS_NONE, 0);
}

/* A string in the string: again a type, except inside Literal[]. */
static uint32_t scan_string(struct type_scan *s)
{
	char quote = *s->at++;
	const char *close = memchr(s->at, quote, (size_t)(s->end - s->at));
	struct type_scan inside = *s;
	uint32_t e;

	if (!close)
		return fail(s);
	inside.end = close;
	if (s->literal) {
		e = strings_add(&s->r->strings, s->at,
				(uint32_t)(close - s->at));
		e = reader_make(s->r, EXPR_CONST, CONST_STR, e, 0);
	} else {
		e = scan_type(&inside);
		if (inside.failed || !is_at_end(&inside))
			return fail(s);
	}
	s->at = close + 1;
	return e;
}

/* Pushes the types up to `close` on the stack of items. */
static void scan_types(struct type_scan *s, char close)
{
	uint32_t e;

	while (!s->failed && peek(s) != close) {
		e = scan_type(s);
		array_push(&s->r->items, e);
		if (!take(s, ',') && peek(s) != close)
			(void)fail(s);
	}
	(void)take(s, close);
}

static uint32_t scan_atom(struct type_scan *s)
{
	uint32_t from = s->r->items.count;
	char c = peek(s);

	if (is_letter(c))
		return scan_name(s);
	if (is_digit(c))
		return scan_number(s);
	if (c == '\'' || c == '"')
		return scan_string(s);
	if (c == '.' && s->end - s->at >= 3 && !memcmp(s->at, "...", 3)) {
		s->at += 3;
		return reader_make(s->r, EXPR_CONST, CONST_ELLIPSIS, FACTS_NONE,
				   0);
	}
	if (take(s, '[')) {
		scan_types(s, ']');
		return reader_of_items(s->r, EXPR_LIST, from);
	}
	if (take(s, '(')) {
		scan_types(s, ')');
		return reader_one_or_tuple(s->r, from);
	}
	return fail(s);
}

static uint32_t scan_index(struct type_scan *s, uint32_t base)
{
	uint32_t from = s->r->items.count;
	bool literal = s->literal;
	uint32_t index;

	s->literal = NAME_IS(s->r, base, "Literal") ||
		     ATTR_IS(s->r, base, "Literal");
	scan_types(s, ']');
	s->literal = literal;
	index = reader_one_or_tuple(s->r, from);
	return reader_make(s->r, EXPR_INDEX, base, index, 0);
}

static uint32_t scan_item(struct type_scan *s)
{
	uint32_t e = scan_atom(s);

	while (!s->failed) {
		if (take(s, '.')) {
			if (!is_letter(peek(s)))
				return fail(s);
			e = placed(s, reader_make(s->r, EXPR_ATTR, e,
						  scan_word(s), s->r->block));
		} else if (take(s, '[')) {
			e = scan_index(s, e);
		} else {
			break;
		}
	}
	return e;
}

static uint32_t scan_type(struct type_scan *s)
{
	uint32_t e, other;

	if (++s->depth > NESTING_MAX)
		return fail(s);
	e = scan_item(s);
	while (!s->failed && take(s, '|')) {
		other = scan_item(s);
		if (!s->failed)
			e = reader_make(s->r, EXPR_BINARY, e, other, OP_OR);
	}
	s->depth--;
	return e;
}

uint32_t reader_type_text(struct reader *r, const char *text, uint32_t len,
			  struct reader_place place)
{
	struct type_scan s = {
		.r = r, .at = text, .end = text + len, .place = place
	};
	uint32_t exprs = r->exprs.count, lists = r->lists.count;
	uint32_t items = r->items.count;
	uint32_t e = scan_type(&s);

	if (!s.failed && is_at_end(&s))
		return e;
	r->exprs.count = exprs;
	r->places.count = exprs;
	r->lists.count = lists;
	r->items.count = items;
	return reader_unknown(r);
}
