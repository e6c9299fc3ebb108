/*
 * Times single file operations for tools/bench/fs. Prints one number per line:
 * nanoseconds per operation (for read and write: of the whole transfer), in
 * order; the script computes the statistics.
 *
 *	fsops edit FILE COUNT		open O_TRUNC, write 4 KiB, close
 *	fsops save FILE COUNT		make a temporary, write 4 KiB, close,
 *					rename over FILE
 *	fsops open COUNT < LIST		open, read 4 KiB, close, for each file
 *	fsops read FILE BLOCK		the whole file, block by block
 *	fsops write FILE BLOCK BYTES	truncate, write, close
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"

#define BLOCK_MAX (8u << 20)
#define SMALL	  4096

static char block[BLOCK_MAX];

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static void took(int64_t since)
{
	printf("%lld\n", (long long)(clock_mono_ns() - since));
}

static uint64_t number(const char *text, uint64_t max)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || n == 0 || n > max) {
		(void)fprintf(stderr, "fsops: not a number here: %s\n", text);
		_exit(2);
	}
	return n;
}

static void put(const char *path, int flags)
{
	int fd = open(path, flags | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		die(path);
	if (write(fd, block, SMALL) != SMALL)
		die(path);
	if (close(fd) < 0)
		die(path);
}

static int do_edit(char **args)
{
	uint64_t count = number(args[1], UINT32_MAX);

	while (count--) {
		int64_t start = clock_mono_ns();

		put(args[0], O_TRUNC);
		took(start);
	}
	return 0;
}

static int do_save(char **args)
{
	CLEANUP(free_p) char *tmp = NULL;
	uint64_t count = number(args[1], UINT32_MAX);

	if (asprintf(&tmp, "%s.tmp", args[0]) < 0)
		die("asprintf");
	while (count--) {
		int64_t start = clock_mono_ns();

		put(tmp, O_CREAT | O_EXCL);
		if (rename(tmp, args[0]) < 0)
			die(tmp);
		took(start);
	}
	return 0;
}

static void open_one(const char *path)
{
	int64_t start = clock_mono_ns();
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die(path);
	if (read(fd, block, SMALL) < 0)
		die(path);
	(void)close(fd);
	took(start);
}

static int do_open(char **args)
{
	CLEANUP(free_p) char *line = NULL;
	uint64_t count = number(args[0], UINT32_MAX);
	size_t room = 0;
	ssize_t len;

	while (count-- && (len = getline(&line, &room, stdin)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		open_one(line);
	}
	return 0;
}

static int do_read(char **args)
{
	size_t size = number(args[1], BLOCK_MAX);
	int64_t start = clock_mono_ns();
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		die(args[0]);
	do
		got = read(fd, block, size);
	while (got > 0);
	if (got < 0)
		die(args[0]);
	(void)close(fd);
	took(start);
	return 0;
}

static int do_write(char **args)
{
	size_t size = number(args[1], BLOCK_MAX);
	uint64_t left = number(args[2], UINT64_MAX);
	int64_t start = clock_mono_ns();
	int fd = open(args[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		die(args[0]);
	while (left) {
		size_t want = left < size ? left : size;

		if (write(fd, block, want) != (ssize_t)want)
			die(args[0]);
		left -= want;
	}
	if (close(fd) < 0)
		die(args[0]);
	took(start);
	return 0;
}

static const struct {
	const char *name;
	int args;
	int (*run)(char **args);
} verbs[] = {
	{ "edit", 2, do_edit },	  { "save", 2, do_save },
	{ "open", 1, do_open },	  { "read", 2, do_read },
	{ "write", 3, do_write },
};

int main(int argc, char **argv)
{
	memset(block, 'x', sizeof(block));
	for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(argv[1], verbs[i].name) == 0 &&
		    argc == verbs[i].args + 2)
			return verbs[i].run(argv + 2);
	(void)fprintf(stderr, "usage: see the head of fsops.c\n");
	return 2;
}
