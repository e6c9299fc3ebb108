/*
 * One file, used in every way a file can be, against a model in memory of its
 * bytes. Several descriptors and a lasting mapping are open on it at once, so
 * that bytes written in one way are read back in another; with --below the
 * file in the directory below is compared too.
 *
 *	fsx [--seed N] [--ops N] [--size BYTES] [--below PATH] FILE
 *
 * Exit 0: no difference. 1: a difference; the operations that led there are
 * printed. 2: the test could not run.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/prop/fs/dice.h"

#define WAYS	 3     /* descriptors on the file */
#define APPENDER 2     /* the one opened with O_APPEND */
#define STORY	 200   /* operations printed after a mismatch */
#define LINE	 96    /* bytes of one of them */
#define OP_MAX	 65536 /* bytes touched by one operation */

struct fsx {
	const char *path;
	const char *below; /* NULL: not compared */
	size_t max;	   /* the file never grows beyond this */
	uint64_t seed;
	uint64_t op; /* number of the present operation */
	struct dice dice;

	unsigned char *model;
	unsigned char *copy; /* room to read into, as large as the model */
	size_t size;	     /* the model's */

	int fds[WAYS];
	unsigned char *held; /* a mapping of all `max` bytes */
	char story[STORY][LINE];
};

__attribute__((noreturn, format(printf, 2, 3))) static void
fail(struct fsx *x, const char *format, ...)
{
	uint64_t first = x->op >= STORY ? x->op - STORY + 1 : 0;
	va_list ap;

	for (uint64_t n = first; n <= x->op; n++)
		(void)printf("%8llu %s\n", (unsigned long long)n,
			     x->story[n % STORY]);
	(void)printf("fsx: seed %llu, operation %llu: ",
		     (unsigned long long)x->seed, (unsigned long long)x->op);
	va_start(ap, format);
	(void)vprintf(format, ap);
	va_end(ap);
	(void)printf("\n");
	exit(1);
}

static void tell(struct fsx *x, const char *what, int way, size_t off,
		 size_t len)
{
	(void)snprintf(x->story[x->op % STORY], LINE,
		       "%-10s way %d  %#8zx .. %#8zx  (size %#zx)", what, way,
		       off, off + len, x->size);
}

static void demand(struct fsx *x, bool truth, const char *call)
{
	if (!truth)
		fail(x, "%s: %s", call, strerror(errno));
}

/* Compare `got`, read at `off` by `how`, with the model. */
static void compare(struct fsx *x, const unsigned char *got, size_t off,
		    size_t len, const char *how)
{
	for (size_t i = 0; i < len; i++) {
		if (got[i] != x->model[off + i])
			fail(x, "%s at %#zx: %02x, should be %02x", how,
			     off + i, got[i], x->model[off + i]);
	}
}

/* A place that is not beyond `limit`, often at the edges of pages. */
static size_t place(struct fsx *x, size_t limit)
{
	size_t off = dice_below(&x->dice, limit + 1);

	if (dice_one_in(&x->dice, 3))
		off &= ~(size_t)4095;
	return off;
}

static size_t length(struct fsx *x, size_t room)
{
	size_t most = room < OP_MAX ? room : OP_MAX;
	size_t len = dice_below(&x->dice, most + 1);

	if (dice_one_in(&x->dice, 3) && len > 4096)
		len &= ~(size_t)4095;
	if (dice_one_in(&x->dice, 4))
		len %= 100;
	return len;
}

static int some_way(struct fsx *x)
{
	return (int)dice_below(&x->dice, WAYS);
}

/* The model after bytes were put at `off`: a hole before them is zeros. */
static void grow(struct fsx *x, size_t end)
{
	if (end <= x->size)
		return;
	memset(x->model + x->size, 0, end - x->size);
	x->size = end;
}

