/* Shared by dom.c and literal.c: steps over many bytes of a string at once. */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_LITERAL_I_H
#define STATETAPE_MANAGER_TRANSCRIPT_LITERAL_I_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#ifdef __SSE2__
static inline __m128i load16(const char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Bit n: byte n is all ones. */
static inline unsigned hits(__m128i x)
{
	return (unsigned)_mm_movemask_epi8(x);
}

/* Bit n: p[n] is a quote, a backslash or a control character. */
static inline unsigned specials(const char *p)
{
	__m128i x = load16(p);
	__m128i low = _mm_min_epu8(x, _mm_set1_epi8(0x1f));
	__m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
	__m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));

	return hits(_mm_or_si128(_mm_or_si128(quote, slash),
				 _mm_cmpeq_epi8(low, x)));
}
#endif

static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The value of four hexadecimal digits; -1: there are none at `p`. */
static inline int hex4(const char *p, const char *end)
{
	int value = 0, i;

	if (end - p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		int digit = hex_digit(p[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

#endif
