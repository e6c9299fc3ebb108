#include "manager/transcript/literal.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "manager/transcript/literal_i.h"

/*
 * Copy from `p` up to the first `stop` or `end`, and advance *out. There must
 * be room at *out for all bytes up to `end`: blocks of sixteen are stored
 * before it is known how many of them count.
 */
static const char *copy_until(const char *p, const char *end, char stop,
			      char **out)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i x = load16(p);
		unsigned hit = hits(_mm_cmpeq_epi8(x, _mm_set1_epi8(stop)));
		int n = hit ? __builtin_ctz(hit) : 16;

		_mm_storeu_si128((__m128i *)(void *)*out, x);
		*out += n;
		p += n;
		if (hit)
			return p;
	}
#endif
	while (p < end && *p != stop)
		*(*out)++ = *p++;
	return p;
}

static size_t put_utf8(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static bool is_high(int unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(int unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* At the digits behind "\u": that unit, or the pair that it begins. */
static const char *decode_unit(const char *p, const char *end, uint32_t *ret)
{
	int unit = hex4(p, end), low = -1;

	if (unit < 0) {
		/* Only in a literal that dom_scan() did not see. */
		*ret = 'u';
		return p;
	}
	p += 4;
	if (is_high(unit) && end - p >= 6 && p[0] == '\\' && p[1] == 'u')
		low = hex4(p + 2, end);
	if (!is_low(low)) {
		*ret = (uint32_t)unit;
		return p;
	}
	*ret = 0x10000 + ((uint32_t)(unit - 0xd800) << 10) +
	       (uint32_t)(low - 0xdc00);
	return p + 6;
}

/* The character that each letter behind a backslash stands for; 0: none. */
static const char escapes[256] = {
	['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
	['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

/* Decode the escape whose backslash is before `p`. */
static const char *decode_escape(const char *p, const char *end, char **out)
{
	uint32_t c;

	if (*p != 'u') {
		*(*out)++ = escapes[(unsigned char)*p];
		return p + 1;
	}
	p = decode_unit(p + 1, end, &c);
	*out += put_utf8(c, *out);
	return p;
}

size_t literal_decode(const char *inside, size_t len, char *out)
{
	const char *p = inside, *end = inside + len;
	char *at = out;

	while (p < end) {
		p = copy_until(p, end, '\\', &at) + 1;
		if (p < end)
			p = decode_escape(p, end, &at);
	}
	assert((size_t)(at - out) <= len);
	return (size_t)(at - out);
}

/* How many bytes at `p` and `text` are equal, up to a backslash? */
static size_t alike(const char *p, const char *text, size_t most)
{
	size_t n = 0;

#ifdef __SSE2__
	for (; most - n >= 16; n += 16) {
		__m128i x = load16(p + n);
		__m128i same = _mm_cmpeq_epi8(x, load16(text + n));
		__m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));
		unsigned other = hits(_mm_andnot_si128(slash, same)) ^ 0xffffu;

		if (other)
			return n + (unsigned)__builtin_ctz(other);
	}
#endif
	while (n < most && p[n] == text[n] && p[n] != '\\')
		n++;
	return n;
}

/* Advance both as long as they say the same. */
static void compare(const char **inside, const char *end, const char **text,
		    const char *stop)
{
	const char *p = *inside, *t = *text;

	while (p < end && t < stop) {
		char out[4], *to = out;
		const char *next;
		size_t n = (size_t)(end - p < stop - t ? end - p : stop - t);

		n = alike(p, t, n);
		p += n;
		t += n;
		if (end - p < 2 || *p != '\\' || t == stop)
			break;
		next = decode_escape(p + 1, end, &to);
		n = (size_t)(to - out);
		if ((size_t)(stop - t) < n || memcmp(out, t, n) != 0)
			break;
		p = next;
		t += n;
	}
	*inside = p;
	*text = t;
}

bool literal_equals(const char *inside, size_t len, const char *text,
		    size_t text_len)
{
	const char *end = inside + len, *stop = text + text_len;

	compare(&inside, end, &text, stop);
	return inside == end && text == stop;
}

bool literal_begins(const char *inside, size_t len, const char *text,
		    size_t text_len)
{
	const char *stop = text + text_len;

	compare(&inside, inside + len, &text, stop);
	return text == stop;
}

/* Are there the three bytes of a surrogate at `p`? */
static bool is_surrogate(const char *p, const char *end)
{
	return end - p >= 3 && (unsigned char)p[0] == 0xed &&
	       ((unsigned char)p[1] & 0xe0) == 0xa0 &&
	       ((unsigned char)p[2] & 0xc0) == 0x80;
}

/*
 * Copy up to a byte that may need an escape, or `end`; 0xed begins every
 * surrogate. There must be room at *out for all bytes up to `end`.
 */
static const char *copy_literal(const char *p, const char *end, char **out)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i x = load16(p);
		__m128i high = _mm_cmpeq_epi8(x, _mm_set1_epi8((char)0xed));
		unsigned hit = specials(p) | hits(high);
		int n = hit ? __builtin_ctz(hit) : 16;

		_mm_storeu_si128((__m128i *)(void *)*out, x);
		*out += n;
		p += n;
		if (hit)
			return p;
	}
#endif
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ' &&
	       (unsigned char)*p != 0xed)
		*(*out)++ = *p++;
	return p;
}

/* Write the escape for the character at *p, at most six bytes; advance *p. */
static size_t escape(const char **p, const char *end, char *out)
{
	static const char digits[] = "0123456789abcdef";
	static const char shorts[] = "btn\0fr"; /* from '\b' on */
	unsigned c = (unsigned char)**p;

	assert(c < ' ' || c == '"' || c == '\\' || is_surrogate(*p, end));
	if (is_surrogate(*p, end)) {
		c = 0xd000 | ((unsigned char)(*p)[1] & 0x3fu) << 6 |
		    ((unsigned char)(*p)[2] & 0x3fu);
		*p += 2;
	}
	*p += 1;
	out[0] = '\\';
	if (c == '"' || c == '\\') {
		out[1] = (char)c;
		return 2;
	}
	if (c >= '\b' && c <= '\r' && shorts[c - '\b']) {
		out[1] = shorts[c - '\b'];
		return 2;
	}
	out[1] = 'u';
	out[2] = digits[c >> 12 & 15];
	out[3] = digits[c >> 8 & 15];
	out[4] = digits[c >> 4 & 15];
	out[5] = digits[c & 15];
	return 6;
}

size_t literal_encoded_max(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	size_t more = 0;

#ifdef __SSE2__
	for (; end - p >= 16; p += 16) {
		__m128i high =
			_mm_cmpeq_epi8(load16(p), _mm_set1_epi8((char)0xed));

		more += 5 *
			(size_t)__builtin_popcount(specials(p) | hits(high));
	}
#endif
	return len + more + 5 * (size_t)(end - p);
}

size_t literal_encode(const char *text, size_t len, char *out)
{
	const char *p = text, *end = text + len;
	char *at = out;

	while (p < end) {
		p = copy_literal(p, end, &at);
		if (p == end)
			break;
		if ((unsigned char)*p == 0xed && !is_surrogate(p, end))
			*at++ = *p++;
		else
			at += escape(&p, end, at);
	}
	assert((size_t)(at - out) <= 6 * len);
	return (size_t)(at - out);
}
