/*
 * A journal is a directory of segments: text files, each named by a number.
 * Lines in a segment have that number or a higher one, lines in earlier
 * segments a lower one. Here is the code that writer and reader share: segment
 * names, and finding lines in a file with arbitrary content. Private to the
 * journal.
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

/* Numbers of the segments in `dir_fd`, ascending. Other files are ignored. */
struct journal_segments {
	struct buf numbers; /* of uint64_t */
};

int journal_segments_list(int dir_fd, struct journal_segments *ret);
void journal_segments_release(struct journal_segments *s);
size_t journal_segments_count(const struct journal_segments *s);
uint64_t journal_segments_at(const struct journal_segments *s, size_t i);

/*
 * Finding the lines of one segment. Only a valid checksum makes a line; sizes
 * are never relied on, because the file may grow, shrink or change while it is
 * read. The caller owns the descriptor.
 */
struct journal_scan {
	int fd;
	bool live;	/* a writer may be appending */
	uint64_t at;	/* offset behind the last line returned */
	uint64_t probe; /* no whole line begins between `at` and here */
	uint64_t base;	/* offset of the window's first byte */
	struct buf window;
};

void journal_scan_init(struct journal_scan *s, int fd, bool live);
void journal_scan_release(struct journal_scan *s);

/* The segment is final: no writer appends to it any more. */
void journal_scan_seal(struct journal_scan *s);

/*
 * Read the line at `at`. 1: *ret is the line, valid until the next call, and
 * `at` is behind it. 0: there is no complete line at `at`. Negative errno: read
 * error.
 */
int journal_scan_line(struct journal_scan *s, struct journal_parsed *ret);

/*
 * When there is no line at `at`: find the next complete line behind the damage.
 * Returns as above. In a live segment zeros mark the current end of the lines;
 * in a sealed one they are damage like any other.
 */
int journal_scan_skip(struct journal_scan *s, struct journal_parsed *ret);

#endif
