/*
 * Arbitrary bytes as a journal. The first byte says as what:
 *
 *	t  the fields of a line, given the right checksum, for otherwise no
 *	   fuzzer would ever get past it
 *	l  a whole line
 *	e  a text to be escaped
 *	s  a segment that is opened for reading, then for writing
 *
 * Nothing may crash; input that is accepted must be the same after writing and
 * reading it again; and a journal that could be opened must accept lines and
 * return them.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "graph/base/escape.h"
#include "tape/journal/journal.h"
#include "tape/journal/text.h"
#include "tests/support/journal_files.h"

#define READ_MAX 100000 /* more lines than any input holds */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Longer texts are cut when they are written. */
static bool is_kept_whole(const char *text)
{
	return !text || strlen(text) <= JOURNAL_TEXT_MAX;
}

/* An accepted line must survive the writer unchanged. */
static void check_again(const struct journal_parsed *p)
{
	static struct journal_draft d;
	static char copy[JOURNAL_LINE_MAX];
	struct journal_event e = p->line.event;
	struct journal_stamp s = {
		.n = p->line.n,
		.mono_ns = p->line.mono_ns,
		.wall_ns = p->line.wall_ns,
		.author = p->author,
	};
	struct journal_parsed again;
	const char *line;
	size_t len;

	if (!*e.path)
		e.path = NULL;
	journal_draft_event(&d, &e);
	line = journal_draft_finish(&d, &s, &len);
	must(len <= sizeof(copy));
	memcpy(copy, line, len);
	must(journal_parse(copy, len - 1, &again) == 0);
	must(again.line.n == p->line.n && again.author == p->author);
	must(again.line.event.op == e.op && again.line.event.ino == e.ino);
	must(again.line.event.off == e.off && again.line.event.res == e.res);
	if (!is_kept_whole(e.path) || !is_kept_whole(e.path2) ||
	    !is_kept_whole(e.detail))
		return;
	must(same_text(again.line.event.path, p->line.event.path));
	must(same_text(again.line.event.path2, p->line.event.path2));
	must(same_text(again.line.event.detail, p->line.event.detail));
}

static void parse_line(const uint8_t *data, size_t len, bool with_checksum)
{
	char *text = malloc(len + 32);
	struct journal_parsed p;

	must(text != NULL);
	if (len > 0)
		memcpy(text, data, len);
	if (with_checksum) {
		(void)snprintf(text + len, 32, "\t%016llx",
			       (unsigned long long)XXH3_64bits(text, len));
		len += 17;
	}
	if (journal_parse(text, len, &p) == 0)
		check_again(&p);
	free(text);
}

/*
 * Escaped, it has no control characters, and it is what a line would contain.
 */
static void try_escape(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), *out;
	size_t size, got, i;

	must(text != NULL);
	memcpy(text, data, len);
	text[len] = '\0';
	len = strlen(text);
	size = ESCAPE_SIZE(len);
	size = size < 5 ? 5 : size;
	out = malloc(size);
	must(out != NULL);
	got = escape_text(text, out, size);
	must(got < size && got == strlen(out) && got >= len);
	for (i = 0; i < got; i++)
		must((unsigned char)out[i] >= ' ' && out[i] != 0x7f);
	must(escape_text(text, out, 5 + len / 2) < 5 + len / 2);
	free(out);
	free(text);
}

/* Read everything, numbers ascending. Returns the last number. */
static uint64_t read_all(int dir_fd)
{
	struct journal_reader *r;
	struct journal_line l;
	uint64_t last = 0;
	int i, k = 1;

	must(journal_reader_open(dir_fd, JOURNAL_NAME, 0, &r) == 0);
	for (i = 0; k != 0; i++) {
		must(i < READ_MAX);
		k = journal_reader_next(r, &l);
		must(k == 0 || k == 1 || k == -ESTALE);
		if (k == 0)
			break;
		must(l.n > last);
		last = l.n;
	}
	journal_reader_free(r);
	return last;
}

static void open_segment(const uint8_t *data, size_t len)
{
	struct journal_event e = { .op = JOURNAL_WRITE, .path = "new" };
	struct journal_stats stats;
	struct journal *j;
	struct place place;
	uint64_t last;
	int fd;

	place_init(&place);
	fd = segment_open(&place, 1);
	segment_write(fd, data, len);
	(void)close(fd);

	last = read_all(place.fd);
	must(journal_open(place.fd, JOURNAL_NAME, "/", NULL, &j) == 0);
	must(journal_append(j, &e) > last);
	journal_stat(j, &stats);
	must(stats.lost == 0 && stats.error == 0);
	/* Readers accept no number above the maximum. */
	if (stats.head <= JOURNAL_NUMBER_MAX)
		must(read_all(place.fd) == stats.head);
	journal_close(j);
	place_release(&place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* On tmpfs if possible: opening a journal syncs. */
	if (access("/dev/shm", W_OK) == 0)
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
		(void)setenv("TMPDIR", "/dev/shm", 1);
	if (len == 0)
		return 0;
	switch (data[0]) {
	case 't':
		parse_line(data + 1, len - 1, true);
		break;
	case 'l':
		parse_line(data + 1, len - 1, false);
		break;
	case 'e':
		try_escape(data + 1, len - 1);
		break;
	case 's':
		open_segment(data + 1, len - 1);
		break;
	default:
		break;
	}
	return 0;
}
