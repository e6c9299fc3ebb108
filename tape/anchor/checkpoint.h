/*
 * A checkpoint says how far a tape had come: the number and the chain hash of
 * its newest entry, of which tape of which repository, and when. Kept where the
 * agent cannot reach, it shows later whether that entry, or any before it, was
 * altered or removed. As a line of text:
 *
 *	statetape-checkpoint 1 repo=app-0123456789abcdef tape=00c0ffee00c0ffee
 *	n=41 chain=SHA-256 at=2026-01-02T03:04:05Z
 *
 * (one line, without a break). Pure.
 */
#ifndef STATETAPE_TAPE_ANCHOR_CHECKPOINT_H
#define STATETAPE_TAPE_ANCHOR_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "tape/store/entry.h"

#define CHECKPOINT_REPO_MAX 64 /* bytes of a repository's id, with a NUL */
#define CHECKPOINT_LINE_MAX                              \
	512 /* bytes of a line, with its newline and NUL \
	     */

struct checkpoint {
	char repo[CHECKPOINT_REPO_MAX]; /* struct state's id */
	uint64_t tape;			/* store_tape() */
	uint64_t n;
	uint8_t chain[ENTRY_CHAIN_SIZE];
	int64_t at_ns; /* whole seconds since 1970 are written */
};

/* With a newline. */
void checkpoint_print(const struct checkpoint *c,
		      char ret[static CHECKPOINT_LINE_MAX]);
/*
 * Find a checkpoint in a line of a log, which may begin with anything, such as
 * a date and a host. False: there is none.
 */
bool checkpoint_parse(const char *line, struct checkpoint *ret);

#endif
