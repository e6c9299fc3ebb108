#include "graph/base/alloc.h"

#include <stdio.h>

static void *checked(void *p)
{
	if (p)
		return p;
	(void)fputs("statetape: out of memory\n", stderr);
	abort();
}

void *must_alloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *must_calloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

void *must_realloc(void *p, size_t size)
{
	return checked(realloc(p, size ? size : 1));
}

void *must_grow(void *p, uint32_t *size, size_t need, size_t element)
{
	size_t more = *size + *size / 2 + 8;

	if (need <= *size)
		return p;
	if (more < need)
		more = need;
	if (more > UINT32_MAX)
		return checked(NULL);
	*size = (uint32_t)more;
	return checked(reallocarray(p, more, element));
}
