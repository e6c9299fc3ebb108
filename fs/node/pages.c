/*
 * A stamp is a hash of size and times. Equal stamps are conclusive at any time.
 * Different ones are so only if no change of our own is in flight: an inode
 * counts those (`changing`), and how many ever began (`changes`). A stamp is
 * compared with the file's status if neither moved while fstat(2) ran. No lock
 * is held across a system call: a change below may take seconds, and nothing
 * waits for it. While changes are in flight, `ours` answers for them: the first
 * of them found the file as the inode's stamp says it was.
 *
 * Times identify a change only where the kernel has multigrain timestamps
 * (Linux 6.13, on some file systems). Elsewhere a change of our own leaves
 * stamp 0, and the next open drops the pages: the file might be changed
 * outside the mount within the same clock tick.
 */
#include "fs/node/pages.h"

#include <assert.h>

#include "fs/base/limits.h"
#include "fs/node/below.h"
#include "fs/node/fs.h"
#include "fs/node/pass.h"
#include "fs/node/watch.h"
#include "graph/base/clock.h"
#include "tape/journal/progress.h"

/* Looks at a file that is written without pause. */
#define STEADY_TRIES 8

void pages_init(struct fs *fs, struct fuse_conn_info *conn)
{
	const unsigned both =
		FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_EXPLICIT_INVAL_DATA;

	fs->fine_times = below_times_fine(inodes_root_fd(fs->inodes));
	/* Where inotify does not cover all, the kernel compares mtimes. */
	fs->explicit = !watch_incomplete(fs->watch) && !fs->flush &&
		       conn->capable & FUSE_CAP_EXPLICIT_INVAL_DATA;
	conn->want &= ~both;
	conn->want |= fs->explicit ? FUSE_CAP_EXPLICIT_INVAL_DATA
				   : conn->capable & FUSE_CAP_AUTO_INVAL_DATA;
}

void pages_lock(struct fs *fs, const struct inode *i)
{
	(void)pthread_mutex_lock(&fs->change_locks[i->id % FS_CHANGE_LOCKS]);
}

void pages_unlock(struct fs *fs, const struct inode *i)
{
	(void)pthread_mutex_unlock(&fs->change_locks[i->id % FS_CHANGE_LOCKS]);
}

/* The present stamp and status of `i`; 0: there is no status. */
static uint64_t look_below(struct fs *fs, struct inode *i, struct stat *ret)
{
	return fs_stat(fs, i, ret) < 0 ? 0 : inode_stamp(ret);
}

/*
 * Returns with the lock held. True: `now` and `st` are of a moment at which no
 * change of our own was in flight, and none began since. False: one is in
 * flight, or they follow each other too quickly; i->ours then says whether the
 * file was changed outside the mount before them.
 */
static bool look_steady(struct fs *fs, struct inode *i, struct stat *st,
			uint64_t *now)
{
	for (int n = 0; n < STEADY_TRIES; n++) {
		uint64_t changes = atomic_load(&i->changes);

		if (atomic_load(&i->changing))
			break;
		*now = look_below(fs, i, st);
		pages_lock(fs, i);
		if (!atomic_load(&i->changing) &&
		    atomic_load(&i->changes) == changes)
			return true;
		pages_unlock(fs, i);
	}
	pages_lock(fs, i);
	return false;
}

/*
 * Was the file, of status `st`, changed outside the mount after the time until
 * which the tape has looked? Stores into a mapping of a passthrough file are
 * not told from such changes.
 */
static bool is_outside(const struct fs *fs, const struct inode *i,
		       const struct stat *st)
{
	uint64_t looked = fs->progress ? progress_outside_ns(fs->progress) : 0;
	uint64_t ctime = (uint64_t)timespec_ns(st->st_ctim);

	if (!looked || ctime <= looked || !fs->fine_times)
		return false;
	if (pass_would(fs, st) && atomic_load(&i->opens))
		return false;
	return i->own || ctime > inodes_forgotten_ns(fs->inodes);
}

