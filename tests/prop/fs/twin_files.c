/*
 * Deeds on open files. A process keeps a few pairs open, one descriptor per
 * side, while names come and go: many of these files have no name any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/prop/fs/twin.h"

/* An open pair of the present zone, NULL: none. */
static struct slot *some_slot(struct twin *t)
{
	size_t first = dice_below(&t->dice, SLOTS);

	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &t->slots[(first + i) % SLOTS];

		if (slot->fd[PLAIN] >= 0 && slot->zone == t->zone)
			return slot;
	}
	return NULL;
}

static void close_slot(struct twin *t, struct slot *slot)
{
	struct pair p;

	if (slot->fd[PLAIN] < 0)
		return;
	for (int s = 0; s < SIDES; s++) {
		p.got[s] = outcome(close(slot->fd[s]));
		slot->fd[s] = -1;
	}
	(void)twin_agree(t, &p);
}

void twin_close_slots(struct twin *t)
{
	for (size_t i = 0; i < SLOTS; i++)
		close_slot(t, &t->slots[i]);
}

static void check_slot(struct twin *t, const struct slot *slot)
{
	struct stat st[SIDES];
	struct pair p;

	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(fstat(slot->fd[s], &st[s]));
	if (twin_agree(t, &p))
		twin_same_stat(t, st);
}

static uint64_t ino_of(const struct slot *slot)
{
	struct stat st;

	return fstat(slot->fd[MOUNT], &st) < 0 ? 0 : st.st_ino;
}

/* Where the descriptor's file is, as a path relative to the root. */
static bool path_of(struct twin *t, int fd, char out[PATH_MAX])
{
	char link[64];
	size_t root = strlen(t->root[PLAIN]) + 1;
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, out, PATH_MAX - 1);
	if (len <= (ssize_t)root)
		return false;
	out[len] = '\0';
	memmove(out, out + root, (size_t)len - root + 1);
	return true;
}

static void log_open(struct twin *t, const struct slot *slot, bool existed)
{
	char path[PATH_MAX];
	struct stat st;

	if (fstat(slot->fd[MOUNT], &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (!existed && path_of(t, slot->fd[PLAIN], path))
		twin_log_paths(t, "create", path, "");
	else if (slot->flags & O_TRUNC)
		twin_log(t, "truncate", st.st_ino, -1, 0);
}

static int some_flags(struct twin *t)
{
	static const int access[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR,
				      O_RDWR };
	static const int more[] = { O_TRUNC, O_APPEND, O_EXCL, O_NOFOLLOW,
				    O_DIRECTORY };
	/* Opening a FIFO must not block. */
	int flags = access[dice_below(&t->dice, 5)] | O_NONBLOCK | O_CLOEXEC;

	if (!dice_one_in(&t->dice, 3))
		flags |= O_CREAT;
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		if (dice_one_in(&t->dice, 6))
			flags |= more[i];
	}
	/* Without O_CREAT the result of O_EXCL is undefined. */
	return flags & O_CREAT ? flags & ~O_DIRECTORY : flags & ~O_EXCL;
}

static void do_open(struct twin *t)
{
	struct slot *slot = &t->slots[dice_below(&t->dice, SLOTS)];
	int flags = some_flags(t);
	mode_t mode = dice_one_in(&t->dice, 8) ? 0444 : 0664;
	char path[PATH_MAX];
	struct stat st;
	struct pair p;
	bool existed;

	close_slot(t, slot);
	twin_path(t, path);
	twin_say(t, "open %s flags %#o", path, flags);
	existed = fstatat(t->zone->top[PLAIN], path, &st, 0) == 0;
	for (int s = 0; s < SIDES; s++) {
		slot->fd[s] = openat(t->zone->top[s], path, flags, mode);
		p.got[s] = slot->fd[s] < 0 ? -errno : 0;
	}
	slot->zone = t->zone;
	slot->flags = flags;
	if (twin_agree(t, &p)) {
		log_open(t, slot, existed);
		check_slot(t, slot);
	}
	twin_same_at(t, path);
}

/* A file without a name, which may get one at once. */
static void do_tmpfile(struct twin *t)
{
	struct slot *slot = &t->slots[dice_below(&t->dice, SLOTS)];
	char path[PATH_MAX], full[PATH_MAX], link[64];
	struct pair p;

	if (!t->tmpfile)
		return;
	close_slot(t, slot);
	twin_say(t, "tmpfile");
	for (int s = 0; s < SIDES; s++) {
		slot->fd[s] = openat(t->zone->top[s], ".",
				     O_TMPFILE | O_RDWR | O_CLOEXEC, 0640);
		p.got[s] = slot->fd[s] < 0 ? -errno : 0;
	}
	slot->zone = t->zone;
	slot->flags = O_RDWR;
	if (!twin_agree(t, &p))
		return;
	twin_log_paths(t, "tmpfile", t->zone->name, "");
	check_slot(t, slot);
	if (dice_one_in(&t->dice, 2))
		return;
	twin_path(t, path);
	twin_say(t, "link the nameless as %s", path);
	for (int s = 0; s < SIDES; s++) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d",
			       slot->fd[s]);
		p.got[s] = outcome(linkat(AT_FDCWD, link, t->zone->top[s], path,
					  AT_SYMLINK_FOLLOW));
	}
	if (twin_agree(t, &p) && twin_resolve(t, path, full))
		twin_log_paths(t, "link", "", full);
	twin_same_at(t, path);
}

