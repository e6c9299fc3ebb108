/*
 * The time tree-sitter alone takes for the files of a graph: the baseline that
 * tools/bench/graph compares statetape with.
 *
 *	bench_graph DIRECTORY THREADS	read and parse every file, once
 *	bench_graph FILE TIMES		parse one file that many times
 *
 * Prints one JSON object: seconds, files and bytes; or p50 and p99 of one parse
 * in microseconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tree_sitter/api.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/build/tree.h"

#define THREADS_MAX 64
#define TIMES_MAX   100000

const TSLanguage *tree_sitter_python(void);

static TSParser *parser_new(void)
{
	TSParser *p = ts_parser_new();

	if (!p || !ts_parser_set_language(p, tree_sitter_python())) {
		(void)fputs("bench_graph: this tree-sitter cannot load the "
			    "grammar\n",
			    stderr);
		exit(EXIT_FAILURE); /* NOLINT(concurrency-mt-unsafe) */
	}
	return p;
}

struct pile {
	int root_fd;
	struct tree tree;
	size_t *order; /* indices of files, the largest first */
	atomic_size_t next;
	atomic_size_t bytes;
};

static void *parse_files(void *arg)
{
	struct pile *pile = arg;
	TSParser *parser = parser_new();
	struct buf text = TREE_TEXT;
	size_t at;

	while ((at = atomic_fetch_add(&pile->next, 1)) < pile->tree.count) {
		const struct tree_file *f = &pile->tree.files[pile->order[at]];

		if (tree_read(pile->root_fd, f->path, &text, NULL) < 0)
			continue;
		ts_tree_delete(ts_parser_parse_string(parser, NULL, text.data,
						      (uint32_t)text.len));
		atomic_fetch_add(&pile->bytes, text.len);
	}
	buf_release(&text);
	ts_parser_delete(parser);
	return NULL;
}

static int by_size(const void *a, const void *b, void *arg)
{
	const struct tree_file *files = arg;
	uint64_t x = files[*(const size_t *)a].stamp.size;
	uint64_t y = files[*(const size_t *)b].stamp.size;

	return (x < y) - (x > y);
}

static int bench_tree(int fd, unsigned long threads)
{
	struct pile pile = { .root_fd = fd };
	double began = ns_seconds(clock_mono_ns());
	pthread_t ids[THREADS_MAX];
	size_t n = 0;

	if (tree_list(fd, "", 1, &pile.tree) < 0)
		return EXIT_FAILURE;
	pile.order = must_calloc(pile.tree.count, sizeof(*pile.order));
	for (size_t i = 0; i < pile.tree.count; i++)
		pile.order[i] = i;
	qsort_r(pile.order, pile.tree.count, sizeof(*pile.order), by_size,
		pile.tree.files);
	while (n < threads && n < THREADS_MAX &&
	       pthread_create(&ids[n], NULL, parse_files, &pile) == 0)
		n++;
	while (n > 0)
		(void)pthread_join(ids[--n], NULL);
	(void)printf("{\"seconds\":%.6f,\"files\":%zu,\"bytes\":%zu}\n",
		     ns_seconds(clock_mono_ns()) - began, pile.tree.count,
		     (size_t)pile.bytes);
	tree_release(&pile.tree);
	free(pile.order);
	return EXIT_SUCCESS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int bench_file(int fd, unsigned long times)
{
	CLEANUP(free_p) double *us = must_calloc(times, sizeof(*us));
	TSParser *parser = parser_new();
	struct buf text = TREE_TEXT;
	ssize_t len;

	while (buf_reserve(&text, 1) == 0 &&
	       (len = read(fd, text.data + text.len, text.size - text.len)) > 0)
		text.len += (size_t)len;
	for (unsigned long i = 0; i < times; i++) {
		double began = ns_seconds(clock_mono_ns());

		ts_tree_delete(ts_parser_parse_string(parser, NULL, text.data,
						      (uint32_t)text.len));
		us[i] = (ns_seconds(clock_mono_ns()) - began) * 1e6;
	}
	qsort(us, times, sizeof(*us), by_value);
	(void)printf("{\"p50\":%.1f,\"p99\":%.1f}\n", us[times / 2],
		     us[times * 99 / 100]);
	buf_release(&text);
	ts_parser_delete(parser);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	CLEANUP(close_p) int fd = -1;
	unsigned long n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (n < 1 || n > TIMES_MAX) {
		(void)fputs("usage: bench_graph DIRECTORY THREADS | FILE "
			    "TIMES\n",
			    stderr);
		return 2;
	}
	/* The raw parse uses malloc(): our parser's allocator is faster. */
	ts_set_allocator(NULL, NULL, NULL, NULL);
	fd = open(argv[1], O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	if (fd >= 0)
		return bench_tree(fd, n);
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return bench_file(fd, n);
	perror(argv[1]);
	return EXIT_FAILURE;
}
