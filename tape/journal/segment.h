/*
 * A journal is a directory of segments: text files, each named by a number
 * that no line in it, and every line in the segments before it, is below.
 * Here is what the writer and the reader both need: the names, and finding the
 * lines in a file that may hold anything at all. Private to the journal.
 */
#ifndef STATETAPE_TAPE_JOURNAL_SEGMENT_H
#define STATETAPE_TAPE_JOURNAL_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/base/buf.h"
#include "tape/journal/text.h"

/* Twenty digits, ".log", NUL. */
#define JOURNAL_SEGMENT_NAME 25

void journal_segment_name(uint64_t first,
			  char ret[static JOURNAL_SEGMENT_NAME]);

/*
 * The numbers that name the segments in `dir_fd`, ascending; other files are
 * passed over. Release `ret` with journal_segments_release().
 */
struct journal_segments {
	struct buf numbers; /* of uint64_t */
};

int journal_segments_list(int dir_fd, struct journal_segments *ret);
void journal_segments_release(struct journal_segments *s);
size_t journal_segments_count(const struct journal_segments *s);
uint64_t journal_segments_at(const struct journal_segments *s, size_t i);

/*
 * Finding the lines of one segment. Nothing is believed but a checksum, sizes
 * least of all: the file may grow, shrink or change under us. The descriptor
 * is the caller's.
 */
struct journal_scan {
	int fd;
	bool live;	/* somebody may be writing here */
	uint64_t at;	/* offset behind the last whole line */
	uint64_t probe; /* no whole line begins between `at` and here */
	uint64_t base;	/* offset of the window's first byte */
	struct buf window;
};

void journal_scan_init(struct journal_scan *s, int fd, bool live);
void journal_scan_release(struct journal_scan *s);

/* From now on nobody writes here. */
void journal_scan_seal(struct journal_scan *s);

/*
 * The line at `at`. 1: *ret is it, living until the next call, and `at` has
 * moved behind it. 0: there is no whole line. Negative errno: cannot read.
 */
int journal_scan_line(struct journal_scan *s, struct journal_parsed *ret);

/*
 * When there is none at `at`: the next whole line behind whatever is there.
 * Returns as above. In a live segment zeros are where the lines end today, in
 * another they are damage like any other.
 */
int journal_scan_skip(struct journal_scan *s, struct journal_parsed *ret);

#endif
