/*
 * Deeds that all processes do at once, without a lock, on the same files and
 * in the same directory. They are chosen so that their order does not matter:
 * each process has bytes of its own in "grows" and "fixed" (neighbours share
 * pages), appends whole lines to "log", and has names of its own in "names".
 *
 * Mappings are made of "fixed" alone, whose size does not change. While a
 * FUSE file is made longer inside its last page by write(2), and that page is
 * written back for another process's mapping, Linux (6.18) zeroes the new bytes
 * in its cache: every FUSE file system has this problem.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/prop/fs/twin.h"

/* No multiple of a page, so that pages are shared. */
#define SHARE  5000
#define RECORD 32

static int make_file(int top, const char *name, off_t size)
{
	int fd = openat(top, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	int r;

	if (fd < 0)
		return -errno;
	r = ftruncate(fd, size) < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

int twin_crowd_make(const char *root, int procs)
{
	char path[PATH_MAX];
	int top, r;

	(void)snprintf(path, sizeof(path), "%s/crowd", root);
	if (mkdir(path, 0777) < 0)
		return -errno;
	top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	r = make_file(top, "log", 0);
	if (r == 0)
		r = make_file(top, "grows", 0);
	if (r == 0)
		r = make_file(top, "fixed", (off_t)(procs + 1) * SHARE);
	if (r == 0 && mkdirat(top, "names", 0777) < 0)
		r = -errno;
	(void)close(top);
	return r;
}

static int open_crowd(struct twin *t, int side, const char *name, int flags)
{
	int fd = openat(t->crowd[side], name, flags | O_CLOEXEC);

	if (fd < 0)
		twin_fail(t, "crowd/%s: %s", name, strerror(errno));
	return fd;
}

static uint64_t ino_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

static void do_append(struct twin *t)
{
	char record[RECORD + 1];
	struct pair p;

	twin_say(t, "append");
	(void)snprintf(record, sizeof(record), "%10d %19llu\n", t->number,
		       (unsigned long long)t->op);
	for (int s = 0; s < SIDES; s++) {
		int fd = open_crowd(t, s, "log", O_WRONLY | O_APPEND);
		off_t end;

		p.got[s] = outcome(write(fd, record, RECORD));
		end = lseek(fd, 0, SEEK_CUR);
		if (s == MOUNT)
			twin_log(t, "write", ino_of(fd), end - RECORD, RECORD);
		(void)close(fd);
	}
	if (!twin_agree(t, &p) || p.got[MOUNT] != RECORD)
		twin_fail(t, "appended %lld", p.got[MOUNT]);
}

static off_t share_of(const struct twin *t)
{
	return (off_t)t->number * SHARE;
}

static void do_write(struct twin *t)
{
	bool grows = dice_one_in(&t->dice, 2);
	size_t at = dice_below(&t->dice, SHARE);
	size_t len = dice_below(&t->dice, SHARE - at) + 1;
	off_t off = share_of(t) + (off_t)at;
	struct pair p;

	twin_say(t, "write crowd %d %lld %zu", grows, (long long)off, len);
	dice_fill(&t->dice, t->data[0], len);
	for (int s = 0; s < SIDES; s++) {
		int fd = open_crowd(t, s, grows ? "grows" : "fixed", O_WRONLY);

		p.got[s] = outcome(pwrite(fd, t->data[0], len, off));
		if (s == MOUNT)
			twin_log(t, "write", ino_of(fd), off, (long long)len);
		(void)close(fd);
	}
	(void)twin_agree(t, &p);
	if (grows && at + len > t->grown)
		t->grown = at + len;
}

/* Where my bytes on the mount begin to differ from the plain side's. */
static void fail_share(struct twin *t, size_t len)
{
	size_t first = 0, last = len - 1;

	while (t->data[PLAIN][first] == t->data[MOUNT][first])
		first++;
	while (t->data[PLAIN][last] == t->data[MOUNT][last])
		last--;
	twin_fail(t,
		  "my share %#llx .. %#llx differs in %#llx .. %#llx: "
		  "%02x.. and %02x..",
		  (long long)share_of(t), (long long)share_of(t) + SHARE,
		  (long long)share_of(t) + (long long)first,
		  (long long)share_of(t) + (long long)last + 1,
		  t->data[PLAIN][first], t->data[MOUNT][first]);
}

static void do_read(struct twin *t)
{
	bool grows = dice_one_in(&t->dice, 2);
	/* As far as I wrote myself: how much longer it is depends on others. */
	size_t len = grows ? t->grown : SHARE;
	struct pair p;

	twin_say(t, "read crowd %d %zu", grows, len);
	for (int s = 0; s < SIDES; s++) {
		int fd = open_crowd(t, s, grows ? "grows" : "fixed", O_RDONLY);

		p.got[s] = outcome(pread(fd, t->data[s], len, share_of(t)));
		(void)close(fd);
	}
	if (twin_agree(t, &p) &&
	    memcmp(t->data[PLAIN], t->data[MOUNT], len) != 0)
		fail_share(t, len);
}

/* A page that others write to as well, and stores to my own bytes in it. */
static void do_map(struct twin *t)
{
	off_t page = (share_of(t) + 4095) & ~(off_t)4095;
	struct pair p;

	twin_say(t, "store crowd %lld", (long long)page);
	dice_fill(&t->dice, t->data[0], 64);
	for (int s = 0; s < SIDES; s++) {
		int fd = open_crowd(t, s, "fixed", O_RDWR);
		unsigned char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_SHARED, fd, page);

		if (map == MAP_FAILED)
			twin_fail(t, "mmap: %s", strerror(errno));
		memcpy(map, t->data[0], 64);
		p.got[s] = outcome(munmap(map, 4096));
		if (s == MOUNT)
			twin_log(t, "mmap", ino_of(fd), -1, -1);
		(void)close(fd);
	}
	(void)twin_agree(t, &p);
}

/* Make, move and remove a name of one's own, in one step or another. */
static void do_name(struct twin *t)
{
	static const char *const ops[] = { "mkdir", "symlink", "rename",
					   "unlink", "rmdir" };
	size_t deed = dice_below(&t->dice, 5);
	char a[64], b[64], full[80], full2[80];
	struct pair p = { { 0 } };

	(void)snprintf(a, sizeof(a), "names/%d-%d", t->number,
		       (int)dice_below(&t->dice, 5));
	(void)snprintf(b, sizeof(b), "names/%d-%d", t->number,
		       (int)dice_below(&t->dice, 5));
	(void)snprintf(full, sizeof(full), "crowd/%s", a);
	(void)snprintf(full2, sizeof(full2), "crowd/%s", b);
	twin_say(t, "crowd %s %s %s", ops[deed], a, b);
	for (int s = 0; s < SIDES; s++) {
		int top = t->crowd[s];
		int r = deed == 0   ? mkdirat(top, a, 0755)
			: deed == 1 ? symlinkat(full2, top, a)
			: deed == 2 ? renameat(top, a, top, b)
			: deed == 3 ? unlinkat(top, a, 0)
				    : unlinkat(top, a, AT_REMOVEDIR);

		p.got[s] = outcome(r);
	}
	/* A rename to the same name is no change and not journaled. */
	if (twin_agree(t, &p) && !(deed == 2 && strcmp(a, b) == 0))
		twin_log_paths(t, ops[deed], full,
			       deed == 1 || deed == 2 ? full2 : "");
}

void twin_do_crowd(struct twin *t)
{
	static void (*const deeds[])(struct twin *) = {
		do_append, do_write, do_read, do_map, do_name, do_name,
	};

	deeds[dice_below(&t->dice, sizeof(deeds) / sizeof(*deeds))](t);
}
