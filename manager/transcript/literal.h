/*
 * JSON string literals: decoding, encoding, and comparing without either.
 * `inside` is always the text between the quotes. Pure.
 */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_LITERAL_H
#define STATETAPE_MANAGER_TRANSCRIPT_LITERAL_H

#include <stdbool.h>
#include <stddef.h>

enum literal_form {
	LITERAL_PLAIN,	   /* no backslash: the bytes are the text */
	LITERAL_CANONICAL, /* every escape is as literal_encode() writes it */
	LITERAL_OTHER,	   /* with other escapes (\u, \/), maybe needless */
};

/*
 * Does the literal decode to `text`, or to something that begins with it? Same
 * as to decode and compare, but needs no memory. A beginning ends at the end
 * of a character.
 */
bool literal_equals(const char *inside, size_t len, const char *text,
		    size_t text_len);
bool literal_begins(const char *inside, size_t len, const char *text,
		    size_t text_len);

/* Returns the decoded length, at most `len`, which `out` has room for. */
size_t literal_decode(const char *inside, size_t len, char *out);

/*
 * Encode `text`, escaping only what must be escaped. Returns the length, at
 * most literal_encoded_max(), which is at most 6 * len and for usual text
 * little more than needed. Decoding returns `text`, with one exception: the
 * two halves of a surrogate pair that stand side by side in `text`, three
 * bytes each, become one character.
 */
size_t literal_encoded_max(const char *text, size_t len);
size_t literal_encode(const char *text, size_t len, char *out);

#endif
