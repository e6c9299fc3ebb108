/*
 * Writes many lines into the journal of a state directory, as fast as it can,
 * about files that it really changes now and then:
 *
 *	journal_storm STATE-DIR REPO LINES FILES
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tape/journal/journal.h"

/* Besides the last line of each file, one line in this many changes it. */
#define CHANGE_EVERY 500

static void change(int root, const char *path, uint64_t k)
{
	char text[64];
	int fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	int len = snprintf(text, sizeof(text), "x = %" PRIu64 "\n", k);

	if (fd < 0 || write(fd, text, (size_t)len) != len)
		abort();
	(void)close(fd);
}

static bool has_change(uint64_t k, uint64_t lines, uint64_t files)
{
	return k % CHANGE_EVERY == 0 || k + files >= lines;
}

int main(int argc, char **argv)
{
	struct journal_author who = { .pid = 4711,
				      .start = 1,
				      .comm = "storm",
				      .cmdline = "storm",
				      .exe = "/storm" };
	uint64_t lines, files;
	struct journal *j;
	int dir, root;

	if (argc != 5)
		return 2;
	lines = strtoull(argv[3], NULL, 10);
	files = strtoull(argv[4], NULL, 10);
	dir = open(argv[1], O_RDONLY | O_DIRECTORY);
	root = open(argv[2], O_RDONLY | O_DIRECTORY);
	if (dir < 0 || root < 0 ||
	    journal_open(dir, "journal", argv[2], NULL, &j) < 0)
		return 1;
	for (uint64_t k = 0; k < lines; k++) {
		char path[32];
		bool changed = has_change(k, lines, files);
		bool closes = !changed && k / files % 3 == 2;
		struct journal_event e = { .op = closes ? JOURNAL_CLOSE
							: JOURNAL_WRITE,
					   .path = path,
					   .off = 0,
					   .len = 1,
					   .pid = 4711,
					   .author = &who };

		(void)snprintf(path, sizeof(path), "f%" PRIu64 ".py",
			       k % files);
		if (changed)
			change(root, path, k);
		if (e.op == JOURNAL_CLOSE)
			e.detail = "wrote";
		(void)journal_append(j, &e);
	}
	journal_close(j);
	return 0;
}
