/*
 * The writer. A journal is a directory (0700) of segments (0600): text files
 * named <number>.log, twenty digits, where the number is that of the next line
 * at the time the segment was created. A segment is
 *
 *	line line line ... line 0 0 0 0 0 ...
 *
 * with lines as in text.c, their numbers ascending, followed by zeros as far as
 * space was allocated in advance. A segment that reaches segment_bytes is
 * truncated to its lines and one zero; only journal_close() leaves a segment
 * that ends with its last line. Each segment is self-contained: an author is
 * introduced in it before its first line there, parents first.
 *
 * Speed. An append must not cost the file system's caller a system call, so
 * lines are stored into a shared mapping. Readers of the file see the same
 * pages: a line is visible to every process when journal_append() returns, and
 * survives SIGKILL; only a crash of the host can lose it. Space is allocated by
 * writing zeros, WINDOW_SIZE at a time, and not by fallocate(2): a fault on a
 * page that is in the cache and dirty costs 0.3 microseconds on ext4, one on a
 * fallocated page 5, and write(2) works on every file system. All fields that
 * do not depend on the number are formatted before the lock is taken.
 *
 * A reader may read at any moment. The writer stores the first byte of a line
 * last, so a zero there means that there is no line yet; if the reader's copy
 * is torn anyway, the checksum shows it (segment.c).
 *
 * Failures lose lines and are never reported to the caller. Every number whose
 * line is not on disk lies in lost_from..head, one unbroken range: once a line
 * is lost, so are the following ones until a `gap` line has been written, which
 * closes the range. A full disk shows when zeros cannot be written. Removal or
 * truncation of the segment, and removal or renaming of the directory, show in
 * two stat(2) calls every CHECK_NS while lines arrive, or as SIGBUS (guard.h).
 * The writer then abandons the segment: the lines that are still readable at
 * its beginning are kept, all later ones are lost, including those that were
 * appended without an error in the meantime; a new segment is created, in a new
 * directory if necessary. After a failure the next attempt is made CHECK_NS
 * later.
 *
 * Opening. The writer reads the last segment, truncates it behind its last
 * complete line and continues there. If there is damage before that line, the
 * segment is left as it is (readers skip the damage) and a new one is created.
 *
 * After a crash of the host the numbers continue CRASH_NUMBERS later, and the
 * jump is a gap like any other; recover.c says why, and how the crash is
 * detected.
 *
 * There is one lock, the journal's; no other lock is taken while it is held.
 */
#include "tape/journal/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tape/journal/guard.h"
#include "tape/journal/recover.h"
#include "tape/journal/segment.h"
#include "tape/journal/text.h"

#define SEGMENT_DEFAULT UINT64_C(16 << 20)
#define SEGMENT_MIN	UINT64_C(4 << 10)
#define SEGMENT_MAX	UINT64_C(1 << 30)
#define KEEP_DEFAULT	UINT64_C(1 << 30)
#define WINDOW_SIZE	(256u << 10)
#define PAGE_MAX	(64u << 10)
#define CHAIN_MAX	64
#define CHECK_NS	UINT64_C(100000000)
#define CRASH_NUMBERS	(UINT64_C(1) << 30)

_Static_assert(WINDOW_SIZE >= JOURNAL_LINE_MAX + PAGE_MAX,
	       "a window has room for a line wherever it begins in a page");

/* The segment being written; fd is -1 if there is none. */
struct journal_segment {
	int fd;
	uint64_t id;	   /* unique in this process */
	uint64_t first;	   /* its name */
	uint64_t gap_from; /* smallest number a gap line here names, or first */
	uint64_t lines;
	uint64_t used;	 /* bytes of lines */
	uint64_t zeroed; /* size of the file */
	dev_t dev;
	ino_t ino;
	char *map; /* file bytes map_at .. map_at + WINDOW_SIZE; NULL: none */
	uint64_t map_at;
};

