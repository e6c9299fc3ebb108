/*
 * A stamp is a hash of size and times. It may be compared without the change
 * lock: equal stamps are conclusive. Different ones are compared again with
 * the lock held, since a change of our own may be half done.
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
#include "fs/node/watch.h"

void pages_init(struct fs *fs, struct fuse_conn_info *conn)
{
	const unsigned both =
		FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_EXPLICIT_INVAL_DATA;

	fs->fine_times = below_times_fine(inodes_root(fs->inodes)->fd);
	/* Where inotify does not cover all, the kernel compares mtimes. */
	fs->explicit = !watch_incomplete(fs->watch) && !fs->flush &&
		       conn->capable & FUSE_CAP_EXPLICIT_INVAL_DATA;
	conn->want &= ~both;
	conn->want |= fs->explicit ? FUSE_CAP_EXPLICIT_INVAL_DATA
				   : conn->capable & FUSE_CAP_AUTO_INVAL_DATA;
}

static pthread_mutex_t *lock_of(struct fs *fs, const struct inode *i)
{
	return &fs->change_locks[i->id % FS_CHANGE_LOCKS];
}

/* The present stamp and status of `i`; 0: fstat(2) failed. */
static uint64_t look_below(const struct inode *i, struct stat *ret)
{
	return fstat(i->fd, ret) < 0 ? 0 : inode_stamp(ret);
}

/* The same with the change lock held, until unlock(). */
static uint64_t look_locked(struct fs *fs, const struct inode *i,
			    struct stat *ret)
{
	(void)pthread_mutex_lock(lock_of(fs, i));
	return look_below(i, ret);
}

static void unlock(struct fs *fs, const struct inode *i)
{
	(void)pthread_mutex_unlock(lock_of(fs, i));
}

void pages_change(struct fs *fs, struct inode *i, struct own_change *ret)
{
	struct stat st;
	uint64_t before;

	*ret = (struct own_change){ .i = i };
	if (!i)
		return;
	before = look_locked(fs, i, &st);
	atomic_store_explicit(&i->attr_cached, false, memory_order_relaxed);
	ret->ours = before == atomic_load(&i->stamp);
	ret->accounted = before == atomic_load(&i->accounted);
}

void pages_changed(struct fs *fs, struct own_change *c)
{
	struct stat st;
	uint64_t now;

	if (!c->i)
		return;
	now = look_below(c->i, &st);
	if (now)
		c->i->size = st.st_size;
	if (c->ours)
		atomic_store(&c->i->stamp, fs->fine_times ? now : 0);
	if (c->accounted)
		atomic_store(&c->i->accounted, now);
	unlock(fs, c->i);
}

void pages_account(struct inode *i)
{
	struct stat st;

	atomic_store(&i->accounted, look_below(i, &st));
}

bool pages_unseen(struct fs *fs, struct inode *i)
{
	struct stat st;
	uint64_t now = look_locked(fs, i, &st);
	bool unseen;

	unseen = now && now != atomic_exchange(&i->accounted, now);
	unlock(fs, i);
	return unseen;
}

void pages_none(struct fs *fs, struct inode *i, const struct stat *st)
{
	(void)pthread_mutex_lock(lock_of(fs, i));
	i->size = st->st_size;
	atomic_store(&i->stamp, inode_stamp(st));
	unlock(fs, i);
}

/* Set the stamp to the present one; true if it was that already. */
static bool correct_stamp(struct fs *fs, struct inode *i)
{
	struct stat st;
	uint64_t now = look_locked(fs, i, &st);
	bool was;

	was = now && now == atomic_exchange(&i->stamp, now);
	if (now)
		i->size = st.st_size;
	unlock(fs, i);
	return was;
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
	uint64_t now = look_locked(fs, i, st);
	uint64_t known = atomic_load(&i->stamp);
	bool changed = now != known && known;

	if (changed)
		st->st_size = i->size;
	unlock(fs, i);
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

	assert(now && now != known);
	if (look_locked(fs, i, &st) == now && atomic_load(&i->stamp) == known) {
		i->size = st.st_size;
		atomic_store(&i->stamp, fs->fine_times ? now : 0);
	}
	unlock(fs, i);
}

/* Was `i` changed outside the mount since it had the stamp `known`? */
static bool is_changed(struct fs *fs, struct inode *i, uint64_t known)
{
	struct stat st;
	bool r;

	/*
	 * Stamp 0: the last change was our own. The next open drops the
	 * pages; only a file that is open could go on reading old ones.
	 */
	if (!known)
		return atomic_load(&i->opens) > 0;
	r = look_locked(fs, i, &st) != known && atomic_load(&i->stamp) == known;
	unlock(fs, i);
	return r;
}

bool pages_check(struct fs *fs, struct inode *i)
{
	uint64_t known = atomic_load(&i->stamp);
	struct stat st;
	uint64_t now = look_below(i, &st);

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
