/*
 * `holds` counts the users of an inode's descriptor; HOLD_CLOSED in it says
 * that there is none. A user adds one and looks at what was there before: a
 * descriptor that was open then cannot be closed any more, so the way of most
 * requests takes no lock. HOLD_CLOSED is set and removed under the table's
 * lock, and set only if there is no user.
 *
 * Descriptors are closed in the order of a clock: the inodes that have one are
 * in a queue; one that was used since it was last looked at goes to its end.
 * What cannot be closed goes to the end too, or, without any name left, out of
 * the queue until it gets a name.
 *
 * The way back is a name first: a file that is opened by its handle alone may
 * have no path in the kernel, and then watches on its directory see no changes
 * and security modules may refuse them.
 */
#include "fs/node/hold.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "fs/node/table.h"
#include "graph/base/cleanup.h"

#define HOLD_CLOSED (1u << 31)

/* Looks of the clock when there are too many descriptors: others go on. */
#define LOOKS_FEW 64

/* Rounds of the clock that an inode stays after its last use. */
#define RECENT_MAX 3

/* Files that are looked at in vain, because they have no way back. */
#define TRIES_MAX 16

/* Opens that fail for descriptors which others take as we close them. */
#define OPENS_MAX 8

/* Numbers left when opens begin to look first. */
#define TIGHT_MARGIN 16

/* Names tried. Several: of a file with hard links, some may be gone. */
#define NAMES_MAX 8

/* Directories on the way from the nearest one held. Moves outside the mount
   may make a circle of names. */
#define DEPTH_MAX 1024

#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID 0x200 /* Linux 6.5: to compare, not to open */
#endif

struct inode_trace {
	uint64_t born; /* time of birth in ns, 0: unknown */
	bool opens;    /* the handle can be opened */
	unsigned bytes;
	int type;
	unsigned char handle[];
};

union any_handle {
	struct file_handle handle;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

/* Descriptors */

static int look(int fd, struct statx *ret)
{
	const unsigned facts =
		STATX_TYPE | STATX_INO | STATX_NLINK | STATX_BTIME;

	return statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, facts, ret);
}

