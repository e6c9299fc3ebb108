/*
 * A growable run of bytes that is born with its maximum, so that nothing read
 * from outside decides how much memory we take. Callers may read `data` and
 * `len`, and may lower `len`; the rest is buf.c's.
 *
 * A zeroed struct with `max` set is ready for use: BUF(max).
 */
#ifndef STATETAPE_GRAPH_BASE_BUF_H
#define STATETAPE_GRAPH_BASE_BUF_H

#include <stddef.h>

struct buf {
	char *data; /* aligned for any type; NULL while nothing was asked for */
	size_t len;
	size_t size; /* allocated */
	size_t max;  /* `len` never passes this */
};

#define BUF(limit) ((struct buf){ .max = (limit) })

void buf_release(struct buf *b);

/*
 * Make room for `more` bytes behind `len`. -EMSGSIZE: that would pass the
 * maximum. -ENOMEM. On failure nothing has changed.
 */
int buf_reserve(struct buf *b, size_t more);

/* Append. Fails as buf_reserve() does, and then appends nothing. */
int buf_add(struct buf *b, const void *bytes, size_t len);

#endif