bool pages_change_if(struct fs *fs, struct inode *i, struct own_change *ret,
		     bool (*may)(void *ctx), void *ctx)
{
	struct stat st;
	uint64_t before;
	bool begins;

	*ret = (struct own_change){ .i = i };
	/* Otherwise the first of the changes in flight has compared. */
	if (look_steady(fs, i, &st, &before)) {
		i->ours = before == atomic_load(&i->stamp);
		i->accounts = before == atomic_load(&i->accounted);
		if (before != i->own && is_outside(fs, i, &st))
			i->outside = true;
	}
	begins = !may || may(ctx);
	if (begins) {
		atomic_fetch_add(&i->changing, 1);
		atomic_fetch_add(&i->changes, 1);
	}
	pages_unlock(fs, i);
	if (begins)
		atomic_store_explicit(&i->attr_cached, false,
				      memory_order_relaxed);
	return begins;
}

void pages_change(struct fs *fs, struct inode *i, struct own_change *ret)
{
	*ret = (struct own_change){ .i = i };
	if (i)
		(void)pages_change_if(fs, i, ret, NULL, NULL);
}

/* Ends one change if others are in flight: the last of them notes the stamp. */
static bool leave_to_others(struct fs *fs, struct inode *i)
{
	bool others;

	pages_lock(fs, i);
	others = atomic_load(&i->changing) > 1;
	if (others)
		atomic_fetch_sub(&i->changing, 1);
	pages_unlock(fs, i);
	return others;
}

static void note_own(struct inode *i, const struct stat *st, uint64_t stamp)
{
	i->own = stamp;
	i->own_ns = stamp ? (uint64_t)timespec_ns(st->st_ctim) : 0;
}

/* False: another change has begun since `changes`. */
static bool end_last(struct fs *fs, struct inode *i, uint64_t changes,
		     const struct stat *st, uint64_t now)
{
	bool last;

	pages_lock(fs, i);
	last = atomic_load(&i->changes) == changes;
	if (last) {
		if (now)
			i->size = st->st_size;
		if (i->ours)
			atomic_store(&i->stamp, fs->fine_times ? now : 0);
		if (i->accounts)
			atomic_store(&i->accounted, now);
		note_own(i, st, now);
		atomic_fetch_sub(&i->changing, 1);
	}
	pages_unlock(fs, i);
	return last;
}

void pages_changed(struct fs *fs, struct own_change *c)
{
	struct stat st;
	uint64_t changes, now;

	if (!c->i)
		return;
	do {
		if (leave_to_others(fs, c->i))
			return;
		changes = atomic_load(&c->i->changes);
		now = look_below(fs, c->i, &st);
	} while (!end_last(fs, c->i, changes, &st, now));
}

uint64_t pages_stamp(struct fs *fs, struct inode *i)
{
	struct stat st;

	return look_below(fs, i, &st);
}

void pages_account(struct fs *fs, struct inode *i, uint64_t stamp)
{
	pages_lock(fs, i);
	atomic_store(&i->accounted, stamp);
	i->accounts = true;
	pages_unlock(fs, i);
}

bool pages_unseen(struct fs *fs, struct inode *i)
{
	struct stat st;
	uint64_t now = 0;
	bool unseen;

	if (look_steady(fs, i, &st, &now)) {
		unseen = now && now != atomic_exchange(&i->accounted, now);
		if (unseen)
			note_own(i, &st, now);
	} else {
		unseen = !i->accounts;
	}
	i->accounts = true;
	pages_unlock(fs, i);
	return unseen;
}

void pages_none(struct fs *fs, struct inode *i, const struct stat *st)
{
	pages_lock(fs, i);
	i->size = st->st_size;
	atomic_store(&i->stamp, inode_stamp(st));
	pages_unlock(fs, i);
}

void pages_made(struct fs *fs, struct inode *i, const struct stat *st)
{
	pages_lock(fs, i);
	note_own(i, st, inode_stamp(st));
	pages_unlock(fs, i);
}

/*
 * Set the stamp to the present one; true if it was that already, or if only
 * changes of our own, still in flight, made it another.
 */
