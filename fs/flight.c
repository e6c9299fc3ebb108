#include "fs/flight.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fs/author/actor.h"
#include "fs/base/limits.h"
#include "fs/tune/awake.h"
#include "fs/tune/pool.h"
#include "fs/tune/ring.h"
#include "graph/base/cleanup.h"
#include "tape/journal/progress.h"

/* Constant while requests are served. */
static struct {
	struct fuse_lowlevel_ops inner;
	struct progress *progress; /* NULL: there is no tape to know */
} flight;

/* A request: its handler and arguments. Those that it has not are 0. */
struct flight_call {
	void (*run)(const struct flight_call *c);
	fuse_req_t req;
	fuse_ino_t ino, other; /* files or directories */
	const char *name, *name2;
	const void *data; /* `size` bytes */
	size_t size;
	off_t off, off2;
	struct fuse_file_info *fi, *fi2;
	struct stat *attr;
	size_t out_size;
	void *arg; /* of an ioctl, in the caller's memory */
	dev_t rdev;
	unsigned mode;
	int n;
};

/* What is special about the requests of a kind. */
enum flight_kind {
	FLIGHT_CHANGES = 1, /* counted: may change a file */
	FLIGHT_WAITS = 2,   /* for the disk, perhaps for seconds */
	/* The same, where one thread serves a whole processor. */
	FLIGHT_WAITS_IN_RING = 4,
};

/* -- Requests that another thread answers. */

/* A call with its own copies of what libfuse may use again. */
struct flight_handed {
	struct pool_job job;
	struct flight_call call;
	struct ring_queue *ring;
	bool counted;
	unsigned count;
	struct fuse_file_info fi, fi2;
	struct stat attr;
	char text[];
};

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static const char *copy_text(char **at, const char *text)
{
	size_t size = text_size(text);
	char *copy = *at;

	if (!text)
		return NULL;
	memcpy(copy, text, size);
	*at += size;
	return copy;
}

static struct flight_handed *copy_call(const struct flight_call *c)
{
	/* What a ring shares with the kernel stays until the reply. */
	bool stays = ring_has(c->req);
	size_t data = c->data && !stays ? c->size : 0;
	size_t names = stays ? 0 : text_size(c->name) + text_size(c->name2);
	struct flight_handed *h = malloc(sizeof(*h) + names + data);
	char *at;

	if (!h)
		return NULL;
	at = h->text;
	h->call = *c;
	if (!stays) {
		h->call.name = copy_text(&at, c->name);
		h->call.name2 = copy_text(&at, c->name2);
	}
	if (data)
		h->call.data = memcpy(at, c->data, data);
	if (c->fi) {
		h->fi = *c->fi;
		h->call.fi = &h->fi;
	}
	if (c->fi2) {
		h->fi2 = *c->fi2;
		h->call.fi2 = &h->fi2;
	}
	if (c->attr) {
		h->attr = *c->attr;
		h->call.attr = &h->attr;
	}
	return h;
}

static unsigned begin(bool counted)
{
	return counted && flight.progress ? progress_enter(flight.progress) : 0;
}

static void end(bool counted, unsigned count)
{
	if (counted && flight.progress)
		progress_leave(flight.progress, count);
}

static void run(const struct flight_call *c)
{
	actors_begin_request();
	c->run(c);
	actors_end_request();
}

static void run_handed(struct pool_job *job)
{
	struct flight_handed *h = (struct flight_handed *)job;

	ring_begin(h->ring);
	run(&h->call);
	ring_end(h->ring);
	end(h->counted, h->count);
	free(h);
}

/* False: this thread has to run it. */
static bool hand_over(const struct flight_call *c, bool counted, unsigned count)
{
	CLEANUP(free_p) struct flight_handed *h = copy_call(c);

	_Static_assert(offsetof(struct flight_handed, job) == 0,
		       "a handed call is a job");
	if (!h || ring_hand_over(c->req, &h->ring) < 0)
		return false;
	h->job.run = run_handed;
	h->counted = counted;
	h->count = count;
	if (pool_run(&h->job) < 0) {
		ring_end(h->ring);
		return false;
	}
	(void)TAKE(h);
	return true;
}

/* Is the file on another file system than the root, which may be slow? */
static bool is_elsewhere(struct fs *fs, fuse_ino_t ino)
{
	return ino && fs_inode(fs, ino)->key.dev != fs->root_dev;
}

static bool may_wait(const struct flight_call *c, unsigned kind)
{
	struct fs *fs = fs_of(c->req);

	return kind & FLIGHT_WAITS ||
	       (kind & FLIGHT_WAITS_IN_RING && ring_has(c->req)) || fs->flush ||
	       is_elsewhere(fs, c->ino) || is_elsewhere(fs, c->other);
}

