#include "graph/base/base64.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "graph/base/alloc.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const char *bytes, size_t len)
{
	char *text = must_alloc((len + 2) / 3 * 4 + 1), *to = text;

	for (size_t k = 0; k < len; k += 3) {
		size_t have = len - k < 3 ? len - k : 3;
		uint32_t bits = 0;

		for (size_t i = 0; i < 3; i++)
			bits = bits << 8 |
			       (i < have ? (unsigned char)bytes[k + i] : 0U);
		for (size_t i = 0; i < 4; i++) {
			*to = '=';
			if (i <= have)
				*to = digits[bits >> (18 - 6 * i) & 63];
			to++;
		}
	}
	*to = '\0';
	return text;
}

/* -1: no digit. */
static int value_of(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Four digits; how many bytes they are, 0: none. */
static size_t decode_four(const char *text, bool last, char *to)
{
	size_t bytes = 3;
	uint32_t bits = 0;

	if (last && text[3] == '=')
		bytes = text[2] == '=' ? 1 : 2;
	for (size_t i = 0; i < 4; i++) {
		int v = i <= bytes ? value_of(text[i]) : 0;

		if (v < 0)
			return 0;
		bits = bits << 6 | (uint32_t)v;
	}
	for (size_t i = 0; i < bytes; i++)
		to[i] = (char)(bits >> (16 - 8 * i) & 0xff);
	return bytes;
}

int base64_decode(const char *text, char **ret, size_t *ret_len)
{
	size_t len = strlen(text), made = 0;
	char *bytes;

	if (len % 4)
		return -EBADMSG;
	bytes = must_alloc(len / 4 * 3 + 1);
	for (size_t k = 0; k < len; k += 4) {
		size_t n = decode_four(text + k, k + 4 == len, bytes + made);

		if (!n) {
			free(bytes);
			return -EBADMSG;
		}
		made += n;
	}
	bytes[made] = '\0';
	*ret = bytes;
	*ret_len = made;
	return 0;
}
