/*
 * A stamp is a hash of size and times. Without the lock it may be compared:
 * one that fits is right. One that does not fit is looked at again with the
 * lock held, for a change of our own may be half done.
 *
 * Times tell changes apart only where the kernel makes them finer once they
 * were looked at (Linux 6.13, on some file systems). Elsewhere a change of our
 * own leaves a stamp of 0, and the next open drops the pages: somebody else
 * might change the file in the same tick.
 */
#include "fs/pages.h"

#include "fs/below.h"
#include "fs/fs.h"
#include "fs/limits.h"
#include "fs/watch.h"

void pages_init(struct fs *fs, struct fuse_conn_info *conn)
{
	const unsigned both =
		FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_EXPLICIT_INVAL_DATA;

	fs->fine_times = below_times_fine(inodes_root(fs->inodes)->fd);
	/* Where nobody tells us of changes, the kernel looks for itself. */
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

/* The stamp `i` has below, 0: it cannot be told. */
static uint64_t stamp_below(const struct inode *i)
{
	struct stat st;

	return fstat(i->fd, &st) < 0 ? 0 : inode_stamp(&st);
}

void pages_change(struct fs *fs, struct inode *i, struct own_change *ret)
{
	*ret = (struct own_change){ .i = i };
	if (!i)
		return;
	ret->lock = lock_of(fs, i);
	(void)pthread_mutex_lock(ret->lock);
	ret->ours = stamp_below(i) == atomic_load(&i->stamp);
}

void pages_changed(struct fs *fs, struct own_change *c)
{
	struct stat st;

	if (!c->i)
		return;
	if (fstat(c->i->fd, &st) == 0) {
		atomic_store(&c->i->told, st.st_size);
		if (c->ours)
			atomic_store(&c->i->stamp,
				     fs->fine_times ? inode_stamp(&st) : 0);
	}
	(void)pthread_mutex_unlock(c->lock);
}

void pages_none(struct inode *i, const struct stat *st)
{
	atomic_store(&i->stamp, inode_stamp(st));
	atomic_store(&i->told, st->st_size);
}

/* Puts the stamp right, and returns whether it was. */
static bool set_right(struct fs *fs, struct inode *i)
{
	pthread_mutex_t *lock = lock_of(fs, i);
	uint64_t now;
	bool was;

	(void)pthread_mutex_lock(lock);
	now = stamp_below(i);
	was = now && now == atomic_exchange(&i->stamp, now);
	(void)pthread_mutex_unlock(lock);
	return was;
}

bool pages_good(struct fs *fs, struct inode *i, const struct stat *st)
{
	uint64_t known = atomic_load(&i->stamp);

	if (known == inode_stamp(st) || set_right(fs, i)) {
		atomic_fetch_add_explicit(&fs->opens_kept, 1,
					  memory_order_relaxed);
		return true;
	}
	atomic_fetch_add_explicit(&fs->opens_dropped, 1, memory_order_relaxed);
	/* Attributes only, which takes no lock the opener may hold. */
	if (known)
		(void)fuse_lowlevel_notify_inval_inode(fs->session,
						       fs_ino(fs, i), -1, 0);
	return false;
}

/* Did somebody else change `i` since its stamp was set? */
static bool is_changed(struct fs *fs, struct inode *i)
{
	pthread_mutex_t *lock = lock_of(fs, i);
	uint64_t known;
	bool r;

	(void)pthread_mutex_lock(lock);
	known = atomic_load(&i->stamp);
	r = known && known != stamp_below(i);
	(void)pthread_mutex_unlock(lock);
	return r;
}

void pages_tell(struct fs *fs, struct inode *i, struct stat *st)
{
	uint64_t now = inode_stamp(st);

	if (!fs->explicit || !S_ISREG(i->type)) {
		atomic_store(&i->stamp, now);
		return;
	}
	atomic_store_explicit(&i->linked, st->st_nlink > 1,
			      memory_order_relaxed);
	if (atomic_load(&i->stamp) != now && atomic_load(&i->opens) &&
	    is_changed(fs, i)) {
		st->st_size = atomic_load(&i->told);
		watch_doubt(fs->watch);
		return;
	}
	atomic_store(&i->told, st->st_size);
}

bool pages_check(struct fs *fs, struct inode *i)
{
	uint64_t known = atomic_load(&i->stamp);
	uint64_t now = stamp_below(i);

	/*
	 * A stamp of 0 says that the last change was our own: the next open
	 * drops the pages, and only an open handle could go on reading old
	 * ones.
	 */
	if (known == now || (known ? !is_changed(fs, i) : !i->opens))
		return false;
	/* Pages first: what is read from now on is `now` or younger. */
	(void)fuse_lowlevel_notify_inval_inode(fs->session, fs_ino(fs, i), 0,
					       0);
	(void)atomic_compare_exchange_strong(&i->stamp, &known,
					     fs->fine_times ? now : 0);
	(void)fuse_lowlevel_notify_inval_inode(fs->session, fs_ino(fs, i), -1,
					       0);
	return true;
}