/* -- All requests. */

/* First step of each request. */
static void arrive(fuse_req_t req)
{
	awake_request();
	ring_request(req);
}

static void take(const struct flight_call *c, unsigned kind)
{
	bool counted = kind & FLIGHT_CHANGES;
	unsigned count = begin(counted);

	arrive(c->req);
	if (may_wait(c, kind) && hand_over(c, counted, count))
		return;
	run(c);
	end(counted, count);
}

/*
 * The function that libfuse calls for an operation: its parameters, the
 * handler's arguments from the call, and the members of the call.
 */
#define SERVED(op, kind, ...) SERVED_AS(op, kind, __VA_ARGS__)
#define SERVED_AS(op, kind, parameters, arguments, ...)      \
	static void run_##op(const struct flight_call *c)    \
	{                                                    \
		flight.inner.op arguments;                   \
	}                                                    \
	static void take_##op parameters                     \
	{                                                    \
		struct flight_call call = { .run = run_##op, \
					    .req = req,      \
					    __VA_ARGS__ };   \
                                                             \
		take(&call, kind);                           \
	}

#define OF_INODE (fuse_req_t req, fuse_ino_t ino), (c->req, c->ino), .ino = ino
#define OF_HANDLE                                                     \
	(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info * fi), \
		(c->req, c->ino, c->fi), .ino = ino, .fi = fi
#define OF_NAME                                                \
	(fuse_req_t req, fuse_ino_t parent, const char *name), \
		(c->req, c->ino, c->name), .ino = parent, .name = name
#define OF_RANGE                                                 \
	(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, \
	 struct fuse_file_info * fi),                            \
		(c->req, c->ino, c->size, c->off, c->fi),        \
		.ino = ino, .size = size, .off = off, .fi = fi
#define OF_SYNC                                                           \
	(fuse_req_t req, fuse_ino_t ino, int datasync,                    \
	 struct fuse_file_info *fi),                                      \
		(c->req, c->ino, c->n, c->fi), .ino = ino, .n = datasync, \
					       .fi = fi

SERVED(lookup, 0, OF_NAME)
SERVED(getattr, 0, OF_HANDLE)
SERVED(setattr,
       FLIGHT_CHANGES | (to_set & FUSE_SET_ATTR_SIZE ? FLIGHT_WAITS : 0u),
       (fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
	struct fuse_file_info *fi),
       (c->req, c->ino, c->attr, c->n, c->fi), .ino = ino, .attr = attr,
       .n = to_set, .fi = fi)
SERVED(readlink, 0, OF_INODE)
SERVED(mknod, FLIGHT_CHANGES,
       (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	dev_t rdev),
       (c->req, c->ino, c->name, c->mode, c->rdev), .ino = parent, .name = name,
       .mode = mode, .rdev = rdev)
SERVED(mkdir, FLIGHT_CHANGES,
       (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode),
       (c->req, c->ino, c->name, c->mode), .ino = parent, .name = name,
       .mode = mode)
SERVED(symlink, FLIGHT_CHANGES,
       (fuse_req_t req, const char *target, fuse_ino_t parent,
	const char *name),
       (c->req, c->name2, c->ino, c->name), .name2 = target, .ino = parent,
       .name = name)
SERVED(link, FLIGHT_CHANGES,
       (fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name),
       (c->req, c->ino, c->other, c->name), .ino = ino, .other = parent,
       .name = name)
SERVED(create, FLIGHT_CHANGES,
       (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	struct fuse_file_info *fi),
       (c->req, c->ino, c->name, c->mode, c->fi), .ino = parent, .name = name,
       .mode = mode, .fi = fi)
SERVED(unlink, FLIGHT_CHANGES, OF_NAME)
SERVED(rmdir, FLIGHT_CHANGES, OF_NAME)
SERVED(rename, FLIGHT_CHANGES,
       (fuse_req_t req, fuse_ino_t parent, const char *name,
	fuse_ino_t newparent, const char *newname, unsigned flags),
       (c->req, c->ino, c->name, c->other, c->name2, (unsigned)c->n),
       .ino = parent, .name = name, .other = newparent, .name2 = newname,
       .n = (int)flags)
SERVED(open, FLIGHT_CHANGES, OF_HANDLE)
SERVED(read, 0, OF_RANGE)
SERVED(write,
       FLIGHT_CHANGES | (size >= FS_LONG_WRITE ? FLIGHT_WAITS_IN_RING : 0u),
       (fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	struct fuse_file_info *fi),
       (c->req, c->ino, c->data, c->size, c->off, c->fi), .ino = ino,
       .data = buf, .size = size, .off = off, .fi = fi)
