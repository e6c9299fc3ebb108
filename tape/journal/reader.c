/*
 * The reader goes through the segments in the order of their names and hands
 * out each line with a number higher than any before. It holds no lock and
 * keeps no position but that number and a place in one open file:
 *
 * - A segment is read from its beginning, even if only its end is wanted,
 *   because there the authors are introduced.
 * - Numbers that do not come are missing, whatever the reason; the next line
 *   that does come shows it, so gap lines, removed segments and damaged lines
 *   need no cases of their own.
 * - A segment is left when a later one exists. The writer never goes back, so
 *   its end is final then; but lines may have come between our reading the end
 *   and our seeing the later one, hence one more look ("sealed").
 * - The file stays readable when its name is removed, and the directory is
 *   opened anew each time it is listed, so neither has to stay what it was.
 */
#include "tape/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "tape/journal/segment.h"
#include "tape/journal/text.h"

/* Bytes of introductions in one segment. */
#define KNOWN_MAX (64u << 20)

/* An author we handed out; all live as long as the reader. */
struct reader_author {
	struct reader_author *next;
	struct journal_author author;
	char text[]; /* its three strings */
};

/* Who was introduced by which line of the current segment. */
struct reader_introduction {
	uint64_t n;
	struct journal_author *author;
};

struct journal_reader {
	int parent_fd;
	char *name;
	uint64_t last; /* highest number handed out or given up */

	int fd;		/* current segment, -1: none yet */
	uint64_t first; /* its name */
	struct journal_scan scan;
	struct buf known; /* of struct reader_introduction, by rising n */
	struct reader_author *authors;

	bool waiting; /* `line` was read and comes next */
	struct journal_line line;
};

/* Copy `text` to *at and move *at behind it. */
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
	p->next = r->authors;
	r->authors = p;
	return &p->author;
}

/* The author introduced by line `n` of this segment; NULL: nobody known. */
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

/* An author that memory does not suffice for stays unknown. */
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

/* Go to the segment named `first`. -ENOENT: it was removed meanwhile. */
static int enter_segment(struct journal_reader *r, int dir_fd, uint64_t first)
{
	char name[JOURNAL_SEGMENT_NAME];
	int fd;

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
 * The name of the segment to go to: the first one behind the current, and at
 * the start the one that holds the number after `last`, or the oldest if that
 * one is gone. 0: there is none.
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

/* 1: there is more to look at. 0: there is not. */
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

/* The current segment has nothing more for us now. Returns as go_on_in(). */
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

/* The next whole line of the current segment, as journal_scan_line(). */
static int next_here(struct journal_reader *r, struct journal_parsed *ret)
{
	int k;

	if (r->fd < 0)
		return 0;
	k = journal_scan_line(&r->scan, ret);
	return k != 0 ? k : journal_scan_skip(&r->scan, ret);
}

/* The next whole line, whatever its number. */
static int next_anywhere(struct journal_reader *r, struct journal_parsed *ret)
{
	int here, further;

	for (;;) {
		here = next_here(r, ret);
		if (here > 0)
			return 1;
		/* What cannot be read is missing, if anything comes after. */
		further = go_on(r);
		if (further > 0)
			continue;
		if (further == 0)
			further = here;
		/* A directory that was removed may be made again. */
		return further == -ENOENT ? 0 : further;
	}
}

/* Read until there is a line with a number we have not had, into r->line. */
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
			/* To us, the one meaning of -ESTALE is our own. */
			return k == -ESTALE ? -EIO : k;
	}
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
