#include "graph/base/alloc.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void *must_have(void *p)
{
	if (p)
		return p;
	(void)fputs("statetape: out of memory\n", stderr);
	abort();
}

void *must_alloc(size_t size)
{
	return must_have(malloc(size ? size : 1));
}

void *must_calloc(size_t count, size_t size)
{
	return must_have(calloc(count ? count : 1, size ? size : 1));
}

void *must_realloc(void *p, size_t size)
{
	return must_have(realloc(p, size ? size : 1));
}

void *must_grow(void *p, uint32_t *size, size_t need, size_t element)
{
	size_t more = *size + *size / 2 + 8;

	assert(element > 0);
	if (need <= *size)
		return p;
	if (more < need)
		more = need;
	if (more > UINT32_MAX)
		return must_have(NULL);
	*size = (uint32_t)more;
	return must_have(reallocarray(p, more, element));
}

char *must_strdup(const char *text)
{
	return must_memdup(text, strlen(text));
}

char *must_memdup(const char *bytes, size_t len)
{
	char *copy = must_alloc(len + 1);

	if (len)
		memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

char *format_text_v(const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	return must_have(text);
}

char *format_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = format_text_v(format, args);
	va_end(args);
	return text;
}
