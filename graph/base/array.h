/*
 * A growable array of one type: `ARRAY(struct edge) edges;` is empty when
 * zeroed. Callers may read `at` and `count`; lowering `count` drops the last
 * elements and keeps their memory.
 *
 * No call fails: the process ends if memory runs out (graph/base/alloc.h). A
 * pointer into an array is valid until the next element is added.
 */
#ifndef STATETAPE_GRAPH_BASE_ARRAY_H
#define STATETAPE_GRAPH_BASE_ARRAY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"

#define ARRAY(type)             \
	struct {                \
		type *at;       \
		uint32_t count; \
		uint32_t size;  \
	}

static inline void *array_room_(void *at, uint32_t *size, size_t need,
				size_t element)
{
	return need > *size ? must_grow(at, size, need, element) : at;
}

static inline void array_fill_(void *at, size_t from, const void *items,
			       size_t bytes)
{
	if (bytes)
		memcpy((char *)at + from, items, bytes);
}

/* Make room for `more` elements after the last. */
#define array_reserve(a, more)                      \
	((a)->at = array_room_((a)->at, &(a)->size, \
			       (size_t)(a)->count + (more), sizeof(*(a)->at)))

/* Add an element with all bytes 0, padding included; returns its address. */
#define array_add(a)                                              \
	(array_reserve(a, 1),                                     \
	 (void)memset(&(a)->at[(a)->count], 0, sizeof(*(a)->at)), \
	 &(a)->at[(a)->count++])

/* `value` must not itself add to the array. */
#define array_push(a, value) \
	(array_reserve(a, 1), (void)((a)->at[(a)->count++] = (value)))

/* Evaluates `n` more than once; `items` may be NULL if `n` is 0. */
#define array_append(a, items, n)                                   \
	(array_reserve(a, n),                                       \
	 array_fill_((a)->at, (a)->count * sizeof(*(a)->at), items, \
		     (n) * sizeof(*(a)->at)),                       \
	 (void)((a)->count += (uint32_t)(n)))

#define array_last(a) (&(a)->at[(a)->count - 1])

#define array_release(a) \
	(free((a)->at), (a)->at = NULL, (void)((a)->count = (a)->size = 0))

#endif
