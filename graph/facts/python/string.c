/*
 * Strings. Their contents are read from the text; the tree is walked only in
 * formatted ones, for the expressions in them.
 */
#include "graph/facts/python/reader_i.h"

/* A string's parts in the file's text. */
struct literal {
	uint32_t start, end; /* of the text between the quotes */
	bool raw, bytes, format;
};

/* false: it is broken, or its quotes are unknown. */
static bool literal_of(const struct reader *r, TSNode n, struct literal *ret)
{
	uint32_t start = start_of(n), end = end_of(n);
	uint32_t quotes = 1;
	char quote;

	*ret = (struct literal){ 0 };
	for (; start < end && start + 4 > start_of(n); start++) {
		char c = (char)(r->text[start] | 0x20);

		if (c == 'r')
			ret->raw = true;
		else if (c == 'b')
			ret->bytes = true;
		else if (c == 'f' || c == 't')
			ret->format = true;
		else if (c != 'u')
			break;
	}
	quote = char_at(r, start);
	if (quote != '\'' && quote != '"')
		return false;
	if (end - start >= 6 && char_at(r, start + 1) == quote &&
	    char_at(r, start + 2) == quote)
		quotes = 3;
	if (end - start < 2 * quotes)
		return false;
	ret->start = start + quotes;
	ret->end = end - quotes;
	return true;
}

/*
 * Is its value the text between the quotes? Of a text of several lines that
 * depends on how the file ends its lines.
 */
static bool is_plain(const struct reader *r, const struct literal *l)
{
	if (l->end - l->start > FACTS_STRING_MAX || l->format)
		return false;
	if (!r->annotation &&
	    memchr(r->text + l->start, '\n', l->end - l->start))
		return false;
	return l->raw || !memchr(r->text + l->start, '\\', l->end - l->start);
}

static void expressions(struct reader *r);

/* What is done with {x}, of which x ends at `at`: {x=} and {x!r} use repr(). */
static enum facts_site_kind conversion(const struct reader *r, uint32_t at)
{
	while (char_at(r, at) == ' ')
		at++;
	if (char_at(r, at) == '=')
		return SITE_REPR;
	if (char_at(r, at) != '!')
		return SITE_FORMAT;
	return char_at(r, at + 1) == 's' ? SITE_STR : SITE_REPR;
}

static void interpolation(struct reader *r)
{
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		uint32_t end = end_of(r->node);

		if (r->syn == SYN_FORMAT_SPECIFIER)
			expressions(r);
		else
			reader_implies(r, conversion(r, end), reader_expr(r));
	}
}

/* {a} in a formatted string, and in a format specifier. */
static void expressions(struct reader *r)
{
	bool ok;

	if (is_too_deep(r))
		return;
	r->depth++;
	for (ok = down(r); ok; ok = next(r))
		if (r->syn == SYN_INTERPOLATION ||
		    r->syn == SYN_FORMAT_EXPRESSION)
			interpolation(r);
	r->depth--;
}

static uint32_t make_string(struct reader *r, bool bytes, uint32_t value)
{
	return reader_make(r, EXPR_CONST, bytes ? CONST_BYTES : CONST_STR,
			   bytes ? FACTS_NONE : value, 0);
}

uint32_t reader_string(struct reader *r)
{
	TSPoint p = ts_node_start_point(r->node);
	struct literal l;
	struct reader_place place;
	uint32_t len;

	if (!literal_of(r, r->node, &l))
		return reader_unknown(r);
	if (l.format) {
		bool annotation = r->annotation;

		r->annotation = false;
		expressions(r);
		r->annotation = annotation;
	}
	if (!is_plain(r, &l) || l.bytes)
		return make_string(r, l.bytes, FACTS_NONE);
	len = l.end - l.start;
	if (!r->annotation)
		return make_string(
			r, false,
			strings_add(&r->strings, r->text + l.start, len));
	place.line = p.row - r->span->row;
	place.column = place.line ? p.column : p.column - r->span->column;
	return reader_type_text(r, r->text + l.start, len, place);
}

/* Joins "a" "b" in r->chars; false: not all of them are plain. */
static bool join(struct reader *r, bool *bytes)
{
	bool plain = true;
	struct literal l;
	bool ok;

	r->chars.count = 0;
	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn != SYN_STRING || !literal_of(r, r->node, &l)) {
			plain = false;
			continue;
		}
		*bytes = l.bytes;
		if (l.format)
			expressions(r);
		plain = plain && is_plain(r, &l);
		if (plain)
			array_append(&r->chars, r->text + l.start,
				     l.end - l.start);
		plain = plain && r->chars.count <= FACTS_STRING_MAX;
	}
	return plain;
}

uint32_t reader_strings(struct reader *r)
{
	bool bytes = false;
	uint32_t value = FACTS_NONE;

	if (join(r, &bytes) && !bytes)
		value = strings_add(&r->strings, r->chars.at, r->chars.count);
	return make_string(r, bytes, value);
}

bool reader_is_plain_string(const struct reader *r)
{
	struct literal l;

	return r->syn == SYN_STRING && literal_of(r, r->node, &l) && !l.format;
}
