/*
 * Deeds on paths. Each rolls its dice once, does the same on both sides, and
 * demands the same answer; then the same status of what it touched. Few names
 * are in use, so that deeds meet: names are taken, missing, of the wrong kind,
 * behind a symbolic link, or in a directory that moved.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/prop/fs/twin.h"

/* All but the last of these are UTF-8. */
static const char *const file_names[] = { "a", "b", "c", "d", "e", "g\xff" };
static const char *const dir_names[] = { "p", "q", "r" };

static const char *some_name(struct twin *t)
{
	size_t n = dice_below(&t->dice, 9);

	return n < 6 ? file_names[n] : dir_names[n - 6];
}

void twin_path(struct twin *t, char out[PATH_MAX])
{
	size_t depth = dice_below(&t->dice, 4);
	size_t at = 0;

	for (size_t i = 0; i < depth; i++)
		at += (size_t)snprintf(out + at, PATH_MAX - at, "%s/",
				       dir_names[dice_below(&t->dice, 3)]);
	(void)snprintf(out + at, PATH_MAX - at, "%s%s", some_name(t),
		       dice_one_in(&t->dice, 60) ? "/" : "");
}

static mode_t some_mode(struct twin *t)
{
	static const mode_t often[] = { 0755, 0644, 0600,  0777,
					0711, 0666, 02775, 01777 };

	if (dice_one_in(&t->dice, 10))
		return (mode_t)dice_below(&t->dice, 010000);
	return often[dice_below(&t->dice, 8)];
}

/* The inode at `path`, on the mount; 0: none. */
static uint64_t ino_at(struct twin *t, const char *path, int flags)
{
	struct stat st;

	if (fstatat(t->zone->top[MOUNT], path, &st, flags) < 0)
		return 0;
	return st.st_ino;
}

static void do_mkdir(struct twin *t)
{
	mode_t mode = some_mode(t);
	char path[PATH_MAX], full[PATH_MAX];
	struct pair p;

	twin_path(t, path);
	twin_say(t, "mkdir %s %o", path, mode);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(mkdirat(t->zone->top[s], path, mode));
	if (twin_agree(t, &p) && twin_resolve(t, path, full))
		twin_log_paths(t, "mkdir", full, "");
	twin_same_at(t, path);
}

static void do_mknod(struct twin *t)
{
	static const mode_t kinds[] = { S_IFREG, S_IFIFO, S_IFSOCK };
	mode_t mode = kinds[dice_below(&t->dice, 3)] | some_mode(t);
	char path[PATH_MAX], full[PATH_MAX];
	struct pair p;

	twin_path(t, path);
	twin_say(t, "mknod %s %o", path, mode);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(mknodat(t->zone->top[s], path, mode, 0));
	if (twin_agree(t, &p) && twin_resolve(t, path, full))
		twin_log_paths(t, "mknod", full, "");
	twin_same_at(t, path);
}

static void do_symlink(struct twin *t)
{
	char target[PATH_MAX], path[PATH_MAX], full[PATH_MAX];
	struct pair p;

	twin_path(t, target);
	twin_path(t, path);
	twin_say(t, "symlink %s -> %s", path, target);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(symlinkat(target, t->zone->top[s], path));
	if (twin_agree(t, &p) && twin_resolve(t, path, full))
		twin_log_paths(t, "symlink", full, target);
	twin_same_at(t, path);
}

static void do_readlink(struct twin *t)
{
	char path[PATH_MAX];
	struct pair p;

	twin_path(t, path);
	twin_say(t, "readlink %s", path);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(readlinkat(t->zone->top[s], path,
					      (char *)t->data[s], LEN_MAX));
	if (twin_agree(t, &p) &&
	    memcmp(t->data[PLAIN], t->data[MOUNT], (size_t)p.got[0]) != 0)
		twin_fail(t, "the link leads elsewhere");
}

/* unlink(2) or rmdir(2) */
static void do_remove(struct twin *t)
{
	int flags = dice_one_in(&t->dice, 3) ? AT_REMOVEDIR : 0;
	char path[PATH_MAX], full[PATH_MAX];
	struct pair p;
	bool known;

	twin_path(t, path);
	twin_say(t, "%s %s", flags ? "rmdir" : "unlink", path);
	known = twin_resolve(t, path, full);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(unlinkat(t->zone->top[s], path, flags));
	if (twin_agree(t, &p) && known)
		twin_log_paths(t, flags ? "rmdir" : "unlink", full, "");
	twin_same_at(t, path);
}

/* Two names of one file: rename(2) leaves both and does nothing. */
static bool same_file(struct twin *t, const char *a, const char *b)
{
	uint64_t ino = ino_at(t, a, AT_SYMLINK_NOFOLLOW);

	return ino && ino == ino_at(t, b, AT_SYMLINK_NOFOLLOW);
}

