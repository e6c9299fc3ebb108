/*
 * Finds the lines of a segment that was not closed in order: its writer or the
 * host crashed, or another program changed it. Private to the journal.
 */
#ifndef STATETAPE_TAPE_JOURNAL_RECOVER_H
#define STATETAPE_TAPE_JOURNAL_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

struct journal_recovered {
	uint64_t lines;	   /* complete ones */
	uint64_t last;	   /* highest line number, 0: none */
	uint64_t end;	   /* offset behind the last line */
	bool damaged;	   /* not all before `end` is readable lines */
	bool host_crashed; /* lines behind `end` may have been lost */
};

/* Reads the whole segment `fd`. */
void journal_recover(int fd, struct journal_recovered *ret);

/* Stops at the first byte that is not part of a line; the flags stay false. */
void journal_recover_beginning(int fd, struct journal_recovered *ret);

#endif
