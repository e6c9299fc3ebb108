/*
 * Reading while the writer writes. The writer stores the first byte of a line
 * last, and one line after the other, but a read(2) of many bytes is not
 * atomic: it may copy the place of line A before A is stored and the place of
 * line B, right behind, after B is stored. So a line that fails its check is
 * read a second time before it counts as absent (journal_scan_line()), and a
 * later complete line proves that the bytes before it are damaged only if they
 * still fail the check when read again *after* the later line was seen
 * (journal_scan_skip()): by then everything stored before that line is visible.
 *
 * The work is linear in the bytes. A line has at most JOURNAL_LINE_MAX bytes,
 * so the window holds any line, and `probe` remembers how far a damaged tail
 * has been searched, so that the reader does not search it again.
 */
#include "tape/journal/segment.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/cleanup.h"

#define NAME_DIGITS  20
#define NAME_SUFFIX  ".log"
#define SEGMENTS_MAX (1u << 20)
#define WINDOW_SIZE  (64u << 10)

_Static_assert(WINDOW_SIZE >= JOURNAL_LINE_MAX, "the window holds any line");

void journal_segment_name(uint64_t first, char ret[static JOURNAL_SEGMENT_NAME])
{
	int i;

	for (i = NAME_DIGITS - 1; i >= 0; i--, first /= 10)
		ret[i] = (char)('0' + first % 10);
	memcpy(ret + NAME_DIGITS, NAME_SUFFIX, sizeof(NAME_SUFFIX));
}

/* The number in the name of a segment; 0: not the name of a segment. */
static uint64_t segment_number(const char *name)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < NAME_DIGITS; i++) {
		if (name[i] < '0' || name[i] > '9')
			return 0;
		if (v > JOURNAL_NUMBER_MAX / 10)
			return 0;
		v = v * 10 + (uint64_t)(name[i] - '0');
	}
	if (strcmp(name + NAME_DIGITS, NAME_SUFFIX) != 0)
		return 0;
	return v <= JOURNAL_NUMBER_MAX ? v : 0;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Collect the numbers of all segments in `dir`. */
static int read_names(DIR *dir, struct buf *numbers)
{
	struct dirent *e;
	uint64_t first;
	int r;

	for (;;) {
		errno = 0;
		/* One stream, one thread: readdir() is safe on that. */
		e = readdir(dir); /* NOLINT(concurrency-mt-unsafe) */
		if (!e)
			return -errno;
		if (e->d_type != DT_REG && e->d_type != DT_UNKNOWN)
			continue;
		first = segment_number(e->d_name);
		if (first == 0)
			continue;
		r = buf_add(numbers, &first, sizeof(first));
		if (r < 0)
			return r;
	}
}

int journal_segments_list(int dir_fd, struct journal_segments *ret)
{
	struct journal_segments list = {
		.numbers = BUF(SEGMENTS_MAX * sizeof(uint64_t)),
	};
	CLEANUP(close_p) int fd = -1;
	CLEANUP(closedir_p) DIR *dir = NULL;
	int r;

	/*
	 * A descriptor of our own, because duplicates share one directory
	 * offset.
	 */
	fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	(void)take_fd(&fd);

	r = read_names(dir, &list.numbers);
	if (r < 0) {
		journal_segments_release(&list);
		return r;
	}
	if (list.numbers.len > 0)
		qsort(list.numbers.data, journal_segments_count(&list),
		      sizeof(uint64_t), compare_numbers);
	*ret = list;
	return 0;
}

void journal_segments_release(struct journal_segments *s)
{
	buf_release(&s->numbers);
}

size_t journal_segments_count(const struct journal_segments *s)
{
	return s->numbers.len / sizeof(uint64_t);
}

uint64_t journal_segments_at(const struct journal_segments *s, size_t i)
{
	uint64_t first;

	assert(i < journal_segments_count(s));
	memcpy(&first, s->numbers.data + i * sizeof(first), sizeof(first));
	return first;
}

void journal_scan_init(struct journal_scan *s, int fd, bool live)
{
	*s = (struct journal_scan){
		.fd = fd,
		.live = live,
		.window = BUF(WINDOW_SIZE),
	};
}

void journal_scan_release(struct journal_scan *s)
{
	buf_release(&s->window);
}