static void do_rename(struct twin *t)
{
	static const unsigned ways[] = {
		0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_EXCHANGE
	};
	unsigned way = ways[dice_below(&t->dice, 6)];
	char from[PATH_MAX], to[PATH_MAX];
	char full[PATH_MAX], full2[PATH_MAX];
	struct pair p;
	bool logged;

	twin_path(t, from);
	twin_path(t, to);
	twin_say(t, "rename %s -> %s flags %u", from, to, way);
	logged = !same_file(t, from, to) && twin_resolve(t, from, full) &&
		 twin_resolve(t, to, full2);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(renameat2(t->zone->top[s], from,
					     t->zone->top[s], to, way));
	if (twin_agree(t, &p) && logged)
		twin_log_paths(t,
			       way == RENAME_EXCHANGE ? "exchange" : "rename",
			       full, full2);
	twin_same_at(t, from);
	twin_same_at(t, to);
}

static void do_link(struct twin *t)
{
	int flags = dice_one_in(&t->dice, 2) ? AT_SYMLINK_FOLLOW : 0;
	char from[PATH_MAX], to[PATH_MAX], full[PATH_MAX];
	struct pair p;

	twin_path(t, from);
	twin_path(t, to);
	twin_say(t, "link %s -> %s flags %d", from, to, flags);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(linkat(t->zone->top[s], from,
					  t->zone->top[s], to, flags));
	if (twin_agree(t, &p) && twin_resolve(t, to, full))
		twin_log_paths(t, "link", "", full);
	twin_same_at(t, from);
	twin_same_at(t, to);
}

static void do_chmod(struct twin *t)
{
	mode_t mode = some_mode(t);
	char path[PATH_MAX];
	struct pair p;

	twin_path(t, path);
	twin_say(t, "chmod %s %o", path, mode);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(fchmodat(t->zone->top[s], path, mode, 0));
	if (twin_agree(t, &p))
		twin_log(t, "chmod", ino_at(t, path, 0), -1, -1);
	twin_same_at(t, path);
}

static void do_chown(struct twin *t)
{
	uid_t uid = dice_one_in(&t->dice, 2)
			    ? (uid_t)-1
			    : (uid_t)(60000 + dice_below(&t->dice, 4));
	gid_t gid = (gid_t)(61100 + dice_below(&t->dice, 3));
	int flags = dice_one_in(&t->dice, 2) ? AT_SYMLINK_NOFOLLOW : 0;
	char path[PATH_MAX];
	struct pair p;

	twin_path(t, path);
	twin_say(t, "chown %s %d:%d flags %d", path, (int)uid, (int)gid, flags);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(
			fchownat(t->zone->top[s], path, uid, gid, flags));
	if (twin_agree(t, &p))
		twin_log(t, "chown", ino_at(t, path, flags), -1, -1);
	twin_same_at(t, path);
}

static void do_utimens(struct twin *t)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)dice_below(&t->dice, LONG_AGO),
		  .tv_nsec = (long)dice_below(&t->dice, 1000000000) }
	};
	int flags = dice_one_in(&t->dice, 2) ? AT_SYMLINK_NOFOLLOW : 0;
	char path[PATH_MAX];
	struct pair p;

	if (dice_one_in(&t->dice, 5))
		times[1] = (struct timespec){ .tv_nsec = UTIME_NOW };
	twin_path(t, path);
	twin_say(t, "utimens %s %lld.%09ld flags %d", path,
		 (long long)times[1].tv_sec, times[1].tv_nsec, flags);
	for (int s = 0; s < SIDES; s++)
		p.got[s] =
			outcome(utimensat(t->zone->top[s], path, times, flags));
	if (twin_agree(t, &p))
		twin_log(t, "utimens", ino_at(t, path, flags), -1, -1);
	twin_same_at(t, path);
}

static void do_truncate(struct twin *t)
{
	off_t size = (off_t)dice_below(&t->dice, OFF_MAX);
	char path[PATH_MAX], full[SIDES][PATH_MAX + 64];
	struct pair p;

	twin_path(t, path);
	twin_say(t, "truncate %s %lld", path, (long long)size);
	for (int s = 0; s < SIDES; s++) {
		(void)snprintf(full[s], sizeof(full[s]), "%s/%s/%s", t->root[s],
			       t->zone->name, path);
		p.got[s] = outcome(truncate(full[s], size));
	}
	if (twin_agree(t, &p))
		twin_log(t, "truncate", ino_at(t, path, 0), -1, size);
	twin_same_at(t, path);
}

static void do_access(struct twin *t)
{
	int mode = (int)dice_below(&t->dice, 8);
	char path[PATH_MAX];
	struct pair p;

	twin_path(t, path);
	twin_say(t, "access %s %d", path, mode);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(faccessat(t->zone->top[s], path, mode, 0));
	(void)twin_agree(t, &p);
	twin_same_at(t, path);
}

#define XATTR_PATH ((size_t)2 * PATH_MAX)

/* Extended attributes have no call that takes a directory's descriptor. */
static void xattr_path(struct twin *t, int side, const char *path,
		       char out[XATTR_PATH])
{
	(void)snprintf(out, XATTR_PATH, "%s/%s/%s", t->root[side],
		       t->zone->name, path);
}

