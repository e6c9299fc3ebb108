/*
 * inotify reports our own changes too, and does not say who made them. So an
 * event only causes a check: the name in it is compared with what the kernel
 * has cached, and if they agree nothing happens. Our own changes agree by
 * then, since a handler updates the table before it replies.
 *
 * The check comes WATCH_SETTLE_MS after the first event: a busy build wakes
 * the thread ten times a second, not ten thousand, and events of one file are
 * merged. When the event queue overflows, every name is checked.
 *
 * Stores into a mapping raise no event. The next open() compares stamps
 * (pages_good()).
 */
#include "fs/node/watch.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "fs/node/fs.h"
#include "fs/node/pages.h"
#include "graph/base/cleanup.h"

#define EVENTS                                                             \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | \
	 IN_ATTRIB | IN_EXCL_UNLINK | IN_ONLYDIR)

struct watch {
	struct fs *fs;
	pthread_t thread;
	int inotify_fd; /* -1: not following changes */
	int wake_fd;
	atomic_bool stop;
	atomic_bool check_open; /* open files are to be checked once */
	atomic_bool polling;	/* and every WATCH_SWEEP_MS */
	uint64_t relisted;	/* the thread's: see invalidate_listing() */

	atomic_ullong dirs, refused, overflows, invalidations;
};

static void count(atomic_ullong *what)
{
	atomic_fetch_add_explicit(what, 1, memory_order_relaxed);
}

/* Has this thread a working directory of its own? */
static bool has_own_cwd(void)
{
	static _Thread_local enum { UNKNOWN, NO, YES } own;

	if (own == UNKNOWN)
		own = unshare(CLONE_FS) == 0 ? YES : NO;
	return own == YES;
}

/*
 * inotify takes a path only. fchdir() and "." take a quarter of the time of
 * the descriptor's path in /proc.
 */
static int add_watch(struct watch *w, struct inode *i)
{
	CLEANUP(hold_end) struct hold dir = HOLD_NONE;
	struct fs_fd_name name;
	int wd;

	if (hold_begin(w->fs->inodes, i, &dir) < 0)
		return -1;
	if (has_own_cwd() && fchdir(dir.fd) == 0) {
		wd = inotify_add_watch(w->inotify_fd, ".", EVENTS);
		/* As a working directory it would keep its mount busy. */
		if (chdir("/") == 0)
			return wd;
	}
	fs_fd_name(dir.fd, &name);
	return inotify_add_watch(w->inotify_fd, name.path, EVENTS);
}

void watch_directory(struct watch *w, struct inode *i)
{
	int wd;

	assert(S_ISDIR(i->type));
	if (w->inotify_fd < 0)
		return;
	wd = add_watch(w, i);
	if (wd < 0) {
		count(&w->refused);
		watch_poll_open(w);
		return;
	}
	inodes_set_watch(w->fs->inodes, i, wd);
	count(&w->dirs);
}

bool watch_incomplete(const struct watch *w)
{
	return w->inotify_fd < 0 || atomic_load(&w->refused) > 0;
}

static void wake(struct watch *w)
{
	uint64_t one = 1;
	ssize_t put = write(w->wake_fd, &one, sizeof(one));

	/* Fails only when the thread has been woken already. */
	(void)put;
}

void watch_check_open(struct watch *w)
{
	if (w && !atomic_exchange(&w->check_open, true))
		wake(w);
}

void watch_poll_open(struct watch *w)
{
	if (w && !atomic_load(&w->polling))
		watch_check_open(w);
}

/* The kernel drops attributes and content of `i`. */
static void invalidate_inode(struct watch *w, struct inode *i)
{
	struct fs *fs = w->fs;

	(void)fuse_lowlevel_notify_inval_inode(fs->session, fs_ino(fs, i), 0,
					       0);
	count(&w->invalidations);
}

static void invalidate_name(struct watch *w, struct inode *dir,
			    const char *name)
{
	struct fs *fs = w->fs;

	(void)fuse_lowlevel_notify_inval_entry(fs->session, fs_ino(fs, dir),
					       name, strlen(name));
	count(&w->invalidations);
}

/*
 * Once for all events that were read together: a listing read after that shows
 * all of their changes. (A removal through the mount has an event too, and
 * cannot be distinguished.)
 */