void journal_scan_seal(struct journal_scan *s)
{
	s->live = false;
	s->window.len = 0;
}

/* Fill the window from `offset`; it is shorter at the end of the file. */
static int load(struct journal_scan *s, uint64_t offset)
{
	ssize_t got;
	int r;

	s->window.len = 0;
	s->base = offset;
	r = buf_reserve(&s->window, WINDOW_SIZE);
	if (r < 0)
		return r;
	got = pread(s->fd, s->window.data, WINDOW_SIZE, (off_t)offset);
	if (got < 0)
		return -errno;
	s->window.len = (size_t)got;
	return 0;
}

/* The bytes of the window from `offset`; *ret_len is 0 if there are none. */
static char *view(struct journal_scan *s, uint64_t offset, size_t *ret_len)
{
	*ret_len = 0;
	if (offset < s->base || offset - s->base >= s->window.len)
		return s->window.data;
	*ret_len = s->window.len - (size_t)(offset - s->base);
	return s->window.data + (offset - s->base);
}

/*
 * The piece at `offset`: up to and including the next newline, or up to the
 * next NUL, in which case it may be empty. False: it does not end in the
 * window.
 */
static bool piece_at(struct journal_scan *s, uint64_t offset, char **ret,
		     size_t *ret_len)
{
	size_t len, i = 0;
	char *text = view(s, offset, &len);

	while (i < len && text[i] != '\n' && text[i] != '\0')
		i++;
	if (i == len)
		return false;
	*ret = text;
	*ret_len = text[i] == '\n' ? i + 1 : i;
	return true;
}

static bool piece_is_line(char *piece, size_t len, struct journal_parsed *ret)
{
	return len > 0 && piece[len - 1] == '\n' &&
	       journal_parse(piece, len - 1, ret) == 0;
}

int journal_scan_line(struct journal_scan *s, struct journal_parsed *ret)
{
	char *piece;
	size_t len;
	bool ends;
	int r;

	ends = piece_at(s, s->at, &piece, &len);
	if (ends && piece_is_line(piece, len, ret)) {
		s->at += len;
		return 1;
	}
	if (ends && !s->live)
		return 0;
	r = load(s, s->at);
	if (r < 0)
		return r;
	if (!piece_at(s, s->at, &piece, &len) ||
	    !piece_is_line(piece, len, ret))
		return 0;
	s->at += len;
	return 1;
}

/* Load the window from `probe`. 1: there are bytes. 0: end of file. */
static int reload_at_probe(struct journal_scan *s)
{
	int r = load(s, s->probe);

	if (r < 0)
		return r;
	return s->window.len > 0;
}

/*
 * The piece at `probe` does not end in the window. 1: continue. 0: the file
 * ends first.
 */
static int read_on(struct journal_scan *s)
{
	assert(s->probe >= s->at);
	if (s->base != s->probe || s->window.len == 0)
		return reload_at_probe(s);
	if (s->window.len < WINDOW_SIZE)
		return 0;
	/* Longer than any line: skip it. */
	s->probe += s->window.len;
	return reload_at_probe(s);
}

/*
 * Move `probe` behind the next complete line. 1: *ret is that line. 0: there is
 * none, and the search continues at `probe` when the file has grown.
 */
static int seek_line(struct journal_scan *s, struct journal_parsed *ret)
{
	char *piece;
	size_t len;
	bool found;
	int r;

	for (;;) {
		if (!piece_at(s, s->probe, &piece, &len)) {
			r = read_on(s);
			if (r <= 0)
				return r;
			continue;
		}
		if (len == 0 && s->live)
			return 0;
		found = piece_is_line(piece, len, ret);
		s->probe += len > 0 ? len : 1;
		if (found)
			return 1;
	}
}

int journal_scan_skip(struct journal_scan *s, struct journal_parsed *ret)
{
	int r;

	if (s->probe < s->at)
		s->probe = s->at;
	r = seek_line(s, ret);
	if (r > 0 && s->live) {
		s->probe = s->at;
		s->window.len = 0;
		r = seek_line(s, ret);
	}
	assert(r <= 0 || s->probe > s->at);
	if (r > 0)
		s->at = s->probe;
	return r;
}