static void do_setxattr(struct twin *t)
{
	static const char *const names[] = { "user.a", "user.b", "user.c" };
	const char *name = names[dice_below(&t->dice, 3)];
	size_t len = dice_below(&t->dice, 300);
	int flags = (int)dice_below(&t->dice, 3); /* 0, CREATE, REPLACE */
	bool removes = dice_one_in(&t->dice, 3);
	char path[PATH_MAX], full[2 * PATH_MAX];
	struct pair p;

	twin_path(t, path);
	twin_say(t, "%s %s %s %zu flags %d",
		 removes ? "removexattr" : "setxattr", path, name, len, flags);
	dice_fill(&t->dice, t->data[0], len);
	for (int s = 0; s < SIDES; s++) {
		xattr_path(t, s, path, full);
		p.got[s] = outcome(
			removes ? removexattr(full, name)
				: setxattr(full, name, t->data[0], len, flags));
	}
	if (twin_agree(t, &p))
		twin_log(t, removes ? "removexattr" : "setxattr",
			 ino_at(t, path, 0), -1, -1);
}

/* The names in an attribute list come in any order: count its letters. */
static void do_listxattr(struct twin *t)
{
	char path[PATH_MAX], full[2 * PATH_MAX];
	unsigned sum[SIDES] = { 0 };
	struct pair p;

	twin_path(t, path);
	twin_say(t, "listxattr %s", path);
	for (int s = 0; s < SIDES; s++) {
		xattr_path(t, s, path, full);
		p.got[s] =
			outcome(listxattr(full, (char *)t->data[s], LEN_MAX));
		for (long long i = 0; i < p.got[s]; i++)
			sum[s] += (unsigned)t->data[s][i] * t->data[s][i];
	}
	if (twin_agree(t, &p) && sum[PLAIN] != sum[MOUNT])
		twin_fail(t, "other attributes");
}

static void do_getxattr(struct twin *t)
{
	size_t size =
		dice_one_in(&t->dice, 2) ? LEN_MAX : dice_below(&t->dice, 300);
	char path[PATH_MAX], full[2 * PATH_MAX];
	struct pair p;

	twin_path(t, path);
	twin_say(t, "getxattr %s size %zu", path, size);
	for (int s = 0; s < SIDES; s++) {
		xattr_path(t, s, path, full);
		p.got[s] = outcome(getxattr(full, "user.a", t->data[s], size));
	}
	if (twin_agree(t, &p) && size &&
	    memcmp(t->data[PLAIN], t->data[MOUNT], (size_t)p.got[0]) != 0)
		twin_fail(t, "another value");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The sorted names of a directory, "kind name" each, in `out`. */
static long long list(int top, const char *path, char *out, size_t size)
{
	char *names[64];
	size_t n = 0, at = 0;
	int fd = openat(top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir)
		return -errno;
	while (n < 64 && (e = readdir(dir))) {
		if (asprintf(&names[n], "%d %s", e->d_type, e->d_name) > 0)
			n++;
	}
	(void)closedir(dir);
	qsort(names, n, sizeof(*names), by_name);
	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		at += (size_t)snprintf(out + at, size - at, "%s\n", names[i]);
		free(names[i]);
	}
	return (long long)n;
}

static void do_list(struct twin *t)
{
	char path[PATH_MAX];
	struct pair p;

	twin_path(t, path);
	if (dice_one_in(&t->dice, 4))
		(void)snprintf(path, sizeof(path), ".");
	twin_say(t, "readdir %s", path);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = list(t->zone->top[s], path, (char *)t->data[s],
				LEN_MAX);
	if (twin_agree(t, &p) &&
	    strcmp((char *)t->data[PLAIN], (char *)t->data[MOUNT]) != 0)
		twin_fail(t, "listed\n%s, on the mount\n%s", t->data[PLAIN],
			  t->data[MOUNT]);
}

static void do_stat(struct twin *t)
{
	struct stat st[SIDES];
	char path[PATH_MAX];
	struct pair p;

	twin_path(t, path);
	twin_say(t, "stat %s", path);
	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(fstatat(t->zone->top[s], path, &st[s], 0));
	if (twin_agree(t, &p))
		twin_same_stat(t, st);
}

void twin_do_name(struct twin *t)
{
	static void (*const deeds[])(struct twin *) = {
		do_mkdir,    do_mkdir,	   do_mkdir,	do_mknod,  do_symlink,
		do_remove,   do_remove,	   do_remove,	do_rename, do_rename,
		do_rename,   do_link,	   do_link,	do_chmod,  do_chmod,
		do_chown,    do_utimens,   do_truncate, do_access, do_setxattr,
		do_setxattr, do_listxattr, do_getxattr, do_list,   do_list,
		do_stat,     do_stat,	   do_readlink,
	};

	deeds[dice_below(&t->dice, sizeof(deeds) / sizeof(*deeds))](t);
}