static void do_read(struct fsx *x)
{
	size_t off = place(x, x->size), len = length(x, x->max - off);
	size_t want = off + len > x->size ? x->size - off : len;
	int way = some_way(x);
	ssize_t got;

	tell(x, "read", way, off, len);
	got = pread(x->fds[way], x->copy, len, (off_t)off);
	demand(x, got >= 0, "pread");
	if ((size_t)got != want)
		fail(x, "read of %#zx bytes: %#zx, should be %#zx", len,
		     (size_t)got, want);
	compare(x, x->copy, off, want, "read");
}

static void do_map_read(struct fsx *x)
{
	size_t off = place(x, x->size), len = length(x, x->size - off);
	size_t head = off & 4095;
	unsigned char *map = x->held + off;

	tell(x, "mapread", -1, off, len);
	if (!len)
		return;
	if (dice_one_in(&x->dice, 2)) {
		compare(x, map, off, len, "lasting mapping");
		return;
	}
	map = mmap(NULL, head + len, PROT_READ, MAP_SHARED, x->fds[some_way(x)],
		   (off_t)(off - head));
	demand(x, map != MAP_FAILED, "mmap");
	compare(x, map + head, off, len, "mapping");
	(void)munmap(map, head + len);
}

static void do_write(struct fsx *x)
{
	int way = some_way(x);
	size_t off = way == APPENDER ? x->size : place(x, x->max);
	size_t len = length(x, x->max - off);

	tell(x, way == APPENDER ? "append" : "write", way, off, len);
	dice_fill(&x->dice, x->copy, len);
	/* To an appender any offset means the end. */
	demand(x,
	       pwrite(x->fds[way], x->copy, len,
		      way == APPENDER ? 0 : (off_t)off) == (ssize_t)len,
	       "pwrite");
	if (!len)
		return;
	grow(x, off + len);
	memcpy(x->model + off, x->copy, len);
}

static void do_map_write(struct fsx *x)
{
	size_t off = place(x, x->size), len = length(x, x->size - off);
	size_t head = off & 4095;
	unsigned char *map = x->held + (off - head);
	bool fresh = dice_one_in(&x->dice, 2);

	tell(x, fresh ? "mapwrite" : "store", 0, off, len);
	if (!len)
		return;
	dice_fill(&x->dice, x->model + off, len);
	if (fresh)
		map = mmap(NULL, head + len, PROT_READ | PROT_WRITE, MAP_SHARED,
			   x->fds[0], (off_t)(off - head));
	demand(x, map != MAP_FAILED, "mmap");
	memcpy(map + head, x->model + off, len);
	/* munmap(2) alone must write the bytes back. */
	if (!fresh || dice_one_in(&x->dice, 2))
		demand(x, msync(map, head + len, MS_SYNC) == 0, "msync");
	if (fresh)
		demand(x, munmap(map, head + len) == 0, "munmap");
}

static void do_truncate(struct fsx *x)
{
	size_t size = dice_one_in(&x->dice, 8) ? 0 : place(x, x->max);
	bool by_name = dice_one_in(&x->dice, 2);
	int r;

	tell(x, by_name ? "truncate" : "ftruncate", 0, size, 0);
	r = by_name ? truncate(x->path, (off_t)size)
		    : ftruncate(x->fds[0], (off_t)size);
	demand(x, r == 0, "truncate");
	grow(x, size);
	x->size = size;
}

/* fallocate(2) in one of its modes; an unsupported mode is no failure. */
static bool allocate(struct fsx *x, const char *what, int mode, size_t off,
		     size_t len)
{
	int way = (int)dice_below(&x->dice, APPENDER);

	tell(x, what, way, off, len);
	if (!len)
		return false;
	if (fallocate(x->fds[way], mode, (off_t)off, (off_t)len) == 0)
		return true;
	demand(x, errno == EOPNOTSUPP, "fallocate");
	return false;
}

static void clear(struct fsx *x, size_t off, size_t end)
{
	if (end > x->size)
		end = x->size;
	if (off < end)
		memset(x->model + off, 0, end - off);
}

