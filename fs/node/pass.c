/*
 * The kernel counts, per inode, opens that use pages and opens that use
 * passthrough; while there are opens of one kind, an open of the other fails.
 * We keep the same counts: `cached` and `passed` go up before our reply to an
 * open and down at RELEASE, which the kernel sends after it has lowered its
 * own. So our counts are never below the kernel's, and passthrough begins only
 * with the first open of a file.
 */
#include "fs/node/pass.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>

#include "fs/base/limits.h"
#include "fs/node/below.h"
#include "fs/node/keep.h"
#include "fs/node/pages.h"
#include "fs/node/record.h"

#ifdef FUSE_CAP_PASSTHROUGH

void pass_init(struct fs *fs, struct fuse_conn_info *conn)
{
	fs->passes = fs->root && conn->capable & FUSE_CAP_PASSTHROUGH;
	if (!fs->passes)
		return;
	conn->want |= FUSE_CAP_PASSTHROUGH;
	/*
	 * The kernel stacks at most two file systems. An overlay upon us is a
	 * sandbox made of the repository; an overlay below us is a container's
	 * root, and then no overlay upon us is possible.
	 */
	conn->max_backing_stack_depth =
		below_is_stacked(inodes_root_fd(fs->inodes))
			? FUSE_BACKING_STACKED_OVER
			: FUSE_BACKING_STACKED_UNDER;
}

/* The kernel's backing id for the file of `h`; 0: no passthrough. */
static int register_below(fuse_req_t req, struct handle *h)
{
	int id = fuse_passthrough_open(req, handle_fd(fs_of(req), h));

	return id > 0 ? id : 0;
}

static void unregister(fuse_req_t req, int id)
{
	(void)fuse_passthrough_close(req, id);
}

#else

void pass_init(struct fs *fs, struct fuse_conn_info *conn)
{
	(void)conn;
	fs->passes = false;
}

static int register_below(fuse_req_t req, struct handle *h)
{
	(void)req;
	(void)h;
	return 0;
}

static void unregister(fuse_req_t req, int id)
{
	(void)req;
	(void)id;
}

#endif

/* The two kinds of opens exclude each other; only one kind has a backing. */
static void assert_counts(const struct inode *i)
{
	assert(!i->cached || !i->passed);
	assert((i->passed > 0) == (i->backing != 0));
}

static void set_passed(struct fs *fs, struct handle *h,
		       struct fuse_file_info *fi)
{
#ifdef FUSE_CAP_PASSTHROUGH
	fi->backing_id = h->inode->backing;
#endif
	fi->keep_cache = 0; /* the two exclude each other */
	fi->direct_io = h->writable;
	h->passed = true;
	h->inode->passed++;
	atomic_fetch_add_explicit(&fs->opens_passed, 1, memory_order_relaxed);
}

bool pass_would(const struct fs *fs, const struct stat *st)
{
	return fs->passes && S_ISREG(st->st_mode) && st->st_size >= FS_PASS_MIN;
}

/*
 * The opens of `h` are counted from here on. 1: `id` became the backing of
 * its inode, whose account begins with `stamp`. -EAGAIN: the file was changed
 * since it had that stamp.
 */
static int count_open(fuse_req_t req, struct handle *h,
		      struct fuse_file_info *fi, int id, uint64_t stamp,
		      uint64_t changes)
{
	struct fs *fs = fs_of(req);
	struct inode *i = h->inode;
	bool first, late;

	(void)pthread_mutex_lock(&fs->handles_lock);
	first = id && !i->backing && i->cached == 0;
	late = first && atomic_load(&i->changes) != changes;
	if (first && !late) {
		i->backing = id;
		pages_account(fs, i, stamp);
	}
	if (!late) {
		if (i->backing)
			set_passed(fs, h, fi);
		else
			i->cached++;
		h->counted = true;
	}
	assert_counts(i);
	(void)pthread_mutex_unlock(&fs->handles_lock);
	return late ? -EAGAIN : first;
}

static bool is_first_open(struct fs *fs, const struct inode *i)
{
	bool first;

	(void)pthread_mutex_lock(&fs->handles_lock);
	first = !i->backing && i->cached == 0;
	(void)pthread_mutex_unlock(&fs->handles_lock);
	return first;
}

void pass_begin(fuse_req_t req, struct handle *h, const struct stat *st,
		struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct inode *i = h->inode;
	int id = 0, r;

	if (!fs->passes)
		return;
	assert(!h->counted && !h->passed);
	/* Without the lock: another open may be counted first, and ours then
	   is of its kind. */
	if (!h->writable && pass_would(fs, st) && is_first_open(fs, i))
		id = register_below(req, h);
	do {
		uint64_t changes = atomic_load(&i->changes);
		uint64_t stamp = id ? pages_stamp(fs, i) : 0;

		r = count_open(req, h, fi, id, stamp, changes);
	} while (r == -EAGAIN);
	if (id && r == 0)
		unregister(req, id);
}

/* Journal a change that was made through a shared mapping. */
static void record_stores(fuse_req_t req, struct handle *h)
{
	if (!h->passed || !h->writable || !pages_unseen(fs_of(req), h->inode))
		return;
	keep_stored(fs_of(req), h,
		    record_inode(fs_of(req), req, h->inode, h,
				 &(struct record_line){ .op = JOURNAL_MMAP,
							.off = -1,
							.len = -1,
							.detail = "unseen" }));
}

void pass_end(fuse_req_t req, struct handle *h)
{
	struct fs *fs = fs_of(req);
	struct inode *i = h->inode;
	int id = 0;

	if (!h->counted)
		return;
	record_stores(req, h);
	(void)pthread_mutex_lock(&fs->handles_lock);
	assert(h->passed ? i->passed > 0 : i->cached > 0);
	if (!h->passed) {
		i->cached--;
	} else if (--i->passed == 0) {
		id = i->backing;
		i->backing = 0;
	}
	assert_counts(i);
	(void)pthread_mutex_unlock(&fs->handles_lock);
	if (id)
		unregister(req, id);
}
