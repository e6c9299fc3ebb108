/*
 * After a crash of the host, the newest lines may be missing on disk although a
 * reader has seen them and remembers their numbers. These numbers must not be
 * used again: that reader would skip the new lines that have them. So we
 * determine whether lines of the last segment may be missing: yes, unless the
 * segment was closed in order, or its last line was written since this boot
 * (lines of a killed process are in the page cache, none is missing).
 *
 * "In order" is recognized by the size: only journal_close() truncates a
 * segment to its last line. The size must have this value on disk only when it
 * is true. So opening a journal changes the size and syncs once; a full segment
 * keeps a zero behind its lines; and a size of zero or of a multiple of a block
 * does not count, because a crash may leave such a size for a larger file.
 *
 * The boot is recognized by the clocks: within one boot, the two clocks of a
 * line differ by the same amount as now. A clock that was set and a machine
 * that was suspended look like another boot, which costs numbers and nothing
 * else.
 */
#include "tape/journal/recover.h"

#include <assert.h>
#include <sys/stat.h>

#include "graph/base/clock.h"
#include "tape/journal/segment.h"

#define BLOCK_MIN    512
#define SAME_BOOT_NS INT64_C(1000000000)

/* CLOCK_REALTIME minus CLOCK_MONOTONIC, in nanoseconds. */
static int64_t clocks_apart(void)
{
	int64_t mono = clock_mono_ns();

	return clock_wall_ns() - mono;
}

static bool written_since_boot(const struct journal_line *l)
{
	int64_t apart = (int64_t)(l->wall_ns - l->mono_ns);
	int64_t shift;

	if (__builtin_sub_overflow(apart, clocks_apart(), &shift))
		return false;
	return shift > -SAME_BOOT_NS && shift < SAME_BOOT_NS;
}

static bool closed_in_order(int fd, uint64_t end)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size == end &&
	       end % BLOCK_MIN != 0;
}

static void count_line(const struct journal_scan *scan,
		       const struct journal_parsed *p,
		       struct journal_recovered *rec)
{
	assert(scan->at > rec->end);
	rec->lines++;
	rec->end = scan->at;
	if (p->line.n > rec->last)
		rec->last = p->line.n;
}

void journal_recover_beginning(int fd, struct journal_recovered *ret)
{
	struct journal_scan scan;
	struct journal_parsed p;

	*ret = (struct journal_recovered){ 0 };
	journal_scan_init(&scan, fd, false);
	while (journal_scan_line(&scan, &p) > 0)
		count_line(&scan, &p, ret);
	journal_scan_release(&scan);
}

void journal_recover(int fd, struct journal_recovered *ret)
{
	struct journal_recovered rec = { 0 };
	struct journal_line last = { 0 };
	struct journal_scan scan;
	struct journal_parsed p;
	int r;

	journal_scan_init(&scan, fd, false);
	for (;;) {
		r = journal_scan_line(&scan, &p);
		if (r == 0) {
			r = journal_scan_skip(&scan, &p);
			rec.damaged |= r != 0;
		}
		if (r <= 0)
			break;
		count_line(&scan, &p, &rec);
		last = p.line;
	}
	/* A read error does not keep the journal from being opened. */
	rec.damaged |= r < 0;
	rec.host_crashed =
		!closed_in_order(fd, rec.end) && !written_since_boot(&last);
	journal_scan_release(&scan);
	assert((rec.lines == 0) == (rec.end == 0));
	*ret = rec;
}