static uint64_t born(const struct statx *st)
{
	if (!(st->stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)st->stx_btime.tv_sec * 1000000000u +
	       st->stx_btime.tv_nsec;
}

static int ask_handle(int fd, int flags, union any_handle *ret)
{
	int mount;

	ret->handle.handle_bytes = MAX_HANDLE_SZ;
	return name_to_handle_at(fd, "", &ret->handle, &mount,
				 AT_EMPTY_PATH | flags);
}

/* A handle to be compared, for a file without a time of birth. */
static bool ask_comparable(int fd, union any_handle *ret)
{
	return ask_handle(fd, AT_HANDLE_FID, ret) == 0 ||
	       ask_handle(fd, 0, ret) == 0;
}

static struct inode_trace *
trace_new(const struct inodes *t, const struct inode *i, int fd, uint64_t birth)
{
	union any_handle h;
	bool opens = t->by_handle && i->key.dev == t->root->key.dev &&
		     ask_handle(fd, 0, &h) == 0;
	struct inode_trace *trace;

	if (!opens && (birth || !ask_comparable(fd, &h)))
		h.handle.handle_bytes = 0;
	trace = malloc(sizeof(*trace) + h.handle.handle_bytes);
	if (!trace)
		return NULL;
	*trace = (struct inode_trace){ .born = birth,
				       .opens = opens,
				       .bytes = h.handle.handle_bytes,
				       .type = h.handle.handle_type };
	memcpy(trace->handle, h.handle.f_handle, trace->bytes);
	return trace;
}

static bool has_handle(const struct inode_trace *trace, int fd)
{
	union any_handle h;

	if (!trace->bytes)
		return true; /* nothing to compare */
	return (trace->opens ? ask_handle(fd, 0, &h) == 0
			     : ask_comparable(fd, &h)) &&
	       h.handle.handle_type == trace->type &&
	       h.handle.handle_bytes == trace->bytes &&
	       memcmp(h.handle.f_handle, trace->handle, trace->bytes) == 0;
}

bool hold_is_same(const struct inode *i, int fd)
{
	const struct inode_trace *trace = i->trace;
	struct statx st;

	if (look(fd, &st) < 0 || st.stx_ino != i->key.ino ||
	    makedev(st.stx_dev_major, st.stx_dev_minor) != i->key.dev ||
	    (st.stx_mode & S_IFMT) != i->type)
		return false;
	if (!trace)
		return true;
	if (trace->born && born(&st))
		return trace->born == born(&st);
	return has_handle(trace, fd);
}

/* The queue */

bool hold_is_closed(const struct inode *i)
{
	return atomic_load(&i->holds) & HOLD_CLOSED;
}

static void enqueue_locked(struct inodes *t, struct inode *i)
{
	assert(!i->queued && i != t->root);
	TAILQ_INSERT_TAIL(&t->held, i, held);
	i->queued = true;
	atomic_fetch_add_explicit(&t->held_count, 1, memory_order_relaxed);
}

void hold_leave_locked(struct inodes *t, struct inode *i)
{
	if (!i->queued)
		return;
	TAILQ_REMOVE(&t->held, i, held);
	i->queued = false;
	atomic_fetch_sub_explicit(&t->held_count, 1, memory_order_relaxed);
}

/* A walk comes back to its directories. */
static unsigned char weight(const struct inode *i)
{
	return S_ISDIR(i->type) ? RECENT_MAX : 1;
}

void hold_admit_locked(struct inodes *t, struct inode *i, int fd)
{
	assert(fd >= 0);
	i->fd = fd;
	atomic_store(&i->recent, S_ISDIR(i->type) ? 1 : 0);
	enqueue_locked(t, i);
}

int hold_give_locked(struct inodes *t, struct inode *i, int fd)
{
	if (!hold_is_closed(i))
		return fd;
	i->fd = fd;
	enqueue_locked(t, i);
	atomic_fetch_and(&i->holds, ~HOLD_CLOSED);
	return -1;
}

void hold_named_locked(struct inodes *t, struct inode *i)
{
	if (!i->queued && i != t->root && !hold_is_closed(i))
		enqueue_locked(t, i);
}

void hold_release(struct inode *i)
{
	if (!hold_is_closed(i))
		(void)close(i->fd);
	free(i->trace);
}

/* Enough looks to find one that is not in use. */
static uint64_t all_looks(const struct inodes *t)
{
	return (RECENT_MAX + 1) * atomic_load(&t->held_count);
}

/*
 * The next inode whose descriptor may be closed, held and with a reference.
 * Only a number less than `below` helps.
 */
static struct inode *candidate_locked(struct inodes *t, int below,
				      uint64_t looks)
{
	struct inode *i;

	while (looks-- && (i = TAILQ_FIRST(&t->held))) {
		unsigned char recent = atomic_load(&i->recent);
		unsigned none = 0;

		TAILQ_REMOVE(&t->held, i, held);
		TAILQ_INSERT_TAIL(&t->held, i, held);
		if (i->fd >= below)
			continue;
		if (recent) {
			atomic_store(&i->recent, recent - 1);
			continue;
		}
		if (atomic_compare_exchange_strong(&i->holds, &none, 1)) {
			i->refs++;
			return i;
		}
	}
	return NULL;
}

static bool has_name_locked(const struct inode *i)
{
	const struct inode_link *link;

	LIST_FOREACH(link, &i->links, same)
	if (!link->gone)
		return true;
	return false;
}

/*
 * The candidate `i`, of status `st`, with the trace that was made if it had
 * none. Its descriptor, to be closed; -1: it stays open.
 */
static int let_go_locked(struct inodes *t, struct inode *i,
			 const struct statx *st, struct inode_trace **made)
{
	unsigned mine = 1;

	if (!i->trace)
		i->trace = TAKE(*made);
	if (st->stx_nlink == 0)
		hold_leave_locked(t, i);
	else if (i->trace && (i->trace->opens || has_name_locked(i)) &&
		 atomic_compare_exchange_strong(&i->holds, &mine,
						HOLD_CLOSED)) {
		hold_leave_locked(t, i);
		return i->fd;
	}
	atomic_fetch_sub(&i->holds, 1);
	return -1;
}

/* Close one descriptor. -EAGAIN: try another one; -ENOENT: there is none. */
static int close_one(struct inodes *t, int below, uint64_t looks)
{
	struct inode_trace *made = NULL;
	struct inode *doomed = NULL, *i;
	struct statx st;
	int fd;

	(void)pthread_mutex_lock(&t->lock);
	i = candidate_locked(t, below, looks);
	(void)pthread_mutex_unlock(&t->lock);
	if (!i)
		return -ENOENT;
	if (look(i->fd, &st) < 0)
		st.stx_nlink = 0;
	else if (!i->trace)
		made = trace_new(t, i, i->fd, born(&st));
	(void)pthread_mutex_lock(&t->lock);
	fd = let_go_locked(t, i, &st, &made);
	assert(i->refs > 0);
	i->refs--;
	inodes_drop_locked(t, i, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	inodes_free_doomed(t, doomed);
	free(made);
	if (fd < 0)
		return -EAGAIN;
	(void)close(fd);
	atomic_fetch_add_explicit(&t->closed, 1, memory_order_relaxed);
	return 0;
}

static int close_some(struct inodes *t, int below, uint64_t looks)
{
	int r = -EAGAIN;

	for (int n = 0; r == -EAGAIN && n < TRIES_MAX; n++)
		r = close_one(t, below, looks);
	return r;
}

void hold_trim(struct inodes *t)
{
	/* Twice: what others could not close goes too. */
	for (int n = 0; n < 2; n++)
		if (atomic_load_explicit(&t->held_count,
					 memory_order_relaxed) <=
			    t->limits.inodes ||
		    close_some(t, INT32_MAX, LOOKS_FEW) < 0)
			return;
}

/* Opening */

static bool is_short(int r)
{
	return r == -EMFILE || r == -ENFILE;
}

/* Is there a number less than `below`? Makes room if need be. */
static bool has_room(struct inodes *t, int below)
{
	for (int n = 0; n < OPENS_MAX; n++) {
		int fd = fcntl(t->root->fd, F_DUPFD_CLOEXEC, 0);

		close_p(&fd);
		if (fd >= 0 && fd < below)
			return true;
		if (close_some(t, below, all_looks(t)) < 0)
			return false;
	}
	return false;
}

/*
 * What an open returned, or -EMFILE: its number is too large. An open that
 * creates or truncates a file stays.
 */
static int limited(struct inodes *t, int fd, int flags, int below)
{
	if (fd < 0)
		return -errno;
	if (fd >= below - TIGHT_MARGIN)
		atomic_store(&t->tight, true);
	if (fd < below || flags & (O_CREAT | O_TRUNC))
		return fd;
	(void)close(fd);
	return -EMFILE;
}

int hold_openat(struct inodes *t, int dir_fd, const char *name, int flags,
		mode_t mode, int below)
{
	int fd = -EMFILE;

	if (flags & (O_CREAT | O_TRUNC) && atomic_load(&t->tight) &&
	    !has_room(t, below))
		return -EMFILE;
	for (int n = 0; n < OPENS_MAX; n++) {
		fd = limited(t, openat(dir_fd, name, flags | O_CLOEXEC, mode),
			     flags, below);
		if (!is_short(fd) || close_some(t, below, all_looks(t)) < 0)
			break;
	}
	return fd;
}

/* The way back */

static int begin_at(struct inodes *t, struct inode *i, int depth,
		    struct hold *ret);

/* The `n`th name of `i`, its directory a reference; false: it has fewer. */
static bool nth_name(struct inodes *t, const struct inode *i, int n,
		     struct inode_name *ret)
{
	const struct inode_link *link = NULL;

	*ret = (struct inode_name){ NULL, NULL };
	(void)pthread_mutex_lock(&t->lock);
	LIST_FOREACH(link, &i->links, same)
	{
		if (link->gone || n-- > 0)
			continue;
		ret->name = strdup(link->name);
		ret->parent = ret->name ? link->parent : NULL;
		break;
	}
	if (ret->parent)
		ret->parent->refs++;
	(void)pthread_mutex_unlock(&t->lock);
	return ret->name;
}

static int open_name(struct inodes *t, const struct inode *i,
		     const struct inode_name *at, int depth)
{
	CLEANUP(hold_end) struct hold dir = HOLD_NONE;
	int r = begin_at(t, at->parent, depth + 1, &dir);
	int fd;

	if (r < 0)
		return r;
	fd = hold_openat(t, dir.fd, at->name, O_PATH | O_NOFOLLOW, 0,
			 t->limits.below);
	if (fd < 0 || hold_is_same(i, fd))
		return fd;
	(void)close(fd);
	return -ESTALE;
}

/* A directory has one name; older ones are wrong. */
static int open_by_names(struct inodes *t, const struct inode *i, int depth)
{
	int most = S_ISDIR(i->type) ? 1 : NAMES_MAX;
	struct inode_name at;
	int fd = -ESTALE;

	if (depth >= DEPTH_MAX)
		return -ESTALE;
	for (int n = 0; n < most && fd < 0 && !is_short(fd); n++) {
		if (!nth_name(t, i, n, &at))
			break;
		fd = open_name(t, i, &at, depth);
		inodes_unref(t, at.parent);
		free(at.name);
	}
	return fd;
}

static int open_by_handle(struct inodes *t, const struct inode *i)
{
	const struct inode_trace *trace = i->trace;
	union any_handle h;
	int fd = -ESTALE;

	if (!trace || !trace->opens)
		return -ESTALE;
	h.handle.handle_bytes = trace->bytes;
	h.handle.handle_type = trace->type;
	memcpy(h.handle.f_handle, trace->handle, trace->bytes);
	for (int n = 0; n < OPENS_MAX; n++) {
		fd = limited(t,
			     open_by_handle_at(t->root->fd, &h.handle,
					       O_PATH | O_NOFOLLOW | O_CLOEXEC),
			     O_PATH, t->limits.below);
		if (!is_short(fd) ||
		    close_some(t, t->limits.below, all_looks(t)) < 0)
			break;
	}
	return fd;
}

static int find_again(struct inodes *t, const struct inode *i, int depth)
{
	int fd = -ESTALE;

	if (t->spare && atomic_load(&i->opens))
		fd = t->spare(t->spare_ctx, i);
	if (fd < 0)
		fd = open_by_names(t, i, depth);
	if (fd < 0 && !is_short(fd)) {
		int by_handle = open_by_handle(t, i);

		/* The name's error says more. */
		fd = by_handle >= 0 || is_short(by_handle) ? by_handle : fd;
	}
	if (fd == -ESTALE || fd == -ENOENT || fd == -ENOTDIR) {
		atomic_fetch_add_explicit(&t->stale, 1, memory_order_relaxed);
		return -ESTALE;
	}
	return fd;
}

static int reopen(struct inodes *t, struct inode *i, int depth,
		  struct hold *ret)
{
	int fd = find_again(t, i, depth);

	if (fd < 0)
		return fd;
	atomic_fetch_add_explicit(&t->reopened, 1, memory_order_relaxed);
	(void)pthread_mutex_lock(&t->lock);
	atomic_fetch_add(&i->holds, 1);
	fd = hold_give_locked(t, i, fd);
	*ret = (struct hold){ .inode = i, .fd = i->fd };
	(void)pthread_mutex_unlock(&t->lock);
	close_p(&fd); /* another thread's came first */
	atomic_store(&i->recent, weight(i));
	hold_trim(t);
	return 0;
}

static int begin_at(struct inodes *t, struct inode *i, int depth,
		    struct hold *ret)
{
	unsigned before = atomic_fetch_add(&i->holds, 1);

	if (before & HOLD_CLOSED) {
		atomic_fetch_sub(&i->holds, 1);
		return reopen(t, i, depth, ret);
	}
	if (atomic_load_explicit(&i->recent, memory_order_relaxed) != weight(i))
		atomic_store_explicit(&i->recent, weight(i),
				      memory_order_relaxed);
	*ret = (struct hold){ .inode = i, .fd = i->fd };
	return 0;
}

int hold_begin(struct inodes *t, struct inode *i, struct hold *ret)
{
	return begin_at(t, i, 0, ret);
}

void hold_end(struct hold *h)
{
	unsigned before;

	if (!h->inode)
		return;
	before = atomic_fetch_sub(&h->inode->holds, 1);
	assert(before > 0 && !(before & HOLD_CLOSED));
	*h = (struct hold)HOLD_NONE;
}

/* The table */

void hold_init(struct inodes *t)
{
	union any_handle h;
	CLEANUP(close_p) int fd = -1;

	t->limits = (struct hold_limits){ UINT64_MAX, INT32_MAX };
	if (ask_handle(t->root->fd, 0, &h) < 0)
		return;
	fd = open_by_handle_at(t->root->fd, &h.handle, O_PATH | O_CLOEXEC);
	t->by_handle = fd >= 0;
}

void hold_limit(struct inodes *t, const struct hold_limits *limits)
{
	t->limits = *limits;
}

void hold_from_open_files(struct inodes *t, hold_spare *spare, void *ctx)
{
	t->spare = spare;
	t->spare_ctx = ctx;
}

void hold_stat(struct inodes *t, struct hold_stats *ret)
{
	*ret = (struct hold_stats){ .held = atomic_load(&t->held_count),
				    .closed = atomic_load(&t->closed),
				    .reopened = atomic_load(&t->reopened),
				    .stale = atomic_load(&t->stale) };
}
