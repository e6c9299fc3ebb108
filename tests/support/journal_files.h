/*
 * A directory with a journal in it, and functions that create, inspect and
 * damage segments behind the journal's back. Failures here abort: the set-up of
 * a test must work.
 */
#ifndef STATETAPE_TESTS_SUPPORT_JOURNAL_FILES_H
#define STATETAPE_TESTS_SUPPORT_JOURNAL_FILES_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tape/journal/segment.h"
#include "tape/journal/text.h"
#include "tests/support/scratch.h"

#define JOURNAL_NAME "journal"

/* The directory the journal is in. */
struct place {
	char *path;
	int fd;
};

static inline void place_init(struct place *t)
{
	t->path = scratch_new();
	t->fd = t->path ? open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			: -1;
	if (t->fd < 0)
		abort();
}

static inline void place_release(struct place *t)
{
	(void)close(t->fd);
	scratch_free(t->path);
}

/* Remove the whole journal while it is in use. */
static inline void place_remove_journal(const struct place *t)
{
	char *path = NULL;

	if (asprintf(&path, "%s/" JOURNAL_NAME, t->path) < 0)
		abort();
	scratch_free(path);
}

/* Line `n` about `path`, with the clocks of another boot. */
static inline size_t segment_line(char *out, uint64_t n, const char *path)
{
	static _Thread_local struct journal_draft d;
	struct journal_event e = { .op = JOURNAL_WRITE, .path = path };
	struct journal_stamp s = { .n = n, .mono_ns = 1, .wall_ns = 2 };
	const char *line;
	size_t len;

	journal_draft_event(&d, &e);
	line = journal_draft_finish(&d, &s, &len);
	memcpy(out, line, len);
	return len;
}

/* Open segment `first` of t's journal, created if absent. */
static inline int segment_open(const struct place *t, uint64_t first)
{
	char name[JOURNAL_SEGMENT_NAME];
	char path[64];
	int fd;

	(void)mkdirat(t->fd, JOURNAL_NAME, 0700);
	journal_segment_name(first, name);
	(void)snprintf(path, sizeof(path), JOURNAL_NAME "/%s", name);
	fd = openat(t->fd, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		abort();
	return fd;
}

static inline void segment_write(int fd, const void *bytes, size_t len)
{
	if (write(fd, bytes, len) != (ssize_t)len)
		abort();
}

/* Append the lines from..to to the segment open at `fd`. */
static inline void segment_fill(int fd, uint64_t from, uint64_t to)
{
	char line[JOURNAL_LINE_MAX];
	char path[32];

	for (; from <= to; from++) {
		(void)snprintf(path, sizeof(path), "file-%lu",
			       (unsigned long)from);
		segment_write(fd, line, segment_line(line, from, path));
	}
}

/* The number of segments; *ret_newest is the name of the newest. */
static inline size_t segment_count(const struct place *t, uint64_t *ret_newest)
{
	struct journal_segments list = { 0 };
	int dir = openat(t->fd, JOURNAL_NAME, O_RDONLY | O_DIRECTORY);
	size_t n;

	if (dir < 0)
		return 0;
	if (journal_segments_list(dir, &list) < 0)
		abort();
	n = journal_segments_count(&list);
	if (ret_newest)
		*ret_newest = n ? journal_segments_at(&list, n - 1) : 0;
	journal_segments_release(&list);
	(void)close(dir);
	return n;
}

static inline off_t segment_size(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		abort();
	return st.st_size;
}

#endif
