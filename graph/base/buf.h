/*
 * A growable byte buffer with a fixed maximum, so that no input decides how
 * much memory we allocate. Callers may read `data` and `len`, lower `len`, and
 * raise it over bytes they wrote into room they reserved.
 *
 * BUF(max), a zeroed struct with `max` set, is an empty buffer.
 */
#ifndef STATETAPE_GRAPH_BASE_BUF_H
#define STATETAPE_GRAPH_BASE_BUF_H

#include <stddef.h>

struct buf {
	char *data; /* aligned for any type; NULL until the first reserve */
	size_t len;
	size_t size; /* allocated */
	size_t max;  /* of `size`, and so of `len` */
};

#define BUF(limit) ((struct buf){ .max = (limit) })

void buf_release(struct buf *b);

/*
 * Make room for `more` bytes after the first `len`. -EMSGSIZE: that would
 * exceed `max`. -ENOMEM. On failure the buffer is unchanged.
 */
int buf_reserve(struct buf *b, size_t more);

/* Append. Fails like buf_reserve(), and then appends nothing. */
int buf_add(struct buf *b, const void *bytes, size_t len);

#endif
