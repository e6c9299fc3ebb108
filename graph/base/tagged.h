/*
 * Slots of an open-addressing table of numbers: linear probing, at most half
 * full. A slot holds number + 1 in the bits of the table's mask and the upper
 * bits of the hash in the rest; 0 is an empty slot. Comparing the hash bits
 * skips nearly all other numbers of a probe without a look at the elements
 * they stand for, which mostly are not in the processor's cache.
 */
#ifndef STATETAPE_GRAPH_BASE_TAGGED_H
#define STATETAPE_GRAPH_BASE_TAGGED_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

static inline uint32_t tagged_of(uint32_t hash, uint32_t mask, uint32_t number)
{
	assert(number < mask);
	return (hash & ~mask) | (number + 1);
}

/* Of an empty slot: UINT32_MAX. */
static inline uint32_t tagged_number(uint32_t slot, uint32_t mask)
{
	return (slot & mask) - 1;
}

/* Do the hash bits agree, so that the element must be compared? */
static inline bool tagged_may_be(uint32_t slot, uint32_t hash, uint32_t mask)
{
	return ((slot ^ hash) & ~mask) == 0;
}

#endif