static void do_close(struct twin *t, struct slot *slot)
{
	twin_say(t, "close %d", slot->fd[PLAIN]);
	close_slot(t, slot);
}

static void do_write(struct twin *t, struct slot *slot)
{
	off_t off = (off_t)dice_below(&t->dice, OFF_MAX);
	size_t len = dice_below(&t->dice, LEN_MAX);
	struct pair p;
	struct stat st;

	if (dice_one_in(&t->dice, 3))
		len %= 200;
	twin_say(t, "write fd %d %lld %zu", slot->fd[PLAIN], (long long)off,
		 len);
	dice_fill(&t->dice, t->data[0], len);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(pwrite(slot->fd[s], t->data[0], len, off));
	if (twin_agree(t, &p) && p.got[MOUNT] > 0 &&
	    fstat(slot->fd[MOUNT], &st) == 0) {
		if (slot->flags & O_APPEND)
			off = st.st_size - p.got[MOUNT];
		twin_log(t, "write", st.st_ino, off, p.got[MOUNT]);
	}
	check_slot(t, slot);
}

static void do_read(struct twin *t, struct slot *slot)
{
	off_t off = (off_t)dice_below(&t->dice, OFF_MAX);
	size_t len = dice_below(&t->dice, LEN_MAX);
	struct pair p;

	twin_say(t, "read fd %d %lld %zu", slot->fd[PLAIN], (long long)off,
		 len);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(pread(slot->fd[s], t->data[s], len, off));
	if (twin_agree(t, &p) &&
	    memcmp(t->data[PLAIN], t->data[MOUNT], (size_t)p.got[0]) != 0)
		twin_fail(t, "other bytes");
}

static void do_ftruncate(struct twin *t, struct slot *slot)
{
	off_t size = (off_t)dice_below(&t->dice, OFF_MAX);
	struct pair p;

	twin_say(t, "ftruncate fd %d %lld", slot->fd[PLAIN], (long long)size);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(ftruncate(slot->fd[s], size));
	if (twin_agree(t, &p))
		twin_log(t, "truncate", ino_of(slot), -1, size);
	check_slot(t, slot);
}

static void do_fallocate(struct twin *t, struct slot *slot)
{
	static const int modes[] = {
		0,
		FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE,
		FALLOC_FL_ZERO_RANGE,
		FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
	};
	int mode = modes[dice_below(&t->dice, 5)];
	off_t off = (off_t)dice_below(&t->dice, OFF_MAX);
	off_t len = (off_t)dice_below(&t->dice, LEN_MAX);
	struct pair p;

	twin_say(t, "fallocate fd %d mode %d %lld %lld", slot->fd[PLAIN], mode,
		 (long long)off, (long long)len);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(fallocate(slot->fd[s], mode, off, len));
	if (twin_agree(t, &p))
		twin_log(t, "fallocate", ino_of(slot), off, len);
	check_slot(t, slot);
}

static void do_copy(struct twin *t, struct slot *slot)
{
	struct slot *from = some_slot(t);
	off_t off_in = (off_t)dice_below(&t->dice, OFF_MAX);
	off_t off_out = (off_t)dice_below(&t->dice, OFF_MAX);
	size_t len = dice_below(&t->dice, LEN_MAX);
	struct pair p;

	if (!from)
		return;
	twin_say(t, "copy fd %d %lld -> fd %d %lld %zu", from->fd[PLAIN],
		 (long long)off_in, slot->fd[PLAIN], (long long)off_out, len);
	for (int s = 0; s < SIDES; s++) {
		off_t in = off_in, out = off_out;

		p.got[s] = outcome(copy_file_range(from->fd[s], &in,
						   slot->fd[s], &out, len, 0));
	}
	if (twin_agree(t, &p) && p.got[MOUNT] > 0)
		twin_log(t, "copy", ino_of(slot), off_out, p.got[MOUNT]);
	check_slot(t, slot);
}

