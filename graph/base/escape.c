#include "graph/base/escape.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "graph/base/hex.h"

#define ELLIPSIS     "\xe2\x80\xa6"
#define ELLIPSIS_LEN (sizeof(ELLIPSIS) - 1)
#define CUT_MARK     "\\" ELLIPSIS
#define CUT_MARK_LEN (sizeof(CUT_MARK) - 1)

/* Bytes that are written as they are, whatever is next to them. */
static const bool plain[256] = {
	[' ' ... '['] = true,
	[']' ... '~'] = true,
};

static bool within(unsigned char c, unsigned char low, unsigned char high)
{
	return c >= low && c <= high;
}

/*
 * Length of the character at `s` if it is valid UTF-8 of two to four bytes and
 * no C1 control; 0 otherwise. Stops at the first invalid byte, so it does not
 * read beyond the NUL.
 */
static size_t utf8_len(const unsigned char *s)
{
	unsigned char c = s[0];
	unsigned char low = 0x80, high = 0xbf;
	size_t len, i;

	if (within(c, 0xc2, 0xdf))
		len = 2;
	else if (within(c, 0xe0, 0xef))
		len = 3;
	else if (within(c, 0xf0, 0xf4))
		len = 4;
	else
		return 0;

	/* The second byte excludes overlong forms, surrogates and C1. */
	if (c == 0xc2 || c == 0xe0)
		low = 0xa0;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf4)
		high = 0x8f;
	if (!within(s[1], low, high))
		return 0;
	for (i = 2; i < len; i++)
		if (!within(s[i], 0x80, 0xbf))
			return 0;
	return len;
}

/* The letter after the backslash for `c`; 0: it has no short escape. */
static char short_escape(unsigned char c)
{
	switch (c) {
	case '\t':
		return 't';
	case '\n':
		return 'n';
	case '\\':
		return '\\';
	default:
		return 0;
	}
}

/*
 * Write the character at `s` to *out, at most four bytes, and advance *out.
 * Returns how many bytes of `s` it took.
 */
static size_t escape_one(const unsigned char *s, char **out)
{
	size_t len = plain[*s] ? 1 : utf8_len(s);
	char letter = short_escape(*s);
	char *p = *out;

	if (len > 0) {
		memcpy(p, s, len);
		*out = p + len;
		return len;
	}
	*p++ = '\\';
	if (letter) {
		*p++ = letter;
	} else {
		*p++ = 'x';
		*p++ = hex_digits[*s >> 4];
		*p++ = hex_digits[*s & 15];
	}
	*out = p;
	return 1;
}

size_t escape_text(const char *text, char *out, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	char *p = out, *end = out + size - 1;
	char *mark_at = out; /* the last place where the mark fits */
	char one[4];

	assert(size > CUT_MARK_LEN);
	while (*s) {
		char *one_end = one;
		size_t took = escape_one(s, &one_end);
		size_t len = (size_t)(one_end - one);

		if (len > (size_t)(end - p)) {
			p = mark_at;
			memcpy(p, CUT_MARK, CUT_MARK_LEN);
			p += CUT_MARK_LEN;
			break;
		}
		memcpy(p, one, len);
		p += len;
		s += took;
		if ((size_t)(end - p) >= CUT_MARK_LEN)
			mark_at = p;
	}
	*p = '\0';
	return (size_t)(p - out);
}

char *escape_upto(const char *text, size_t max, char *out)
{
	const unsigned char *s = (const unsigned char *)text;
	const unsigned char *stop = s + max;

	while (*s && s < stop) {
		if (plain[*s])
			*out++ = (char)*s++;
		else
			s += escape_one(s, &out);
	}
	if (*s) {
		memcpy(out, CUT_MARK, CUT_MARK_LEN);
		out += CUT_MARK_LEN;
	}
	return out;
}

/*
 * Undo the escape that follows a backslash at `s` - 1 and advance *out.
 * Returns how many bytes of `s` it took; 0: there is no such escape.
 */
static size_t unescape_one(const char *s, char **out)
{
	const char *c;
	int high, low;

	if (!strncmp(s, ELLIPSIS, ELLIPSIS_LEN)) {
		memcpy(*out, ELLIPSIS, ELLIPSIS_LEN);
		*out += ELLIPSIS_LEN;
		return ELLIPSIS_LEN;
	}
	for (c = "\t\n\\"; *c; c++) {
		if (*s == short_escape((unsigned char)*c)) {
			*(*out)++ = *c;
			return 1;
		}
	}
	high = *s == 'x' ? hex_value(s[1]) : -1;
	low = high >= 0 ? hex_value(s[2]) : -1;
	if (low < 0 || (high == 0 && low == 0))
		return 0;
	*(*out)++ = (char)(high << 4 | low);
	return 3;
}

int escape_undo(char *text)
{
	char *from = text, *to = text;

	while (*from) {
		size_t took;

		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		took = unescape_one(from + 1, &to);
		if (took == 0)
			return -EBADMSG;
		from += 1 + took;
	}
	*to = '\0';
	return 0;
}
