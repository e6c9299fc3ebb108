/*
 * Memory for processes that can be restarted: when it runs out they print one
 * line and abort. Not for fs/, which answers ENOMEM and lives on.
 */
#ifndef STATETAPE_GRAPH_BASE_ALLOC_H
#define STATETAPE_GRAPH_BASE_ALLOC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Returns `p`, or aborts if it is NULL: for memory a library allocated. */
void *must_have(void *p);
/* Of size 0: an address all the same. */
void *must_alloc(size_t size);
void *must_calloc(size_t count, size_t size);
void *must_realloc(void *p, size_t size);

/*
 * Reallocate `p`, an array of *size elements, to hold at least `need`. New
 * elements are uninitialized. Grows by half, so that adding one at a time
 * takes amortised constant time.
 */
void *must_grow(void *p, uint32_t *size, size_t need, size_t element);

char *must_strdup(const char *text);
/* With a NUL after the last byte; `bytes` may be NULL if `len` is 0. */
char *must_memdup(const char *bytes, size_t len);

/* printf() into a new string, and vprintf(). */
char *format_text(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
char *format_text_v(const char *format, va_list args)
	__attribute__((format(printf, 1, 0)));

#endif
