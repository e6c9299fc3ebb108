#include "graph/base/quote.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int quote_is_mark(const char *at, size_t len)
{
	static const char mark[] = QUOTE_MARK;

	return len >= strlen(mark) && strncasecmp(at, mark, strlen(mark)) == 0;
}

/* The length of a UTF-8 character that begins so; 0: none does. */
static size_t length_of(unsigned char first)
{
	static const struct {
		unsigned char from;
		size_t len;
	} lengths[] = { { 0xf5, 0 }, { 0xf0, 4 }, { 0xe0, 3 },
			{ 0xc2, 2 }, { 0x80, 0 }, { 0, 1 } };
	size_t i = 0;

	while (first < lengths[i].from)
		i++;
	return lengths[i].len;
}

/* Is `c` written in more bytes than it needs, or no character at all? */
static bool is_wrong(uint32_t c, size_t len)
{
	if (len == 3)
		return c < 0x800 || (c >= 0xd800 && c < 0xe000);
	return len == 4 && (c < 0x10000 || c > 0x10ffff);
}

/* The length of the UTF-8 character at `at`, 0: it is none; and its number. */
static size_t character(const char *at, uint32_t *ret)
{
	const unsigned char *s = (const unsigned char *)at;
	size_t len = length_of(*s);
	uint32_t c = len < 2 ? *s : *s & (0xffu >> (len + 1));

	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (is_wrong(c, len))
		return 0;
	*ret = c;
	return len;
}

/* Controls, spaces of other widths, line breaks, marks of direction, tags. */
static bool is_invisible(uint32_t c)
{
	return c < ' ' || (c >= 0x7f && c <= 0xa0) || c == 0xad || c == 0x61c ||
	       c == 0x1680 || c == 0x180e || (c >= 0x2000 && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202f) || (c >= 0x205f && c <= 0x206f) ||
	       c == 0x3000 || c == 0xfeff || (c >= 0xfff0 && c <= 0xffff) ||
	       c >= 0xe0000;
}

static bool is_usual(uint32_t c)
{
	return c >= 0x80 || isalnum((int)c) ||
	       strchr("_./+@=,~%^-:$#()[]{}", (int)c);
}

/* The bytes at `at` to be kept together, and whether they are escaped. */
static size_t part(const char *at, size_t left, bool *ret_escape)
{
	uint32_t c = 0;
	size_t len = character(at, &c);

	*ret_escape = len == 0 || len > left || is_invisible(c) || c == '"' ||
		      c == '\\' || quote_is_mark(at, left);
	return *ret_escape ? 1 : len;
}

static bool is_plain(const char *name, size_t len)
{
	bool escape;

	for (size_t i = 0, n; i < len; i += n) {
		n = part(name + i, len - i, &escape);
		if (escape || (n == 1 && !is_usual((unsigned char)name[i])))
			return false;
	}
	return len > 0;
}

const char *quote_name(const char *name, char out[static QUOTE_NAME_SIZE])
{
	size_t all = strlen(name);
	size_t len = all < QUOTE_NAME_MAX ? all : QUOTE_NAME_MAX, at = 0;
	bool plain = all == len && is_plain(name, len), escape;

	if (!plain)
		out[at++] = '"';
	for (size_t i = 0, n; i < len; i += n) {
		n = part(name + i, len - i, &escape);
		if (escape) {
			(void)snprintf(out + at, 5, "\\x%02x",
				       (unsigned char)name[i]);
			at += 4;
		} else {
			memcpy(out + at, name + i, n);
			at += n;
		}
	}
	memcpy(out + at,
	       plain	   ? ""
	       : all > len ? "...\""
			   : "\"",
	       plain	   ? 1
	       : all > len ? 5
			   : 2);
	return out;
}

const char *quote_command(const char *name,
			  char out[static QUOTE_COMMAND_MAX + 1])
{
	const char *slash = name ? strrchr(name, '/') : NULL;
	size_t len = 0;

	name = slash ? slash + 1 : name ? name : "";
	for (; name[len] && len < QUOTE_COMMAND_MAX; len++)
		out[len] = (char)(isalnum((unsigned char)name[len]) ||
						  strchr("_.+-", name[len])
					  ? name[len]
					  : '_');
	out[len] = '\0';
	if (len == 0)
		memcpy(out, "a command", sizeof("a command"));
	return out;
}
