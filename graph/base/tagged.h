/*
 * What an open table of numbers holds, one probed linearly and at most half
 * full: a number + 1, which is then less than the table's mask, and in the
 * bits above the mask those of the hash. So nearly all other numbers that are
 * met on the way are passed without a look at what they stand for, which
 * mostly lies in memory that is far. 0: nothing.
 */
#ifndef STATETAPE_GRAPH_BASE_TAGGED_H
#define STATETAPE_GRAPH_BASE_TAGGED_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t tagged_of(uint32_t hash, uint32_t mask, uint32_t number)
{
	return (hash & ~mask) | (number + 1);
}

/* Of nothing: UINT32_MAX. */
static inline uint32_t tagged_number(uint32_t entry, uint32_t mask)
{
	return (entry & mask) - 1;
}

/* Is it worth a look? */
static inline bool tagged_may_be(uint32_t entry, uint32_t hash, uint32_t mask)
{
	return ((entry ^ hash) & ~mask) == 0;
}

#endif