struct journal {
	int parent_fd;
	char *name;
	uint64_t segment_bytes;
	uint64_t keep_bytes;
	struct journal_guard *guard;

	pthread_mutex_t lock;

	/* Protected by lock. */
	int dir_fd; /* locked with flock(2); -1: none now */
	dev_t dir_dev;
	ino_t dir_ino;
	struct journal_segment seg;
	struct journal_draft own; /* for lines about the journal itself */
	uint64_t head;
	uint64_t lost_from; /* lost_from..head are not on disk; 0: none */
	int lost_why;
	uint64_t lost;
	int error;
	uint64_t check_at; /* monotonic time of the next check or retry */
};

/* Only the clocks; put_line() adds number and author. */
static struct journal_stamp stamp_now(void)
{
	return (struct journal_stamp){
		.mono_ns = (uint64_t)clock_mono_ns(),
		.wall_ns = (uint64_t)clock_wall_ns(),
	};
}

static void unmap(struct journal *j)
{
	journal_guard_watch(j->guard, NULL, 0);
	if (j->seg.map)
		(void)munmap(j->seg.map, WINDOW_SIZE);
	j->seg.map = NULL;
}

static void close_segment(struct journal *j)
{
	unmap(j);
	if (j->seg.fd >= 0)
		(void)close(j->seg.fd);
	j->seg = (struct journal_segment){ .fd = -1 };
}

/* Record that the lines `from`..head are not on disk. */
static void note_loss(struct journal *j, uint64_t from, int why)
{
	assert(from > 0 && why < 0);
	if (from > j->head || (j->lost_from > 0 && j->lost_from <= from))
		return;
	j->lost_from = from;
	j->lost_why = why;
}

/*
 * Another process truncated the segment (its beginning is still good), or
 * removed it from where readers look for it (`gone`).
 */
static void abandon_segment(struct journal *j, int why, bool gone)
{
	struct journal_recovered rec = { 0 };
	uint64_t from;

	assert(j->seg.fd >= 0);
	unmap(j);
	if (!gone) {
		journal_recover_beginning(j->seg.fd, &rec);
		(void)ftruncate(j->seg.fd, (off_t)rec.end + 1);
	}
	from = rec.last > 0 ? rec.last + 1 : j->seg.gap_from;
	j->lost += j->seg.lines > rec.lines ? j->seg.lines - rec.lines : 0;
	note_loss(j, from, why);
	close_segment(j);
}

static bool is_same(const struct stat *st, dev_t dev, ino_t ino)
{
	return st->st_dev == dev && st->st_ino == ino;
}

/*
 * Check that directory and segment are still in place and of the expected size.
 * Abandons what is not; returns 0 or the reason.
 */
