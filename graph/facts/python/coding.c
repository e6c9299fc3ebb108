/*
 * The encoding of a text. The parser reads UTF-8. A file may declare another
 * encoding in a comment of its first two lines; Latin-1 is the one in use, and
 * its letters are names like any other. So such a text is parsed as what it
 * would be in UTF-8. Texts in other encodings are parsed as they are.
 */
#include <ctype.h>

#include "graph/facts/python/reader_i.h"

static const char *const latin_1[] = {
	"latin-1",    "latin1", "latin",       "l1",	  "iso-8859-1",
	"iso8859-1",  "8859",	"cp819",       "iso8859", "iso-latin-1",
	"iso-ir-100", "ibm819", "csisolatin1",
};

static const char *line_end(const char *at, const char *end)
{
	const char *line = memchr(at, '\n', (size_t)(end - at));

	return line ? line : end;
}

/* coding=NAME or coding: NAME in a comment; its length, 0: it is not there. */
static size_t coding_in(const char *line, const char *end, const char **ret)
{
	static const char word[] = "coding";
	const size_t len = sizeof(word) - 1;
	const char *at;

	for (at = line; (size_t)(end - at) > len; at++) {
		const char *name = at + len + 1, *to;

		if (memcmp(at, word, len) != 0 ||
		    (at[len] != ':' && at[len] != '='))
			continue;
		while (name < end && (*name == ' ' || *name == '\t'))
			name++;
		to = name;
		while (to < end && (isalnum((unsigned char)*to) || *to == '-' ||
				    *to == '_' || *to == '.'))
			to++;
		if (to == name)
			continue;
		*ret = name;
		return (size_t)(to - name);
	}
	return 0;
}

/* Python takes `_` for `-`, and upper case for lower. */
static bool is_latin_1(const char *name, size_t len)
{
	for (size_t k = 0; k < sizeof(latin_1) / sizeof(*latin_1); k++) {
		size_t at = 0;

		while (at < len && latin_1[k][at] &&
		       (name[at] == '_' ? '-'
					: tolower((unsigned char)name[at])) ==
			       latin_1[k][at])
			at++;
		if (at == len && !latin_1[k][at])
			return true;
	}
	return false;
}

static bool declares_latin_1(const char *text, const char *end)
{
	for (int line = 0; line < 2 && text < end; line++) {
		const char *to = line_end(text, end), *name;
		size_t len;

		while (text < to &&
		       (*text == ' ' || *text == '\t' || *text == '\f'))
			text++;
		if (text < to && *text != '#' && *text != '\r')
			return false;
		len = coding_in(text, to, &name);
		if (len)
			return is_latin_1(name, len);
		text = to + 1;
	}
	return false;
}

const char *reader_decode(struct reader *r, const char *text, size_t *len)
{
	const char *end = text + *len;

	if (!declares_latin_1(text, end))
		return text;
	r->decoded.count = 0;
	for (; text < end; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x80) {
			array_push(&r->decoded, *text);
			continue;
		}
		array_push(&r->decoded, (char)(0xc0 | c >> 6));
		array_push(&r->decoded, (char)(0x80 | (c & 0x3f)));
	}
	*len = r->decoded.count;
	return r->decoded.at;
}
