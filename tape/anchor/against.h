/*
 * A tape held against checkpoints of it that were kept elsewhere: an end that
 * was cut off, and entries that were rewritten together with all later hashes,
 * agree with themselves but not with these.
 *
 * store_verify() must find nothing for the answer to mean something: here the
 * chain hash that an entry has is taken for the one it should have.
 */
#ifndef STATETAPE_TAPE_ANCHOR_AGAINST_H
#define STATETAPE_TAPE_ANCHOR_AGAINST_H

#include <stdint.h>
#include <stdio.h>

#include "tape/anchor/checkpoint.h"

struct store;

/* Checkpoints of one kind, the first and the last by the number of entry. */
struct against_some {
	uint64_t count;
	struct checkpoint first, last;
};

struct against {
	struct against_some agree;
	struct against_some behind;  /* of entries behind the tape's end */
	struct against_some differ;  /* of entries with another chain hash */
	struct against_some retired; /* of entries that are not kept any more */
	struct against_some other;   /* of no tape that is here */
	uint64_t elsewhere;	     /* of other repositories */
	uint64_t before_differ;	     /* of the newest that agrees before
					differ.first; 0: none */
};

/*
 * Read the lines of `in` and compare the checkpoints of the repository `id` in
 * them with the store that they are of, one of `count`. 0 or a negative errno.
 */
int against_read(FILE *in, const char *id, struct store *const *stores,
		 size_t count, struct against *ret);

#endif
