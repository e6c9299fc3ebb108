/*
 * What a segment still holds that somebody left behind: a writer that died, a
 * host that did, or a stranger with a text editor. Private to the journal.
 */
#ifndef STATETAPE_TAPE_JOURNAL_RECOVER_H
#define STATETAPE_TAPE_JOURNAL_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

struct journal_recovered {
	uint64_t lines; /* whole ones */
	uint64_t last;	/* the highest number of them, 0: none */
	uint64_t end;	/* offset behind the last of them */
	bool damaged;	/* something before `end` is no line, or unreadable */
	bool host_crashed; /* lines behind `end` may have existed */
};

/* All of the segment `fd`. */
void journal_recover(int fd, struct journal_recovered *ret);

/* Only as far as it is whole from its beginning; the flags stay false. */
void journal_recover_beginning(int fd, struct journal_recovered *ret);

#endif