static bool correct_stamp(struct fs *fs, struct inode *i)
{
	struct stat st;
	uint64_t now = 0;
	bool good;

	if (!look_steady(fs, i, &st, &now)) {
		/* Our own changes are in the kernel's pages. */
		good = i->ours;
	} else {
		good = now && now == atomic_exchange(&i->stamp, now);
		if (now)
			i->size = st.st_size;
	}
	pages_unlock(fs, i);
	return good;
}

bool pages_good(struct fs *fs, struct inode *i, const struct stat *st)
{
	uint64_t known = atomic_load(&i->stamp);

	if (known == inode_stamp(st) || correct_stamp(fs, i)) {
		atomic_fetch_add_explicit(&fs->opens_kept, 1,
					  memory_order_relaxed);
		return true;
	}
	atomic_fetch_add_explicit(&fs->opens_dropped, 1, memory_order_relaxed);
	/* Attributes only: needs no kernel lock that the opener may hold. */
	if (known)
		(void)fuse_lowlevel_notify_inval_inode(fs->session,
						       fs_ino(fs, i), -1, 0);
	return false;
}

/* Refresh *st; keep the known size if the file was changed by others. */
static bool hold_size(struct fs *fs, struct inode *i, struct stat *st)
{
	uint64_t now = 0, known;
	bool changed;

	if (look_steady(fs, i, st, &now)) {
		known = atomic_load(&i->stamp);
		changed = known && now != known;
	} else {
		changed = !i->ours;
	}
	if (changed)
		st->st_size = i->size;
	pages_unlock(fs, i);
	return changed;
}

void pages_before_attr(struct fs *fs, struct inode *i, struct stat *st)
{
	uint64_t now = inode_stamp(st);

	if (!fs->explicit || !S_ISREG(i->type)) {
		atomic_store(&i->stamp, now);
		return;
	}
	atomic_store_explicit(&i->linked, st->st_nlink > 1,
			      memory_order_relaxed);
	if (atomic_load(&i->stamp) != now && atomic_load(&i->opens) &&
	    hold_size(fs, i, st))
		watch_check_open(fs->watch);
}

/*
 * The kernel's pages are of stamp `now` or younger; `known` was the inode's
 * stamp. If either has changed since, that change causes another check.
 */
static void confirm_stamp(struct fs *fs, struct inode *i, uint64_t known,
			  uint64_t now)
{
	struct stat st;
	uint64_t present = 0;

	assert(now && now != known);
	if (look_steady(fs, i, &st, &present) && present == now &&
	    atomic_load(&i->stamp) == known) {
		i->size = st.st_size;
		atomic_store(&i->stamp, fs->fine_times ? now : 0);
	}
	pages_unlock(fs, i);
}

/* Was `i` changed outside the mount since it had the stamp `known`? */
static bool is_changed(struct fs *fs, struct inode *i, uint64_t known)
{
	struct stat st;
	uint64_t now = 0;
	bool r;

	/*
	 * Stamp 0: the last change was our own. The next open drops the
	 * pages; only a file that is open could go on reading old ones.
	 */
	if (!known)
		return atomic_load(&i->opens) > 0;
	if (look_steady(fs, i, &st, &now))
		r = now != known && atomic_load(&i->stamp) == known;
	else
		r = !i->ours;
	pages_unlock(fs, i);
	return r;
}

bool pages_check(struct fs *fs, struct inode *i)
{
	uint64_t known = atomic_load(&i->stamp);
	struct stat st;
	uint64_t now = look_below(fs, i, &st);

	if (!now || known == now || !is_changed(fs, i, known))
		return false;
	/* Pages first: pages read from now on are `now` or younger. */
	(void)fuse_lowlevel_notify_inval_inode(fs->session, fs_ino(fs, i), 0,
					       0);
	confirm_stamp(fs, i, known, now);
	(void)fuse_lowlevel_notify_inval_inode(fs->session, fs_ino(fs, i), -1,
					       0);
	return true;
}
