/*
 * State shared by all parts of the file system process. serve.c builds one
 * struct fs before the first request and frees it after the last.
 */
#ifndef STATETAPE_FS_NODE_FS_H
#define STATETAPE_FS_NODE_FS_H

#define FUSE_USE_VERSION 314

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "fs/author/actor.h"
#include "fs/author/reads.h"
#include "fs/base/limits.h"
#include "fs/node/hold.h"
#include "fs/node/inode.h"
#include "tape/journal/journal.h"
#include "tape/wire/bell.h"

struct keep;
struct progress;
struct watch;

struct fs {
	struct fuse_session *session;
	struct inodes *inodes;
	struct actors *actors;
	struct reads *reads;
	struct journal *journal;   /* NULL: not logging */
	struct progress *progress; /* shared with the tape; NULL: none */
	struct keep *keep;	   /* NULL: versions are not kept (keep.h) */
	struct bell *bell;	   /* NULL: no notifications */
	struct watch *watch;	   /* NULL: not watching */
	int proc_fd;		   /* /proc/self/fd, opened before mounting */
	int files_below;	   /* open files' descriptors are below this, */
	int inodes_below;	   /* and inodes' below this */
	uint64_t root_dev;
	bool root;	     /* we act for all users, with all capabilities */
	bool dirs_stateless; /* no handles for directories (ops/dir.c) */
	bool directs;	     /* direct writes drop stale pages (ops/make.c) */
	bool passes;	     /* passthrough is available (pass.h) */
	bool flush;	     /* close(2) may fail below: do it on each FLUSH */
	bool explicit;	     /* only we drop the kernel's pages (pages.h) */
	bool fine_times;     /* every change changes the times (below.h) */
	double timeout;	     /* seconds the kernel may cache, where watched */

	pthread_mutex_t change_locks[FS_CHANGE_LOCKS]; /* see pages.c */

	pthread_mutex_t handles_lock; /* before the lock of struct inodes */
	LIST_HEAD(open_handles, handle) handles; /* protected by handles_lock */
	uint64_t handles_count;			 /* protected by handles_lock */
	uint64_t handles_ever;			 /* protected by handles_lock */

	atomic_ullong ops[JOURNAL_OPS];
	atomic_ullong opens_kept;    /* opens that kept the kernel's pages */
	atomic_ullong opens_dropped; /* opens that found them outdated */
	atomic_ullong opens_passed;  /* opens that use passthrough */
	atomic_ullong opens_refused; /* for want of descriptors */
};

/* An open file or directory. */
struct handle {
	LIST_ENTRY(handle) open; /* protected by fs->handles_lock */
	uint64_t id;		 /* never used twice, not 0 */
	atomic_int fd;		 /* -1: not open below yet (handle_fd()) */
	bool writable;
	bool passed, counted; /* pass.h */
	atomic_bool wrote;
	struct inode *inode;	/* a reference */
	struct hold hold;	/* of the inode, until there is `fd` */
	struct actor *opener;	/* a reference, NULL: unknown */
	struct dir_stream *dir; /* directories: see ops/dir.c */
};

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* FUSE numbers a file by its inode's address, the root by 1. */
static inline struct inode *fs_inode(struct fs *fs, fuse_ino_t ino)
{
	void *address;

	_Static_assert(sizeof(address) == sizeof(ino),
		       "a number is an address");
	if (ino == FUSE_ROOT_ID)
		return inodes_root(fs->inodes);
	memcpy(&address, &ino, sizeof(ino));
	return address;
}

static inline fuse_ino_t fs_ino(struct fs *fs, const struct inode *i)
{
	if (i == inodes_root(fs->inodes))
		return FUSE_ROOT_ID;
	return (fuse_ino_t)(uintptr_t)i;
}

/* NULL: a directory that the kernel opened without a request. */
static inline struct handle *fs_handle(const struct fuse_file_info *fi)
{
	void *address;

	_Static_assert(sizeof(address) == sizeof(fi->fh),
		       "a number is an address");
	memcpy(&address, &fi->fh, sizeof(fi->fh));
	return address;
}

/* A descriptor's name below fs->proc_fd, and its absolute path. */
struct fs_fd_name {
	char path[sizeof("/proc/self/fd/") + 11];
	const char *name; /* the number alone, inside path */
};
void fs_fd_name(int fd, struct fs_fd_name *ret);

/*
 * This worker's own buffer of FS_REQUEST_MAX bytes, good until its next
 * request; NULL: memory is short.
 */
char *fs_buffer(void);

/* openat(2) with O_CLOEXEC, for an open file. */
int fs_openat(struct fs *fs, int dir_fd, const char *name, int flags,
	      mode_t mode);

/* Open the inode's file for I/O. A descriptor or a negative errno. */
int fs_reopen(struct fs *fs, struct inode *i, int flags);

/* The inode's present status. */
int fs_stat(struct fs *fs, struct inode *i, struct stat *ret);

/* A hold_spare: `ctx` is a struct fs. */
int fs_spare(void *ctx, const struct inode *i);

/* Change `st` into the attributes that the kernel gets. */
void fs_attr(struct fs *fs, struct inode *i, struct stat *st);
/* Seconds to cache `st`. `dir`: the file's directory; NULL: unknown. */
double fs_attr_timeout(struct fs *fs, const struct inode *dir,
		       const struct stat *st);

/* Note that the kernel gets attributes of `i`, valid for `timeout`. */
void fs_attr_sent(const struct fs *fs, struct inode *i, double timeout);

/*
 * Look `name` up below and fill *e, counting one lookup. -ENOENT: no such
 * name.
 */
int fs_entry(struct fs *fs, struct inode *parent, const char *name,
	     struct fuse_entry_param *e);
/* The same for a known inode that has the new name `name`. */
int fs_entry_again(struct fs *fs, struct inode *i, struct inode *parent,
		   const char *name, struct fuse_entry_param *e);

struct handle *handle_new(struct fs *fs, struct inode *i, int fd, int flags);
/* Only for reading, not open yet: handle_fd() opens it. Takes `hold` over. */
struct handle *handle_new_lazy(struct fs *fs, struct hold *hold);
/* Its descriptor, or a negative errno. */
int handle_fd(struct fs *fs, struct handle *h);
void handle_free(struct fs *fs, struct handle *h);
uint64_t handles_count(struct fs *fs);
/* The inodes of open files, each a reference; may name one twice. */
size_t handles_inodes(struct fs *fs, struct inode ***ret);
/*
 * After the last request: journal and free the handles that are left. The
 * kernel does not wait for RELEASE, and a quick unmount loses it.
 */
void handles_end(struct fs *fs);

/* After a write by other than root: drop the set-id bits of `fd`, which is `i`.
 */
void fs_drop_setid(fuse_req_t req, struct inode *i, int fd);

/* Is the caller in group `gid`? Reads /proc: not for the hot path. */
bool fs_in_group(fuse_req_t req, gid_t gid);

#endif
