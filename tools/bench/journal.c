/*
 * The cost of one journal line: nanoseconds per journal_append() next to
 * nanoseconds per write(2) of the same bytes appended to a file, both in the
 * given directory, alternating within one run. Processor time is printed next
 * to wall time, which says little on a busy machine.
 *
 *	bench-journal DIRECTORY [LINES [THREADS]]
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tape/journal/journal.h"
#include "tape/journal/text.h"

#define ROUNDS	    5
#define THREADS_MAX 64
#define JOURNAL	    "bench-journal"
#define PLAIN	    "bench-plain"

static struct journal_author shell = {
	.pid = 4000,
	.uid = 1000,
	.start = 123456,
	.comm = "bash",
	.cmdline = "bash -c make",
	.exe = "/usr/bin/bash",
	.session_root = true,
};

static struct journal_author compiler = {
	.pid = 4242,
	.uid = 1000,
	.start = 123999,
	.comm = "cc1",
	.cmdline = "cc1 -quiet main.c",
	.exe = "/usr/lib/gcc/cc1",
	.parent = &shell,
};

static const struct journal_event event = {
	.op = JOURNAL_WRITE,
	.path = "src/module/component/file_name.py",
	.ino = 1234567,
	.off = 40960,
	.len = 4096,
	.res = 4096,
	.uid = 1000,
	.pid = 4242,
	.tid = 4243,
	.author = &compiler,
};

/* The values of two clocks, or the differences of two readings. */
struct bench_span {
	double wall_ns;
	double cpu_ns;
};

static struct bench_span span_begin(void)
{
	return (struct bench_span){
		.wall_ns = (double)clock_mono_ns(),
		.cpu_ns = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID),
	};
}

static struct bench_span span_per_line(struct bench_span begin, long lines)
{
	struct bench_span now = span_begin();

	return (struct bench_span){
		.wall_ns = (now.wall_ns - begin.wall_ns) / (double)lines,
		.cpu_ns = (now.cpu_ns - begin.cpu_ns) / (double)lines,
	};
}

struct append_job {
	struct journal *journal;
	long lines;
};

static void *append_lines(void *arg)
{
	struct append_job *w = arg;
	long i;

	for (i = 0; i < w->lines; i++)
		(void)journal_append(w->journal, &event);
	return NULL;
}

/* Time per line, with `threads` threads appending at once. */
static struct bench_span time_journal(struct journal *j, long lines,
				      int threads)
{
	struct append_job w = { .journal = j, .lines = lines / threads };
	pthread_t ids[THREADS_MAX];
	struct bench_span begin = span_begin();
	int i;

	for (i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, append_lines, &w) != 0)
			abort();
	for (i = 0; i < threads; i++)
		(void)pthread_join(ids[i], NULL);
	return span_per_line(begin, w.lines * threads);
}

static struct bench_span time_write(int dir_fd, long lines)
{
	CLEANUP(close_p) int fd = -1;
	static struct journal_draft d;
	struct journal_stamp stamp = { .n = 1000000, .author = 2 };
	struct bench_span begin;
	const char *line;
	size_t len;
	long i;

	stamp.mono_ns = (uint64_t)clock_mono_ns();
	stamp.wall_ns = (uint64_t)time(NULL) * 1000000000;
	journal_draft_event(&d, &event);
	line = journal_draft_finish(&d, &stamp, &len);
	fd = openat(dir_fd, PLAIN, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND,
		    0600);
	if (fd < 0)
		abort();
	begin = span_begin();
	for (i = 0; i < lines; i++)
		if (write(fd, line, len) != (ssize_t)len)
			abort();
	return span_per_line(begin, lines);
}

static void print_span(const char *what, struct bench_span s)
{
	(void)printf("%s %5.0f ns (cpu %4.0f)   ", what, s.wall_ns, s.cpu_ns);
}

static int bench(int dir_fd, long lines, int threads)
{
	struct journal_stats stats;
	struct journal *j;
	int i, r;

	r = journal_open(dir_fd, JOURNAL, "/bench", NULL, &j);
	if (r < 0) {
		(void)fprintf(stderr, "journal: %s\n", strerrordesc_np(-r));
		return 1;
	}
	(void)time_journal(j, lines, 1);
	for (i = 0; i < ROUNDS; i++) {
		print_span("append", time_journal(j, lines, 1));
		print_span("threads", time_journal(j, lines, threads));
		print_span("write(2)", time_write(dir_fd, lines));
		(void)printf("\n");
	}
	journal_stat(j, &stats);
	(void)printf("%d threads; head %lu, lost %lu, segments %lu\n", threads,
		     (unsigned long)stats.head, (unsigned long)stats.lost,
		     (unsigned long)stats.segments);
	journal_close(j);
	return stats.lost > 0;
}

int main(int argc, char **argv)
{
	CLEANUP(close_p) int dir_fd = -1;
	long lines = argc > 2 ? strtol(argv[2], NULL, 10) : 500000;
	long threads = argc > 3 ? strtol(argv[3], NULL, 10) : 4;

	if (argc < 2 || lines < 1 || threads < 1 || threads > THREADS_MAX) {
		(void)fprintf(
			stderr,
			"usage: bench-journal DIRECTORY [LINES [THREADS]]\n");
		return 2;
	}
	dir_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0) {
		(void)fprintf(stderr, "%s: %s\n", argv[1],
			      strerrordesc_np(errno));
		return 1;
	}
	return bench(dir_fd, lines, (int)threads);
}
