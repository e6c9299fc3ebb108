/*
 * A growable array of anything, typed: `ARRAY(struct edge) edges;` zeroed is
 * an empty one. Read `at` and `count` freely; lowering `count` forgets the
 * last ones and keeps their memory for the next.
 *
 * Memory that cannot be had ends the process (memory.h), so no call fails.
 * A pointer into an array is good until something is added to it.
 */
#ifndef STATETAPE_BASE_ARRAY_H
#define STATETAPE_BASE_ARRAY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/memory.h"

#define ARRAY(type)             \
	struct {                \
		type *at;       \
		uint32_t count; \
		uint32_t size;  \
	}

/* Room for `more` behind the last. */
#define array_reserve(a, more)                                          \
	do {                                                            \
		size_t need_ = (size_t)(a)->count + (more);             \
		if (need_ > (a)->size)                                  \
			(a)->at = must_grow((a)->at, &(a)->size, need_, \
					    sizeof(*(a)->at));          \
	} while (0)

/* Another element, all its bytes 0 (padding, too); its address. */
#define array_add(a)                                                   \
	({                                                             \
		array_reserve(a, 1);                                   \
		(__typeof__((a)->at))memset(&(a)->at[(a)->count++], 0, \
					    sizeof(*(a)->at));         \
	})

#define array_push(a, value)                     \
	do {                                     \
		array_reserve(a, 1);             \
		(a)->at[(a)->count++] = (value); \
	} while (0)

#define array_append(a, items, n)                             \
	do {                                                  \
		size_t n_ = (n);                              \
		array_reserve(a, n_);                         \
		if (n_)                                       \
			memcpy(&(a)->at[(a)->count], (items), \
			       n_ * sizeof(*(a)->at));        \
		(a)->count += (uint32_t)n_;                   \
	} while (0)

#define array_last(a) (&(a)->at[(a)->count - 1])

#define array_release(a)        \
	do {                    \
		free((a)->at);  \
		(a)->at = NULL; \
		(a)->count = 0; \
		(a)->size = 0;  \
	} while (0)

#endif