static int check_in_place(struct journal *j)
{
	char name[JOURNAL_SEGMENT_NAME];
	struct stat st;
	int why = 0;

	if (j->dir_fd >= 0 &&
	    (fstatat(j->parent_fd, j->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	     !is_same(&st, j->dir_dev, j->dir_ino))) {
		why = -ENOENT;
		if (j->seg.fd >= 0)
			abandon_segment(j, why, true);
		(void)close(take_fd(&j->dir_fd));
	}
	if (j->seg.fd < 0)
		return why;
	journal_segment_name(j->seg.first, name);
	if (fstatat(j->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_same(&st, j->seg.dev, j->seg.ino)) {
		why = -ENOENT;
		abandon_segment(j, why, true);
	} else if ((uint64_t)st.st_size < j->seg.zeroed) {
		why = -EIO;
		abandon_segment(j, why, false);
	}
	return why;
}

/*
 * Open the directory, creating it if absent, and lock it against other writers.
 */
static int enter_directory(struct journal *j)
{
	CLEANUP(close_p) int fd = -1;
	struct stat st;

	if (mkdirat(j->parent_fd, j->name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(j->parent_fd, j->name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	j->dir_fd = take_fd(&fd);
	j->dir_dev = st.st_dev;
	j->dir_ino = st.st_ino;
	return 0;
}

static uint64_t segment_size(struct journal *j, uint64_t first)
{
	char name[JOURNAL_SEGMENT_NAME];
	struct stat st;

	journal_segment_name(first, name);
	if (fstatat(j->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return (uint64_t)st.st_size;
}

/*
 * Remove the oldest segments until the rest plus one full segment fit
 * keep_bytes.
 */
static void remove_oldest(struct journal *j)
{
	struct journal_segments list;
	char name[JOURNAL_SEGMENT_NAME];
	uint64_t bytes = j->segment_bytes, first;
	size_t i;

	if (journal_segments_list(j->dir_fd, &list) < 0)
		return;
	for (i = journal_segments_count(&list); i > 0; i--) {
		first = journal_segments_at(&list, i - 1);
		if (first == j->seg.first)
			continue;
		bytes += segment_size(j, first);
		if (bytes <= j->keep_bytes)
			continue;
		journal_segment_name(first, name);
		(void)unlinkat(j->dir_fd, name, 0);
	}
	journal_segments_release(&list);
}

/*
 * Make `fd` the current segment: `lines` complete lines in `used` bytes. Owns
 * `fd`, also on failure.
 */
static int adopt(struct journal *j, int fd, uint64_t first, uint64_t lines,
		 uint64_t used)
{
	static atomic_uint_fast64_t ids;
	struct stat st;
	int r;

	assert(j->seg.fd < 0 && first > 0);
	assert((lines == 0) == (used == 0));
	if (fstat(fd, &st) < 0) {
		r = -errno;
		(void)close(fd);
		return r;
	}
	j->seg = (struct journal_segment){
		.fd = fd,
		.id = atomic_fetch_add(&ids, 1) + 1,
		.first = first,
		.gap_from = first,
		.lines = lines,
		.used = used,
		.zeroed = used,
		.dev = st.st_dev,
		.ino = st.st_ino,
	};
	return 0;
}

/*
 * If the name exists already, that is an error like any other: the lines lost
 * to it advance the head, and with it the name of the next attempt.
 */
static int begin_segment(struct journal *j)
{
	char name[JOURNAL_SEGMENT_NAME];
	int fd, r;

	journal_segment_name(j->head + 1, name);
	fd = openat(j->dir_fd, name,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = adopt(j, fd, j->head + 1, 0, 0);
	if (r < 0)
		return r;
	remove_oldest(j);
	return 0;
}

/*
 * The segment is full: truncate it to its lines and the one zero which says
 * that it was not closed by journal_close().
 */
static void end_segment(struct journal *j)
{
	assert(j->seg.fd >= 0 && j->seg.lines > 0);
	(void)ftruncate(j->seg.fd, (off_t)j->seg.used + 1);
	close_segment(j);
}

/*
 * Extend the file with zeros to `end`, or as far as there is space; fails only
 * if not one byte could be written.
 */
static int write_zeros(struct journal_segment *s, uint64_t end)
{
	static char zeros[WINDOW_SIZE];
	uint64_t begin = s->zeroed;
	ssize_t n;

	assert(s->used <= s->zeroed);
	while (s->zeroed < end) {
		n = pwrite(s->fd, zeros, end - s->zeroed, (off_t)s->zeroed);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return s->zeroed > begin ? 0 : n < 0 ? -errno : -EIO;
		s->zeroed += (uint64_t)n;
	}
	return 0;
}

/* Map WINDOW_SIZE bytes from the page in which the next line begins. */
static int move_window(struct journal *j)
{
	struct journal_segment *s = &j->seg;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t at = s->used & ~(page - 1);
	void *map;
	int r;

	r = write_zeros(s, at + WINDOW_SIZE);
	if (r < 0)
		return r;
	unmap(j);
	map = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
		   (off_t)at);
	if (map == MAP_FAILED)
		return -errno;
	s->map = map;
	s->map_at = at;
	assert(s->map_at <= s->used && s->used < s->map_at + page);
	journal_guard_watch(j->guard, map, WINDOW_SIZE);
	return 0;
}

static bool has_room(const struct journal_segment *s, size_t len)
{
	return s->map && s->used + len <= s->zeroed &&
	       s->used + len <= s->map_at + WINDOW_SIZE;
}

static int make_room(struct journal *j, size_t len)
{
	int r;

	if (has_room(&j->seg, len))
		return 0;
	/*
	 * If another process truncated the file, zeros written behind the cut
	 * would hide it.
	 */
	r = check_in_place(j);
	if (r == 0)
		r = move_window(j);
	if (r < 0)
		return r;
	return has_room(&j->seg, len) ? 0 : -ENOSPC;
}

/*
 * Store the next line in the segment. On failure the line is not there and has
 * taken no number.
 */
static int put_line(struct journal *j, struct journal_draft *d,
		    struct journal_stamp stamp, uint64_t author)
{
	const char *line;
	size_t len;
	char *to;
	int r;

	stamp.n = j->head + 1;
	stamp.author = author;
	line = journal_draft_finish(d, &stamp, &len);
	r = make_room(j, len);
	if (r < 0)
		return r;

	assert(j->seg.map && len > 0 && has_room(&j->seg, len));
	to = j->seg.map + (j->seg.used - j->seg.map_at);
	memcpy(to + 1, line + 1, len - 1);
	__atomic_store_n(to, line[0], __ATOMIC_RELEASE);
	if (journal_guard_hit(j->guard)) {
		abandon_segment(j, -EIO, false);
		return -EIO;
	}
	j->seg.used += len;
	j->seg.lines++;
	j->head++;
	assert(j->seg.used <= j->seg.zeroed && j->head >= j->seg.first);
	return 0;
}

/* Write the gap line that closes the range of lost numbers, if there is one. */
static int put_gap(struct journal *j, const struct journal_stamp *now)
{
	struct journal_event gap = {
		.op = JOURNAL_GAP,
		.off = (int64_t)j->lost_from,
		.len = (int64_t)(j->head + 1 - j->lost_from),
		.res = j->lost_why,
	};
	int r;

	if (j->lost_from == 0)
		return 0;
	journal_draft_event(&j->own, &gap);
	r = put_line(j, &j->own, *now, 0);
	if (r < 0)
		return r;
	assert(j->lost_from < j->head);
	if (j->lost_from < j->seg.gap_from)
		j->seg.gap_from = j->lost_from;
	j->lost_from = 0;
	return 0;
}

/*
 * Make sure that there is a segment with room for more, and that it has a gap
 * line for earlier losses.
 */
static int prepare_segment(struct journal *j, const struct journal_stamp *now)
{
	int r = 0;

	if (now->mono_ns < j->check_at) {
		if (j->error)
			return j->error;
	} else {
		j->check_at = now->mono_ns + CHECK_NS;
		(void)check_in_place(j);
	}
	/* Check it once more: a closed segment is never checked again. */
	if (j->seg.fd >= 0 && j->seg.used >= j->segment_bytes &&
	    check_in_place(j) == 0)
		end_segment(j);
	if (j->dir_fd < 0)
		r = enter_directory(j);
	if (r == 0 && j->seg.fd < 0)
		r = begin_segment(j);
	if (r == 0)
		r = put_gap(j, now);
	return r;
}

/*
 * Write the ACTOR line of one author; `parent` is its parent's line in this
 * segment.
 */
static int introduce_one(struct journal *j, struct journal_author *a,
			 uint64_t parent, const struct journal_stamp *now)
{
	int r;

	journal_draft_author(&j->own, a);
	r = put_line(j, &j->own, *now, parent);
	if (r < 0)
		return r;
	a->line = j->head;
	a->segment = j->seg.id;
	assert(parent < a->line);
	return 0;
}

/* Make sure that `author` and its ancestors have lines in this segment. */
static int introduce(struct journal *j, struct journal_author *author,
		     const struct journal_stamp *now)
{
	struct journal_author *chain[CHAIN_MAX], *a;
	uint64_t parent;
	size_t n = 0;
	int r;

	for (a = author; a && a->segment != j->seg.id && n < CHAIN_MAX;
	     a = a->parent)
		chain[n++] = a;
	/* Ancestors beyond CHAIN_MAX are left out. */
	parent = a && a->segment == j->seg.id ? a->line : 0;
	while (n > 0) {
		r = introduce_one(j, chain[--n], parent, now);
		if (r < 0)
			return r;
		parent = chain[n]->line;
	}
	return 0;
}

static uint64_t append_locked(struct journal *j, struct journal_draft *d,
			      struct journal_author *author)
{
	struct journal_stamp now = stamp_now();
	int r;

	r = prepare_segment(j, &now);
	if (r == 0 && author && author->segment != j->seg.id)
		r = introduce(j, author, &now);
	if (r == 0)
		r = put_line(j, d, now, author ? author->line : 0);
	if (r < 0) {
		j->head++;
		j->lost++;
		note_loss(j, j->head, r);
		if (!j->error)
			j->check_at = now.mono_ns + CHECK_NS;
	}
	j->error = r;
	/* The range of lost lines is open exactly while lines are lost. */
	assert((r == 0) == (j->lost_from == 0) && j->lost_from <= j->head);
	return j->head;
}

int journal_move(struct journal *j, int dir_fd)
{
	int fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct journal_stamp now = stamp_now();
	int r;

	if (fd < 0)
		return -errno;
	(void)pthread_mutex_lock(&j->lock);
	(void)close(j->parent_fd);
	j->parent_fd = fd;
	j->check_at = 0;
	r = prepare_segment(j, &now);
	j->error = -r;
	(void)pthread_mutex_unlock(&j->lock);
	return r;
}

uint64_t journal_append(struct journal *j, const struct journal_event *e)
{
	struct journal_draft d;
	uint64_t n;

	assert(e->op > JOURNAL_NONE && e->op < JOURNAL_OPS);
	journal_draft_event(&d, e);
	(void)pthread_mutex_lock(&j->lock);
	n = append_locked(j, &d, e->author);
	(void)pthread_mutex_unlock(&j->lock);
	return n;
}

void journal_stat(struct journal *j, struct journal_stats *ret)
{
	struct journal_segments list = { 0 };
	bool listed;

	(void)pthread_mutex_lock(&j->lock);
	(void)check_in_place(j);
	listed = j->dir_fd >= 0 && journal_segments_list(j->dir_fd, &list) == 0;
	*ret = (struct journal_stats){
		.head = j->head,
		.lost = j->lost,
		.bytes = j->seg.used,
		.error = -j->error,
	};
	(void)pthread_mutex_unlock(&j->lock);

	if (!listed)
		return;
	ret->segments = journal_segments_count(&list);
	if (ret->segments > 0)
		ret->oldest = journal_segments_at(&list, 0);
	journal_segments_release(&list);
}

static int recover_segment(struct journal *j, uint64_t first)
{
	char name[JOURNAL_SEGMENT_NAME];
	CLEANUP(close_p) int fd = -1;
	struct journal_recovered rec;

	journal_segment_name(first, name);
	fd = openat(j->dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	journal_recover(fd, &rec);
	j->head = rec.last >= first ? rec.last : first - 1;
	if (rec.host_crashed) {
		j->head += CRASH_NUMBERS;
		note_loss(j, j->head - CRASH_NUMBERS + 1, -ENODATA);
	}
	if (rec.damaged || rec.end >= j->segment_bytes)
		return 0;
	if (ftruncate(fd, (off_t)rec.end) < 0)
		return -errno;
	return adopt(j, take_fd(&fd), first, rec.lines, rec.end);
}

static int recover(struct journal *j)
{
	struct journal_segments list;
	uint64_t newest = 0;
	size_t n;
	int r;

	r = journal_segments_list(j->dir_fd, &list);
	if (r < 0)
		return r;
	n = journal_segments_count(&list);
	if (n > 0)
		newest = journal_segments_at(&list, n - 1);
	journal_segments_release(&list);
	return newest > 0 ? recover_segment(j, newest) : 0;
}

/* The boot id, 36 characters; "" if it cannot be read. */
static void read_boot_id(char ret[static 37])
{
	CLEANUP(close_p) int fd = -1;
	ssize_t n = 0;

	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, ret, 36);
	ret[n > 0 ? n : 0] = '\0';
}

static void append_session(struct journal *j, const char *root)
{
	char boot_id[37];
	struct journal_event e = {
		.op = JOURNAL_SESSION,
		.path = root,
		.detail = boot_id,
		.off = -1,
		.len = -1,
		.uid = getuid(),
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)gettid(),
	};

	read_boot_id(boot_id);
	(void)journal_append(j, &e);
	if (j->seg.fd >= 0)
		(void)fdatasync(j->seg.fd);
	if (j->dir_fd >= 0)
		(void)fsync(j->dir_fd);
}

static uint64_t limit_or(uint64_t limit, uint64_t otherwise)
{
	return limit > 0 ? limit : otherwise;
}

static void set_limits(struct journal *j, const struct journal_limits *limits)
{
	struct journal_limits l =
		limits ? *limits : (struct journal_limits){ 0 };

	j->segment_bytes = limit_or(l.segment_bytes, SEGMENT_DEFAULT);
	if (j->segment_bytes < SEGMENT_MIN)
		j->segment_bytes = SEGMENT_MIN;
	if (j->segment_bytes > SEGMENT_MAX)
		j->segment_bytes = SEGMENT_MAX;
	j->keep_bytes = limit_or(l.keep_bytes, KEEP_DEFAULT);
}

static void journal_free(struct journal *j)
{
	if (j->guard)
		close_segment(j);
	journal_guard_free(j->guard);
	if (j->dir_fd >= 0)
		(void)close(j->dir_fd);
	if (j->parent_fd >= 0)
		(void)close(j->parent_fd);
	free(j->name);
	(void)pthread_mutex_destroy(&j->lock);
	free(j);
}

static void journal_free_p(struct journal **j)
{
	if (*j)
		journal_free(*j);
}

static int journal_init(struct journal *j, int dir_fd, const char *name,
			const struct journal_limits *limits)
{
	(void)pthread_mutex_init(&j->lock, NULL);
	j->dir_fd = -1;
	j->seg.fd = -1;
	set_limits(j, limits);
	j->parent_fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (j->parent_fd < 0)
		return -errno;
	j->name = strdup(name);
	if (!j->name)
		return -ENOMEM;
	return journal_guard_new(&j->guard);
}

int journal_open(int dir_fd, const char *name, const char *root,
		 const struct journal_limits *limits, struct journal **ret)
{
	CLEANUP(journal_free_p) struct journal *j = NULL;
	int r;

	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	r = journal_init(j, dir_fd, name, limits);
	if (r == 0)
		r = enter_directory(j);
	if (r == 0)
		r = recover(j);
	if (r != 0)
		return r;
	append_session(j, root);
	*ret = TAKE(j);
	return 0;
}

/*
 * Truncate the segment to its lines, so that the next journal_open() knows that
 * none is missing.
 */
static void close_in_order(struct journal *j)
{
	struct journal_stamp now = stamp_now();
	char name[JOURNAL_SEGMENT_NAME];

	(void)check_in_place(j);
	if (j->lost_from > 0) {
		j->check_at = 0;
		(void)prepare_segment(j, &now);
	}
	if (j->seg.fd < 0)
		return;
	journal_segment_name(j->seg.first, name);
	if (j->seg.lines == 0)
		(void)unlinkat(j->dir_fd, name, 0);
	else
		(void)ftruncate(j->seg.fd, (off_t)j->seg.used);
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	close_in_order(j);
	journal_free(j);
}