static void invalidate_listing(struct watch *w, struct inode *dir)
{
	if (w->relisted == dir->id)
		return;
	w->relisted = dir->id;
	invalidate_inode(w, dir);
}

/* Is the kernel's cache of a known file up to date? */
static void check_inode(struct watch *w, struct inode *i)
{
	if (pages_check(w->fs, i))
		count(&w->invalidations);
}

static bool is_there(struct watch *w, struct inode *dir, const char *name,
		     struct stat *ret)
{
	CLEANUP(hold_end) struct hold h = HOLD_NONE;

	return hold_begin(w->fs->inodes, dir, &h) == 0 &&
	       fstatat(h.fd, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * `name` is file `st`, which may be known by another name: a file with several
 * names, or a directory that was moved here outside the mount. Processes may
 * work in that directory without a lookup, so the table gets its new name.
 */
static void check_other_names(struct watch *w, struct inode *dir,
			      const char *name, const struct stat *st)
{
	struct inodes *t = w->fs->inodes;
	struct inode *i = inodes_find_file(t, st);
	struct stat now;

	if (!i)
		return;
	check_inode(w, i);
	if (S_ISDIR(i->type)) {
		inodes_add_name(t, i, dir, name);
		/* It may have been renamed through the mount just now. */
		if (!is_there(w, dir, name, &now) || now.st_ino != st->st_ino)
			inodes_drop_name_of(t, i, dir, name);
	}
	inodes_unref(t, i);
}

static void check_name(struct watch *w, struct inode *dir, const char *name)
{
	struct fs *fs = w->fs;
	struct inode *i = inodes_find(fs->inodes, dir, name);
	struct stat st;
	bool there = is_there(w, dir, name, &st);

	if (i && there && st.st_ino == i->key.ino && st.st_dev == i->key.dev) {
		check_inode(w, i);
		inodes_unref(fs->inodes, i);
		return;
	}
	if (i)
		inodes_drop_name_of(fs->inodes, i, dir, name);
	if (there && (st.st_nlink > 1 || S_ISDIR(st.st_mode)))
		check_other_names(w, dir, name, &st);
	/* An unknown one that is there may be cached as missing. */
	if (i || there)
		invalidate_name(w, dir, name);
	/* A name was added or removed: the cached listing may be stale. */
	invalidate_listing(w, dir);
	inodes_unref(fs->inodes, i);
}

/* Names that the table does not know may be cached as missing. */
static void check_unknown_names(struct watch *w, struct inode *dir)
{
	int fd = fs_reopen(w->fs, dir, O_RDONLY | O_DIRECTORY);
	CLEANUP(closedir_p) DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!listing) {
		close_p(&fd);
		return;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours. */
	while ((e = readdir(listing))) {
		struct inode *i = inodes_find(w->fs->inodes, dir, e->d_name);

		if (!i)
			invalidate_name(w, dir, e->d_name);
		inodes_unref(w->fs->inodes, i);
	}
}

static void check_everything(struct watch *w)
{
	struct fs *fs = w->fs;
	struct inode_name *names;
	size_t n;

	count(&w->overflows);
	check_unknown_names(w, inodes_root(fs->inodes));
	if (inodes_names(fs->inodes, &names, &n) < 0)
		return;
	for (size_t k = 0; k < n; k++) {
		struct inode *i =
			inodes_find(fs->inodes, names[k].parent, names[k].name);

		if (i && S_ISDIR(i->type))
			check_unknown_names(w, i);
		inodes_unref(fs->inodes, i);
		check_name(w, names[k].parent, names[k].name);
		invalidate_listing(w, names[k].parent);
	}
	inodes_names_free(fs->inodes, names, n);
}

/*
 * The watch was removed though the directory is known: it was removed with a
 * former inode of the same directory while this one was being made.
 */
static void watch_again(struct watch *w, struct inode *dir)
{
	atomic_store(&dir->watched, false);
	watch_directory(w, dir);
	invalidate_inode(w, dir);
}

static void handle_event(struct watch *w, const struct inotify_event *e)
{
	struct inode *dir;

	if (e->mask & IN_Q_OVERFLOW) {
		check_everything(w);
		return;
	}
	dir = inodes_by_watch(w->fs->inodes, e->wd);
	if (!dir)
		return;
	if (e->mask & IN_IGNORED)
		watch_again(w, dir);
	else if (e->len)
		check_name(w, dir, e->name);
	else
		check_inode(w, dir);
	inodes_unref(w->fs->inodes, dir);
}

static bool same_place(const struct inotify_event *a,
		       const struct inotify_event *b)
{
	return a->wd == b->wd && a->len == b->len && a->len &&
	       !((a->mask | b->mask) & (IN_IGNORED | IN_Q_OVERFLOW)) &&
	       strcmp(a->name, b->name) == 0;
}

static void drain(struct watch *w)
{
	_Alignas(struct inotify_event) char buf[64 << 10];
	ssize_t got;

	while ((got = read(w->inotify_fd, buf, sizeof(buf))) > 0) {
		const struct inotify_event *e = NULL, *next;

		w->relisted = 0;
		for (ssize_t at = 0; at < got;
		     at += (ssize_t)(sizeof(*next) + next->len)) {
			next = (const struct inotify_event *)(void *)(buf + at);
			if (e && !same_place(e, next))
				handle_event(w, e);
			e = next;
		}
		if (e)
			handle_event(w, e);
	}
}

/*
 * Check open files without an event: once on watch_check_open(), and every
 * WATCH_SWEEP_MS while events may be missing, because a directory has no watch
 * or a file has several names. Closed files need no check here: the next
 * open() compares stamps.
 */
static void check_open_files(struct watch *w)
{
	struct fs *fs = w->fs;
	struct inode **open;
	bool again = watch_incomplete(w);
	size_t n;

	/* First: a file opened from now on is checked, or asks again. */
	atomic_store(&w->check_open, false);
	atomic_store(&w->polling, false);
	n = handles_inodes(fs, &open);
	for (size_t k = 0; k < n; k++) {
		check_inode(w, open[k]);
		again = again || atomic_load(&open[k]->linked);
		inodes_unref(fs->inodes, open[k]);
	}
	free(open);
	atomic_store(&w->polling, n > 0 && again);
}

static void *watch_main(void *arg)
{
	struct watch *w = arg;
	struct pollfd fds[] = { { .fd = w->wake_fd, .events = POLLIN },
				{ .fd = w->inotify_fd, .events = POLLIN } };
	uint64_t wakes;

	while (!atomic_load(&w->stop)) {
		int pause = atomic_load(&w->polling) ? WATCH_SWEEP_MS : -1;
		int ready = poll(fds, 2, pause);

		if (ready < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			(void)!read(w->wake_fd, &wakes, sizeof(wakes));
		if (fds[1].revents && !atomic_load(&w->stop)) {
			(void)poll(fds, 1, WATCH_SETTLE_MS);
			drain(w);
		}
		if (!ready || atomic_load(&w->check_open))
			check_open_files(w);
	}
	return NULL;
}

static int watch_start(struct watch *w, bool inotify)
{
	w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->wake_fd < 0)
		return -errno;
	if (inotify)
		w->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (inotify && w->inotify_fd < 0)
		count(&w->refused);
	inodes_set_inotify(w->fs->inodes, w->inotify_fd);
	watch_directory(w, inodes_root(w->fs->inodes));
	return -pthread_create(&w->thread, NULL, watch_main, w);
}

static void watch_release(struct watch *w)
{
	inodes_set_inotify(w->fs->inodes, -1);
	close_p(&w->inotify_fd);
	close_p(&w->wake_fd);
	free(w);
}

int watch_new(struct fs *fs, bool inotify, struct watch **ret)
{
	struct watch *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->fs = fs;
	w->inotify_fd = w->wake_fd = -1;
	r = watch_start(w, inotify);
	if (r < 0) {
		watch_release(w);
		return r;
	}
	*ret = w;
	return 0;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	atomic_store(&w->stop, true);
	wake(w);
	(void)pthread_join(w->thread, NULL);
	watch_release(w);
}

void watch_stat(const struct watch *w, struct watch_stats *ret)
{
	*ret = (struct watch_stats){
		.enabled = w->inotify_fd >= 0,
		.dirs = atomic_load(&w->dirs),
		.refused = atomic_load(&w->refused),
		.overflows = atomic_load(&w->overflows),
		.invalidations = atomic_load(&w->invalidations),
	};
}
