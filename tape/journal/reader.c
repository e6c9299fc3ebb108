/*
 * The reader goes through the segments in the order of their names and returns
 * each line with a number higher than all before. It takes no lock and keeps no
 * position but that number and an offset in one open file:
 *
 * - A segment is read from its beginning, even if only its end is wanted,
 *   because it introduces its authors there.
 * - Numbers that do not come are missing, whatever the reason; the next line
 *   that does come shows it. So gap lines, removed segments and damaged lines
 *   need no cases of their own.
 * - The reader leaves a segment when a later one exists. The writer never goes
 *   back, so the end is final then; but lines may have been appended after we
 *   read the end and before we saw the later segment, so the reader seals the
 *   scan and reads the end once more.
 * - An open file stays readable when its name is removed, and the directory is
 *   opened anew each time it is listed, so both may be removed and created
 *   again.
 */
#include "tape/journal/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "tape/journal/segment.h"
#include "tape/journal/text.h"

/* Upper bound for the introductions of one segment, in bytes. */
#define KNOWN_MAX (64u << 20)

/* An author that was returned to the caller; lives as long as the reader. */
struct reader_author {
	struct reader_author *next;
	struct journal_author author;
	char text[]; /* comm, cmdline, exe */
};

/* An ACTOR line of the current segment. */
struct reader_introduction {
	uint64_t n;
	struct journal_author *author;
};

struct journal_reader {
	int parent_fd;
	char *name;
	uint64_t last; /* highest number returned or skipped */

	int fd;		/* current segment, -1: none yet */
	uint64_t first; /* its name */
	struct journal_scan scan;
	struct buf known; /* of struct reader_introduction, n ascending */
	struct reader_author *authors;

	bool waiting; /* `line` was read and is returned next */
	struct journal_line line;
};

/* Copy `text` to *at and advance *at behind it. */
static const char *keep_text(char **at, const char *text)
{
	size_t size = strlen(text) + 1;
	char *kept = memcpy(*at, text, size);

	*at += size;
	return kept;
}

static struct journal_author *keep_author(struct journal_reader *r,
					  const struct journal_author *a)
{
	size_t size = strlen(a->comm) + strlen(a->cmdline) + strlen(a->exe) + 3;
	struct reader_author *p = malloc(sizeof(*p) + size);
	char *at;

	if (!p)
		return NULL;
	at = p->text;
	p->author = *a;
	p->author.comm = keep_text(&at, a->comm);
	p->author.cmdline = keep_text(&at, a->cmdline);
	p->author.exe = keep_text(&at, a->exe);
	assert(at == p->text + size);
	p->next = r->authors;
	r->authors = p;
	return &p->author;
}