SERVED(flush, 0, OF_HANDLE)
SERVED(release, FLIGHT_CHANGES, OF_HANDLE)
SERVED(fsync, FLIGHT_WAITS, OF_SYNC)
SERVED(fallocate, FLIGHT_CHANGES | FLIGHT_WAITS,
       (fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
	struct fuse_file_info *fi),
       (c->req, c->ino, c->n, c->off, c->off2, c->fi), .ino = ino, .n = mode,
       .off = offset, .off2 = length, .fi = fi)
/* NOLINTNEXTLINE(readability-function-size): libfuse's. */
SERVED(copy_file_range, FLIGHT_CHANGES | FLIGHT_WAITS,
       (fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
	struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
	struct fuse_file_info *fi_out, size_t len, int flags),
       (c->req, c->ino, c->off, c->fi, c->other, c->off2, c->fi2, c->size,
	c->n),
       .ino = ino_in, .off = off_in, .fi = fi_in, .other = ino_out,
       .off2 = off_out, .fi2 = fi_out, .size = len, .n = flags)
SERVED(lseek, 0,
       (fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
	struct fuse_file_info *fi),
       (c->req, c->ino, c->off, c->n, c->fi), .ino = ino, .off = off,
       .n = whence, .fi = fi)
SERVED(opendir, 0, OF_HANDLE)
SERVED(readdir, 0, OF_RANGE)
SERVED(readdirplus, 0, OF_RANGE)
SERVED(releasedir, 0, OF_HANDLE)
SERVED(fsyncdir, FLIGHT_WAITS, OF_SYNC)
SERVED(statfs, 0, OF_INODE)
SERVED(setxattr, 0,
       (fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
	size_t size, int flags),
       (c->req, c->ino, c->name, c->data, c->size, c->n), .ino = ino,
       .name = name, .data = value, .size = size, .n = flags)
SERVED(getxattr, 0,
       (fuse_req_t req, fuse_ino_t ino, const char *name, size_t size),
       (c->req, c->ino, c->name, c->size), .ino = ino, .name = name,
       .size = size)
SERVED(listxattr, 0, (fuse_req_t req, fuse_ino_t ino, size_t size),
       (c->req, c->ino, c->size), .ino = ino, .size = size)
SERVED(removexattr, 0, OF_NAME)
/* NOLINTNEXTLINE(readability-function-size): libfuse's. */
SERVED(ioctl, 0,
       (fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg,
	struct fuse_file_info *fi, unsigned flags, const void *in_buf,
	size_t in_size, size_t out_size),
       (c->req, c->ino, c->mode, c->arg, c->fi, (unsigned)c->n, c->data,
	c->size, c->out_size),
       .ino = ino, .mode = cmd, .arg = arg, .fi = fi, .n = (int)flags,
       .data = in_buf, .size = in_size, .out_size = out_size)
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
SERVED(tmpfile, 0,
       (fuse_req_t req, fuse_ino_t parent, mode_t mode,
	struct fuse_file_info *fi),
       (c->req, c->ino, c->mode, c->fi), .ino = parent, .mode = mode, .fi = fi)
#endif

/* These wait for nothing, and have no reply. */
static void take_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	arrive(req);
	flight.inner.forget(req, ino, nlookup);
}

static void take_forget_multi(fuse_req_t req, size_t count,
			      struct fuse_forget_data *forgets)
{
	arrive(req);
	flight.inner.forget_multi(req, count, forgets);
}

#define WRAP(op) (ops->op = take_##op)

void flight_wrap(struct fuse_lowlevel_ops *ops, struct progress *progress)
{
	assert(!flight.inner.open && ops->open && ops->write && ops->rename);
	flight.inner = *ops;
	flight.progress = progress;
	WRAP(open);
	WRAP(release);
	WRAP(write);
	WRAP(fallocate);
	WRAP(copy_file_range);
	WRAP(setattr);
	WRAP(mknod);
	WRAP(mkdir);
	WRAP(symlink);
	WRAP(link);
	WRAP(create);
	WRAP(unlink);
	WRAP(rmdir);
	WRAP(rename);
	WRAP(lookup);
	WRAP(forget);
	WRAP(forget_multi);
	WRAP(getattr);
	WRAP(readlink);
	WRAP(read);
	WRAP(flush);
	WRAP(fsync);
	WRAP(opendir);
	WRAP(readdir);
	WRAP(readdirplus);
	WRAP(releasedir);
	WRAP(fsyncdir);
	WRAP(statfs);
	WRAP(setxattr);
	WRAP(getxattr);
	WRAP(listxattr);
	WRAP(removexattr);
	WRAP(ioctl);
	WRAP(lseek);
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	WRAP(tmpfile);
#endif
}