static void do_punch(struct fsx *x)
{
	size_t off = place(x, x->max), len = length(x, x->max - off);

	if (allocate(x, "punch", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		     off, len))
		clear(x, off, off + len);
}

static void do_zero(struct fsx *x)
{
	size_t off = place(x, x->max), len = length(x, x->max - off);
	bool keep = dice_one_in(&x->dice, 2);

	if (!allocate(x, keep ? "zero keep" : "zero",
		      FALLOC_FL_ZERO_RANGE | (keep ? FALLOC_FL_KEEP_SIZE : 0),
		      off, len))
		return;
	if (!keep)
		grow(x, off + len);
	clear(x, off, off + len);
}

static void do_allocate(struct fsx *x)
{
	size_t off = place(x, x->max), len = length(x, x->max - off);
	bool keep = dice_one_in(&x->dice, 2);

	if (allocate(x, keep ? "alloc keep" : "alloc",
		     keep ? FALLOC_FL_KEEP_SIZE : 0, off, len) &&
	    !keep)
		grow(x, off + len);
}

static void do_copy(struct fsx *x)
{
	size_t from = place(x, x->size), to = place(x, x->max);
	size_t len = length(x, x->max - (from > to ? from : to));
	size_t gap = from > to ? from - to : to - from;
	off_t in = (off_t)from, out = (off_t)to;
	ssize_t copied;

	/* Ranges that overlap are refused. */
	if (len > gap)
		len = gap;
	tell(x, "copy", 1, from, len);
	copied = copy_file_range(x->fds[0], &in, x->fds[1], &out, len, 0);
	demand(x, copied >= 0, "copy_file_range");
	if ((size_t)copied > len || from + (size_t)copied > x->size)
		fail(x, "copied %#zx of %#zx bytes", (size_t)copied, len);
	if (copied) {
		grow(x, to + (size_t)copied);
		memcpy(x->model + to, x->model + from, (size_t)copied);
	}
}

/* A reported hole reads as zeros; all else must be data. */
static void do_seek(struct fsx *x)
{
	size_t off = place(x, x->size);
	int fd = x->fds[(int)dice_below(&x->dice, APPENDER)];
	off_t data, hole;
	size_t end;

	tell(x, "seek", 0, off, 0);
	data = lseek(fd, (off_t)off, SEEK_DATA);
	demand(x, data >= 0 || errno == ENXIO, "lseek");
	if (data > (off_t)x->size)
		fail(x, "data at %#llx, beyond the end",
		     (unsigned long long)data);
	end = data < 0 ? x->size : (size_t)data;
	for (size_t i = off; i < end; i++) {
		if (x->model[i])
			fail(x, "SEEK_DATA skipped data at %#zx", i);
	}
	hole = lseek(fd, (off_t)off, SEEK_HOLE);
	if (hole < 0 ? errno != ENXIO || off < x->size
		     : (size_t)hole > x->size || (size_t)hole < off)
		fail(x, "hole after %#zx: %lld", off, (long long)hole);
}

static void do_sync(struct fsx *x)
{
	tell(x, "sync", 0, 0, x->size);
	demand(x, fsync(x->fds[0]) == 0, "fsync");
	demand(x, fdatasync(x->fds[1]) == 0, "fdatasync");
	if (dice_one_in(&x->dice, 2))
		(void)posix_fadvise(x->fds[0], 0, 0, POSIX_FADV_DONTNEED);
}

static void open_way(struct fsx *x, int way)
{
	int flags = O_RDWR | O_CLOEXEC | (way == APPENDER ? O_APPEND : 0);

	x->fds[way] = open(x->path, flags);
	demand(x, x->fds[way] >= 0, "open");
}

static void map_all(struct fsx *x)
{
	x->held = mmap(NULL, x->max, PROT_READ | PROT_WRITE, MAP_SHARED,
		       x->fds[1], 0);
	demand(x, x->held != MAP_FAILED, "mmap");
}

