#include "fs/flight.h"

#include <assert.h>

#include "fs/tune/awake.h"
#include "fs/tune/ring.h"
#include "tape/journal/progress.h"

/* Constant while requests are served. */
static struct {
	struct fuse_lowlevel_ops inner;
	struct progress *progress; /* NULL: there is no tape to know */
} flight;

static unsigned begin(void)
{
	return flight.progress ? progress_enter(flight.progress) : 0;
}

static void end(unsigned count)
{
	if (flight.progress)
		progress_leave(flight.progress, count);
}

/* First step of each request. */
static void arrive(fuse_req_t req)
{
	awake_request();
	ring_request(req);
}

/* Parameters and arguments shared by several operations. */
#define OF_INODE (fuse_req_t req, fuse_ino_t ino), (req, ino)
#define OF_HANDLE                                                     \
	(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info * fi), \
		(req, ino, fi)
#define OF_NAME                                                \
	(fuse_req_t req, fuse_ino_t parent, const char *name), \
		(req, parent, name)
#define OF_RANGE                                                 \
	(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, \
	 struct fuse_file_info * fi),                            \
		(req, ino, size, off, fi)
#define OF_SYNC                                        \
	(fuse_req_t req, fuse_ino_t ino, int datasync, \
	 struct fuse_file_info *fi),                   \
		(req, ino, datasync, fi)

#define COUNTED(op, ...) COUNTED_AS(op, __VA_ARGS__)
#define COUNTED_AS(op, parameters, arguments) \
	static void wrapped_##op parameters   \
	{                                     \
		unsigned count = begin();     \
                                              \
		arrive(req);                  \
		flight.inner.op arguments;    \
		end(count);                   \
	}

#define PASSED(op, ...) PASSED_AS(op, __VA_ARGS__)
#define PASSED_AS(op, parameters, arguments) \
	static void wrapped_##op parameters  \
	{                                    \
		arrive(req);                 \
		flight.inner.op arguments;   \
	}

COUNTED(open, OF_HANDLE)
COUNTED(release, OF_HANDLE)
COUNTED(write,
	(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
	 off_t off, struct fuse_file_info *fi),
	(req, ino, buf, size, off, fi))
COUNTED(fallocate,
	(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
	 struct fuse_file_info *fi),
	(req, ino, mode, offset, length, fi))
/* NOLINTNEXTLINE(readability-function-size): libfuse's. */
COUNTED(copy_file_range,
	(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
	 struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
	 struct fuse_file_info *fi_out, size_t len, int flags),
	(req, ino_in, off_in, fi_in, ino_out, off_out, fi_out, len, flags))
COUNTED(setattr,
	(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
	 struct fuse_file_info *fi),
	(req, ino, attr, to_set, fi))
COUNTED(mknod,
	(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	 dev_t rdev),
	(req, parent, name, mode, rdev))
COUNTED(mkdir,
	(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode),
	(req, parent, name, mode))
COUNTED(symlink,
	(fuse_req_t req, const char *target, fuse_ino_t parent,
	 const char *name),
	(req, target, parent, name))
COUNTED(link,
	(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name),
	(req, ino, parent, name))
COUNTED(create,
	(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	 struct fuse_file_info *fi),
	(req, parent, name, mode, fi))
COUNTED(unlink, OF_NAME)
COUNTED(rmdir, OF_NAME)
COUNTED(rename,
	(fuse_req_t req, fuse_ino_t parent, const char *name,
	 fuse_ino_t newparent, const char *newname, unsigned flags),
	(req, parent, name, newparent, newname, flags))

PASSED(lookup, OF_NAME)
PASSED(forget, (fuse_req_t req, fuse_ino_t ino, uint64_t nlookup),
       (req, ino, nlookup))
PASSED(forget_multi,
       (fuse_req_t req, size_t count, struct fuse_forget_data *forgets),
       (req, count, forgets))
PASSED(getattr, OF_HANDLE)
PASSED(readlink, OF_INODE)
PASSED(read, OF_RANGE)
PASSED(flush, OF_HANDLE)
PASSED(fsync, OF_SYNC)
PASSED(opendir, OF_HANDLE)
PASSED(readdir, OF_RANGE)
PASSED(readdirplus, OF_RANGE)
PASSED(releasedir, OF_HANDLE)
PASSED(fsyncdir, OF_SYNC)
PASSED(statfs, OF_INODE)
PASSED(setxattr,
       (fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
	size_t size, int flags),
       (req, ino, name, value, size, flags))
PASSED(getxattr,
       (fuse_req_t req, fuse_ino_t ino, const char *name, size_t size),
       (req, ino, name, size))
PASSED(listxattr, (fuse_req_t req, fuse_ino_t ino, size_t size),
       (req, ino, size))
PASSED(removexattr, (fuse_req_t req, fuse_ino_t ino, const char *name),
       (req, ino, name))
/* NOLINTNEXTLINE(readability-function-size): libfuse's. */
PASSED(ioctl,
       (fuse_req_t req, fuse_ino_t ino, unsigned int cmd, void *arg,
	struct fuse_file_info *fi, unsigned flags, const void *in_buf,
	size_t in_size, size_t out_size),
       (req, ino, cmd, arg, fi, flags, in_buf, in_size, out_size))
PASSED(lseek,
       (fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
	struct fuse_file_info *fi),
       (req, ino, off, whence, fi))
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
PASSED(tmpfile,
       (fuse_req_t req, fuse_ino_t parent, mode_t mode,
	struct fuse_file_info *fi),
       (req, parent, mode, fi))
#endif

#define WRAP(op) (ops->op = wrapped_##op)

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
