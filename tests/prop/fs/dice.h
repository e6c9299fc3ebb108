/*
 * Pseudo-random numbers, the same for one seed on any machine.
 */
#ifndef STATETAPE_TESTS_PROP_FS_DICE_H
#define STATETAPE_TESTS_PROP_FS_DICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dice {
	uint64_t state;
};

/* The splitmix64 generator: any seed is as good as any other, 0 too. */
static inline uint64_t dice_roll(struct dice *d)
{
	uint64_t z = d->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* 0 .. n-1 */
static inline uint64_t dice_below(struct dice *d, uint64_t n)
{
	return dice_roll(d) % n;
}

/* True once in `n` times. */
static inline bool dice_one_in(struct dice *d, uint64_t n)
{
	return dice_below(d, n) == 0;
}

static inline void dice_fill(struct dice *d, void *buf, size_t len)
{
	unsigned char *at = buf;
	uint64_t bits = 0;

	for (size_t i = 0; i < len; i++) {
		if (i % 8 == 0)
			bits = dice_roll(d);
		at[i] = (unsigned char)(bits >> (i % 8 * 8));
	}
}

#endif
