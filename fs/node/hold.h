/*
 * The descriptors of inodes: a bounded cache of O_PATH descriptors by use. An
 * inode that is not in use may lose its descriptor to another one, and gets a
 * new one when it is used again:
 *
 *	CLEANUP(hold_end) struct hold h = HOLD_NONE;
 *	int r = hold_begin(fs->inodes, i, &h);
 *
 *	if (r == 0 && fstat(h.fd, &st) == 0)
 *		...
 *
 * A descriptor is closed only if there is a way back: by the file handle, where
 * we may open one, or by a known name, below the nearest directory that is
 * held. What is opened that way is compared with what was closed: number,
 * device, type and time of birth, or else the file handle. If the file is not
 * found again (it was moved or replaced outside the mount), the error is
 * ESTALE, as of a network file system: the kernel then looks the path up again.
 *
 * The root is always held, and so is a file without any name left.
 *
 * Any thread may call these functions; none of them waits for another thread's
 * system call, or for a request.
 */
#ifndef STATETAPE_FS_NODE_HOLD_H
#define STATETAPE_FS_NODE_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct inode;
struct inodes;

struct hold_limits {
	uint64_t inodes; /* descriptors of inodes beyond this are closed */
	int below;	 /* descriptors of inodes have smaller numbers */
};
void hold_limit(struct inodes *t, const struct hold_limits *limits);

/*
 * Another way back: a new O_PATH descriptor of `i`, made from an open file of
 * it; a negative errno: it has none.
 */
typedef int hold_spare(void *ctx, const struct inode *i);
void hold_from_open_files(struct inodes *t, hold_spare *spare, void *ctx);

struct hold {
	struct inode *inode; /* NULL: nothing is held */
	int fd;		     /* open until hold_end() */
};
#define HOLD_NONE        \
	{                \
		.fd = -1 \
	}

/* The caller has a reference, or the kernel a lookup. -ESTALE: it is gone. */
int hold_begin(struct inodes *t, struct inode *i, struct hold *ret);
void hold_end(struct hold *h);

/*
 * openat(2) with O_CLOEXEC, for a descriptor with a number less than `below`.
 * If there is none, descriptors of inodes are closed to make room; -EMFILE or
 * -ENFILE: others hold all of them, and nothing was created.
 */
int hold_openat(struct inodes *t, int dir_fd, const char *name, int flags,
		mode_t mode, int below);

struct hold_stats {
	uint64_t held;	   /* descriptors of inodes */
	uint64_t closed;   /* to make room, so far */
	uint64_t reopened; /* so far */
	uint64_t stale;	   /* inodes used that could not be found again */
};
void hold_stat(struct inodes *t, struct hold_stats *ret);

/* For inode.c. */

/* Try once what we may do; the root is held. */
void hold_init(struct inodes *t);
/* `fd` (taken over) is the descriptor of the new inode `i`. */
void hold_admit_locked(struct inodes *t, struct inode *i, int fd);
/* The same for a known one; -1, or `fd` if it has one already. */
int hold_give_locked(struct inodes *t, struct inode *i, int fd);
bool hold_is_closed(const struct inode *i);
/* Is `fd` the file that `i` was before its descriptor was closed? */
bool hold_is_same(const struct inode *i, int fd);
/* It has a name again: its descriptor may be closed. */
void hold_named_locked(struct inodes *t, struct inode *i);
/* The inode leaves the table. */
void hold_leave_locked(struct inodes *t, struct inode *i);
/* Nothing refers to it any more. */
void hold_release(struct inode *i);
/* Close descriptors if there are too many. */
void hold_trim(struct inodes *t);

#endif
