#include "graph/base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST 256

void buf_release(struct buf *b)
{
	free(b->data);
	*b = BUF(b->max);
}

int buf_reserve(struct buf *b, size_t more)
{
	size_t size;
	char *data;

	assert(b->len <= b->size && b->size <= b->max);
	if (more > b->max - b->len)
		return -EMSGSIZE;
	if (more <= b->size - b->len)
		return 0;
	/* Double, within the maximum, and at least to what is needed. */
	size = b->size < b->max / 2 ? b->size * 2 : b->max;
	if (size < b->len + more)
		size = b->len + more;
	if (size < BUF_FIRST && BUF_FIRST <= b->max)
		size = BUF_FIRST;
	data = realloc(b->data, size);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->size = size;
	assert(b->size <= b->max);
	return 0;
}

int buf_add(struct buf *b, const void *bytes, size_t len)
{
	int r = buf_reserve(b, len);

	if (r < 0)
		return r;
	if (len > 0)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	return 0;
}