/* Store through a mapping, if the file is one and large enough. */
static void do_map(struct twin *t, struct slot *slot)
{
	off_t page = (off_t)dice_below(&t->dice, OFF_MAX) & ~4095;
	size_t at = dice_below(&t->dice, 4000), len = 96;
	bool sync = dice_one_in(&t->dice, 2);
	struct stat st;
	struct pair p;

	if ((slot->flags & O_ACCMODE) != O_RDWR ||
	    fstat(slot->fd[PLAIN], &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size < page + (off_t)(at + len))
		return;
	/*
	 * A store keeps set-id bits, but its write-back is a write(2) below,
	 * by an ordinary user if the mount is not root's.
	 */
	if (st.st_mode & (S_ISUID | S_ISGID) && !t->privileged)
		return;
	twin_say(t, "store fd %d %lld %zu sync %d", slot->fd[PLAIN],
		 (long long)page + (long long)at, len, sync);
	dice_fill(&t->dice, t->data[0], len);
	for (int s = 0; s < SIDES; s++) {
		unsigned char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_SHARED, slot->fd[s], page);

		p.got[s] = map == MAP_FAILED ? -errno : 0;
		if (map == MAP_FAILED)
			continue;
		memcpy(map + at, t->data[0], len);
		if (sync)
			p.got[s] = outcome(msync(map, 4096, MS_SYNC));
		(void)munmap(map, 4096);
	}
	if (twin_agree(t, &p))
		twin_log(t, "mmap", ino_of(slot), -1, -1);
	check_slot(t, slot);
}

/*
 * Which ranges are holes depends on the caches: the answers may differ, but a
 * reported hole must read as zeros.
 */
static void do_seek(struct twin *t, struct slot *slot)
{
	off_t off = (off_t)dice_below(&t->dice, OFF_MAX);
	off_t data = lseek(slot->fd[MOUNT], off, SEEK_DATA);
	int error = data < 0 ? errno : 0;
	size_t len = data < 0 ? LEN_MAX : (size_t)(data - off);
	ssize_t got;

	twin_say(t, "seek fd %d %lld: %lld", slot->fd[PLAIN], (long long)off,
		 (long long)data);
	if ((data < 0 && error != ENXIO) || slot->flags & O_WRONLY)
		return;
	if (len > LEN_MAX)
		len = LEN_MAX;
	got = pread(slot->fd[PLAIN], t->data[0], len, off);
	for (ssize_t i = 0; i < got; i++) {
		if (t->data[0][i])
			twin_fail(t, "a hole over data at %lld",
				  (long long)off + (long long)i);
	}
}

static void do_fchmod(struct twin *t, struct slot *slot)
{
	mode_t mode = (mode_t)dice_below(&t->dice, 01000) | 0600;
	struct pair p;

	twin_say(t, "fchmod fd %d %o", slot->fd[PLAIN], mode);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(fchmod(slot->fd[s], mode));
	if (twin_agree(t, &p))
		twin_log(t, "chmod", ino_of(slot), -1, -1);
	check_slot(t, slot);
}

static void do_sync(struct twin *t, struct slot *slot)
{
	struct pair p;

	/* Now and then: it costs milliseconds. */
	if (!dice_one_in(&t->dice, 8))
		return;
	twin_say(t, "fdatasync fd %d", slot->fd[PLAIN]);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(fdatasync(slot->fd[s]));
	(void)twin_agree(t, &p);
}

void twin_do_file(struct twin *t)
{
	static void (*const deeds[])(struct twin *, struct slot *) = {
		do_close,     do_write,	    do_write,	  do_write,
		do_write,     do_write,	    do_read,	  do_read,
		do_read,      do_read,	    do_ftruncate, do_ftruncate,
		do_fallocate, do_fallocate, do_copy,	  do_copy,
		do_map,	      do_map,	    do_seek,	  do_fchmod,
		do_sync,
	};
	struct slot *slot = some_slot(t);

	if (dice_one_in(&t->dice, 30))
		do_tmpfile(t);
	else if (!slot || dice_one_in(&t->dice, 5))
		do_open(t);
	else
		deeds[dice_below(&t->dice, sizeof(deeds) / sizeof(*deeds))](
			t, slot);
}