static void do_reopen(struct fsx *x)
{
	int way = some_way(x);

	tell(x, "reopen", way, 0, x->size);
	demand(x, close(x->fds[way]) == 0, "close");
	open_way(x, way);
	if (dice_one_in(&x->dice, 3)) {
		demand(x, munmap(x->held, x->max) == 0, "munmap");
		map_all(x);
	}
}

static void check_size(struct fsx *x)
{
	struct stat by_name, by_fd;

	demand(x, stat(x->path, &by_name) == 0, "stat");
	demand(x, fstat(x->fds[0], &by_fd) == 0, "fstat");
	if ((size_t)by_name.st_size != x->size ||
	    (size_t)by_fd.st_size != x->size)
		fail(x, "size %#llx by name, %#llx by descriptor, not %#zx",
		     (unsigned long long)by_name.st_size,
		     (unsigned long long)by_fd.st_size, x->size);
}

/* The whole file, by a new descriptor. */
static void check_all(struct fsx *x, const char *path, const char *how)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;
	size_t at = 0;

	demand(x, fd >= 0, "open");
	while ((got = read(fd, x->copy + at, x->max + 1 - at)) > 0)
		at += (size_t)got;
	demand(x, got == 0, "read");
	(void)close(fd);
	if (at != x->size)
		fail(x, "%s: %#zx bytes, should be %#zx", how, at, x->size);
	compare(x, x->copy, 0, at, how);
}

static void step(struct fsx *x)
{
	static void (*const deeds[])(struct fsx *) = {
		do_read,      do_read,	   do_read,  do_map_read, do_map_read,
		do_write,     do_write,	   do_write, do_write,	  do_map_write,
		do_map_write, do_truncate, do_punch, do_zero,	  do_allocate,
		do_copy,      do_copy,	   do_seek,  do_sync,	  do_reopen,
	};

	deeds[dice_below(&x->dice, sizeof(deeds) / sizeof(*deeds))](x);
	check_size(x);
	if (dice_one_in(&x->dice, 50))
		check_all(x, x->path, "whole file");
	if (x->below && dice_one_in(&x->dice, 10))
		check_all(x, x->below, "file below");
}

static void run(struct fsx *x, uint64_t ops)
{
	int fd = open(x->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	demand(x, fd >= 0, "open");
	(void)close(fd);
	for (int way = 0; way < WAYS; way++)
		open_way(x, way);
	map_all(x);
	for (x->op = 0; x->op < ops; x->op++)
		step(x);
	x->op--;
	check_all(x, x->path, "whole file");
	demand(x, munmap(x->held, x->max) == 0, "munmap");
	for (int way = 0; way < WAYS; way++)
		demand(x, close(x->fds[way]) == 0, "close");
	check_all(x, x->below ? x->below : x->path, "file after closing");
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (!*text || *end) {
		(void)fprintf(stderr, "fsx: \"%s\" is not a number\n", text);
		exit(2);
	}
	return n;
}

static const struct option options[] = {
	{ "seed", required_argument, NULL, 's' },
	{ "ops", required_argument, NULL, 'n' },
	{ "size", required_argument, NULL, 'l' },
	{ "below", required_argument, NULL, 'b' },
	{ 0 },
};

int main(int argc, char **argv)
{
	struct fsx x = { .max = 256 << 10, .seed = (uint64_t)time(NULL) };
	uint64_t ops = 1000;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			x.seed = number(optarg);
			break;
		case 'n':
			ops = number(optarg);
			break;
		case 'l':
			x.max = number(optarg);
			break;
		case 'b':
			x.below = optarg;
			break;
		default:
			return 2;
		}
	}
	if (optind + 1 != argc || !ops || !x.max)
		return 2;
	x.path = argv[optind];
	x.dice.state = x.seed;
	x.model = calloc(1, x.max);
	x.copy = malloc(x.max + 1);
	if (!x.model || !x.copy)
		return 2;
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)printf("fsx: seed %llu, %llu operations\n",
		     (unsigned long long)x.seed, (unsigned long long)ops);
	run(&x, ops);
	free(x.model);
	free(x.copy);
	return 0;
}