/* The author that line `n` of this segment introduces; NULL: unknown. */
static struct journal_author *find_author(const struct journal_reader *r,
					  uint64_t n)
{
	const struct reader_introduction *known = (const void *)r->known.data;
	size_t low = 0, high = r->known.len / sizeof(*known);

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (known[mid].n == n)
			return known[mid].author;
		if (known[mid].n < n)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static uint64_t last_known(const struct journal_reader *r)
{
	const struct reader_introduction *known = (const void *)r->known.data;
	size_t count = r->known.len / sizeof(*known);

	return count > 0 ? known[count - 1].n : 0;
}

/* When memory is short, the author stays unknown. */
static struct journal_author *introduce(struct journal_reader *r,
					const struct journal_parsed *p)
{
	struct reader_introduction i = { .n = p->line.n };
	struct journal_author a;

	journal_parsed_author(p, &a);
	a.parent = find_author(r, p->author);
	i.author = keep_author(r, &a);
	if (!i.author)
		return NULL;
	i.author->line = p->line.n;
	if (i.n > last_known(r))
		(void)buf_add(&r->known, &i, sizeof(i));
	return i.author;
}

/* Open the segment `first`. -ENOENT: it has been removed. */
static int enter_segment(struct journal_reader *r, int dir_fd, uint64_t first)
{
	char name[JOURNAL_SEGMENT_NAME];
	int fd;

	assert(r->fd < 0 || first > r->first);
	journal_segment_name(first, name);
	fd = openat(dir_fd, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (r->fd >= 0)
		(void)close(r->fd);
	journal_scan_release(&r->scan);
	journal_scan_init(&r->scan, fd, true);
	r->fd = fd;
	r->first = first;
	r->known.len = 0;
	return 0;
}

/*
 * The segment to read next: the one after the current; at the start the one
 * that holds number last + 1, or the oldest if that one is gone. 0: there is
 * none.
 */
static uint64_t choose(const struct journal_reader *r,
		       const struct journal_segments *list)
{
	size_t n = journal_segments_count(list), i = 0;

	if (r->fd >= 0) {
		while (i < n && journal_segments_at(list, i) <= r->first)
			i++;
	} else {
		while (i + 1 < n &&
		       journal_segments_at(list, i + 1) <= r->last + 1)
			i++;
	}
	return i < n ? journal_segments_at(list, i) : 0;
}

/* 1: there is more to read. 0: there is not. */
static int go_on_in(struct journal_reader *r, int dir_fd,
		    const struct journal_segments *list)
{
	uint64_t first = choose(r, list);
	int k;

	if (first == 0)
		return 0;
	if (r->fd >= 0 && r->scan.live) {
		journal_scan_seal(&r->scan);
		return 1;
	}
	k = enter_segment(r, dir_fd, first);
	return k < 0 && k != -ENOENT ? k : 1;
}

static int open_directory(const struct journal_reader *r)
{
	int fd = openat(r->parent_fd, r->name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Nothing more can be read from the current segment now. Returns as go_on_in().
 */
static int go_on(struct journal_reader *r)
{
	CLEANUP(close_p) int dir_fd = open_directory(r);
	struct journal_segments list;
	int k;

	if (dir_fd < 0)
		return dir_fd;
	k = journal_segments_list(dir_fd, &list);
	if (k < 0)
		return k;
	k = go_on_in(r, dir_fd, &list);
	journal_segments_release(&list);
	return k;
}

/* The next complete line of the current segment, as journal_scan_line(). */
static int next_here(struct journal_reader *r, struct journal_parsed *ret)
{
	int k;

	if (r->fd < 0)
		return 0;
	k = journal_scan_line(&r->scan, ret);
	return k != 0 ? k : journal_scan_skip(&r->scan, ret);
}

/* The next complete line of any segment, whatever its number. */
static int next_anywhere(struct journal_reader *r, struct journal_parsed *ret)
{
	int here, further;

	for (;;) {
		here = next_here(r, ret);
		if (here > 0)
			return 1;
		/*
		 * If a later segment exists, lines that cannot be read count as
		 * missing.
		 */
		further = go_on(r);
		if (further > 0)
			continue;
		if (further == 0)
			further = here;
		/* A removed directory may be created again. */
		return further == -ENOENT ? 0 : further;
	}
}

/* Read until there is a line with a new number, into r->line. */
static int next_new(struct journal_reader *r)
{
	struct journal_parsed p;
	struct journal_author *author;
	int k;

	do {
		k = next_anywhere(r, &p);
		if (k <= 0)
			return k;
		if (p.line.event.op == JOURNAL_ACTOR)
			author = introduce(r, &p);
		else
			author = find_author(r, p.author);
	} while (p.line.n <= r->last);

	r->line = p.line;
	r->line.event.author = author;
	return 1;
}

int journal_reader_next(struct journal_reader *r, struct journal_line *ret)
{
	int k;

	if (!r->waiting) {
		k = next_new(r);
		if (k <= 0)
			/*
			 * -ESTALE has one meaning for the caller: missing
			 * lines.
			 */
			return k == -ESTALE ? -EIO : k;
	}
	assert(r->line.n > r->last);
	r->waiting = r->line.n > r->last + 1;
	if (r->waiting) {
		r->last = r->line.n - 1;
		*ret = (struct journal_line){ .n = r->last };
		return -ESTALE;
	}
	r->last = r->line.n;
	*ret = r->line;
	return 1;
}

static int reader_init(struct journal_reader *r, int dir_fd, const char *name,
		       uint64_t since)
{
	CLEANUP(close_p) int journal_fd = -1;

	r->fd = -1;
	r->last = since < JOURNAL_NUMBER_MAX ? since : JOURNAL_NUMBER_MAX;
	r->known = BUF(KNOWN_MAX);
	r->parent_fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->parent_fd < 0)
		return -errno;
	r->name = strdup(name);
	if (!r->name)
		return -ENOMEM;
	journal_fd = open_directory(r);
	return journal_fd < 0 ? journal_fd : 0;
}

int journal_reader_open(int dir_fd, const char *name, uint64_t since,
			struct journal_reader **ret)
{
	struct journal_reader *r = calloc(1, sizeof(*r));
	int k;

	if (!r)
		return -ENOMEM;
	k = reader_init(r, dir_fd, name, since);
	if (k < 0) {
		journal_reader_free(r);
		return k;
	}
	*ret = r;
	return 0;
}

void journal_reader_free(struct journal_reader *r)
{
	struct reader_author *p;

	if (!r)
		return;
	while ((p = r->authors)) {
		r->authors = p->next;
		free(p);
	}
	journal_scan_release(&r->scan);
	buf_release(&r->known);
	if (r->fd >= 0)
		(void)close(r->fd);
	if (r->parent_fd >= 0)
		(void)close(r->parent_fd);
	free(r->name);
	free(r);
}
