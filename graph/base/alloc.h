/*
 * Memory for the processes that restart: when there is none they say so in
 * one line and end. Not for fs/, which has to live on.
 */
#ifndef STATETAPE_GRAPH_BASE_ALLOC_H
#define STATETAPE_GRAPH_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* `p`, which must not be NULL: for what others allocate. */
void *must_have(void *p);
void *must_alloc(size_t size);
void *must_calloc(size_t count, size_t size);
void *must_realloc(void *p, size_t size);

/*
 * `p`, an array of *size elements, made to hold at least `need` of them; what
 * is new in it is not set. Grows by half, so that adding one at a time is
 * cheap.
 */
void *must_grow(void *p, uint32_t *size, size_t need, size_t element);

char *must_strdup(const char *text);
/* With a NUL after the last byte; `bytes` may be NULL if `len` is 0. */
char *must_memdup(const char *bytes, size_t len);

#endif
