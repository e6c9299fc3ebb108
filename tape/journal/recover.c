/*
 * After a crash of the host, the newest lines may not have reached the disk
 * although a reader saw them and remembers how far it came. Their numbers must
 * not be given again, or that reader would pass over the new lines that have
 * them. So we ask of the last segment whether more may have been in it: yes,
 * unless it was closed in order, or its last line was written since this boot
 * (what a killed process wrote is in the page cache and nothing is missing).
 *
 * "In order" is told by the size: only journal_close() cuts a segment to its
 * last line. That sign must be on disk only when it is true: opening a journal
 * makes the size differ and syncs, once; a segment that is full is closed with
 * a zero behind its lines; and a size that is a multiple of a block, or
 * nothing, is not believed, for a crash may have left that of a larger one.
 *
 * The boot is told by the clocks: within one boot the two in a line are as far
 * apart as they are now. A clock that was set, or a machine that slept, looks
 * like another boot, which costs numbers and nothing else.
 */
#include "tape/journal/recover.h"

#include <sys/stat.h>

#include "graph/base/clock.h"
#include "tape/journal/segment.h"

#define BLOCK_MIN    512
#define SAME_BOOT_NS INT64_C(1000000000)

/* How far the two clocks are apart, in nanoseconds. */
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
	/* A disk that does not let us read is no reason not to go on. */
	rec.damaged |= r < 0;
	rec.host_crashed =
		!closed_in_order(fd, rec.end) && !written_since_boot(&last);
	journal_scan_release(&scan);
	*ret = rec;
}
