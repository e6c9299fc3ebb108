/*
 * The table of the files and directories that the kernel knows. An inode is
 * one file of the directory below; hold.h has its descriptor. A link is one
 * name of an inode in a directory, as far as the kernel has looked it up; paths
 * are built from links.
 *
 * One lock guards the whole table. It is held for a hash probe or the walk up
 * a path, never across a system call. Any thread may call any function here.
 */
#ifndef STATETAPE_FS_NODE_INODE_H
#define STATETAPE_FS_NODE_INODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "graph/base/table.h"

struct inode_link;
struct inode_trace;

struct inode_key {
	uint64_t dev;
	uint64_t ino;
};

/*
 * The present version of a file's content: who made it, and whether the tape
 * may have read it. See keep.c.
 */
struct inode_version {
	uint64_t last;	 /* newest journal line that changed it, 0: unknown */
	uint64_t end;	 /* line that finished it, 0: a writer may go on */
	uint64_t born;	 /* line that created the file, 0: or others wrote it */
	uint64_t handle; /* that changed it last, 0: without one */
	uint64_t start;	 /* the author's start time */
	uint32_t pid;	 /* the author, 0: unknown */
	uint32_t changing; /* changes whose line is not in the journal yet */
	uint32_t kept;	   /* versions kept since a writer closed it */
};

struct inode {
	/* Fixed from birth. */
	struct inode_key key;
	mode_t type; /* S_IFMT bits */
	uint64_t id; /* never used twice: FUSE generation, read-set key */

	/* Independent of each other and of any lock. */
	_Atomic uint64_t stamp; /* version of the content the kernel may cache,
				   0: unknown (inode_stamp()) */
	atomic_bool linked;	/* had several names when last seen */
	atomic_bool setid;	/* set-user-id or set-group-id when last seen */
	atomic_uint opens;	/* handles on it */
	atomic_bool watched;	/* directories: has an inotify watch */
	atomic_bool readable;	/* has been opened for reading */
	atomic_bool attr_cached;    /* the kernel has attributes with a long
				       timeout */
	_Atomic uint64_t end;	    /* directories: see ops/dir.c */
	_Atomic uint64_t accounted; /* version the journal accounts for */

	/* The descriptor (hold.c). */
	struct inode_trace *trace; /* what it was when it was closed first */
	TAILQ_ENTRY(inode) held;   /* protected by the table's lock */
	atomic_uint holds;	   /* users of `fd`, or that it is closed */
	int fd;			   /* O_PATH; read by users only */
	atomic_uchar recent;	   /* uses that count when one is closed */
	bool queued;		   /* protected by the table's lock */

	/* Changes of our own (pages.c). Written under the change lock. */
	atomic_uint changing;	  /* in flight */
	_Atomic uint64_t changes; /* ever begun */
	/* Protected by the change lock. */
	bool ours;     /* not changed outside before those in flight */
	bool accounts; /* nor by an unseen store */
	bool outside;  /* changed outside, and the tape has not looked since */
	off_t size;    /* at `stamp` */
	uint64_t own;  /* stamp after our own last change, 0: none yet */
	uint64_t own_ns;	      /* and the ctime */
	struct inode_version version; /* keep.c */

	/* Handles that use pages, and passthrough (pass.h). Protected by
	   fs->handles_lock, as is `backing`. */
	uint32_t cached, passed;
	int32_t backing; /* the kernel's backing id, 0: none */

	/* Protected by the table's lock. */
	uint64_t nlookup; /* lookups that the kernel has not forgotten */
	uint32_t refs;	  /* links in it, and callers' references */
	bool replaced;	  /* another file has its key now */
	LIST_HEAD(inode_links, inode_link) links; /* newest first */
	struct inode *doomed; /* next in the list of inodes to be freed */
	int wd;		      /* inotify watch, -1: none */
	struct table_node by_key;
	struct table_node by_watch;
};

struct inodes;

/* The table, with `root_fd` (taken over) as its root. */
int inodes_new(int root_fd, struct inodes **ret);
void inodes_free(struct inodes *t);
struct inode *inodes_root(struct inodes *t);
int inodes_root_fd(struct inodes *t);

struct inodes_counts {
	uint64_t inodes;  /* the root included */
	uint64_t lookups; /* the root's not included */
};
void inodes_count(struct inodes *t, struct inodes_counts *ret);

/*
 * The inode of `fd` (O_PATH; always taken over) with status `st`: counts one
 * lookup and adds the link `name` in `parent`. `parent` NULL: it has no name
 * yet. 1: the inode is new; 0: it was known.
 */
int inodes_admit(struct inodes *t, struct inode *parent, const char *name,
		 int fd, const struct stat *st, struct inode **ret);
/* The same for a known inode. */
int inodes_admit_again(struct inodes *t, struct inode *i, struct inode *parent,
		       const char *name);

/* The kernel drops `n` lookups; the last one frees the inode. */
void inodes_forget(struct inodes *t, struct inode *i, uint64_t n);

/* A reference keeps an inode valid beyond its lookups. */
struct inode *inodes_ref(struct inodes *t, struct inode *i);
void inodes_unref(struct inodes *t, struct inode *i);

/* The inode known as `name` in `parent`, a reference, or NULL. */
struct inode *inodes_find(struct inodes *t, struct inode *parent,
			  const char *name);

/* Has the kernel cached `name` in `parent`, which is file `ino`, and its
   attributes? */
bool inodes_attr_cached(struct inodes *t, struct inode *parent,
			const char *name, uint64_t ino);

/* The file of status `st`, a reference, or NULL. */
struct inode *inodes_find_file(struct inodes *t, const struct stat *st);

/* Call these after the names were changed below. */
void inodes_add_name(struct inodes *t, struct inode *i, struct inode *parent,
		     const char *name);
void inodes_drop_name(struct inodes *t, struct inode *parent, const char *name);
/* Only if it is still a name of `i`. */
void inodes_drop_name_of(struct inodes *t, const struct inode *i,
			 struct inode *parent, const char *name);
void inodes_move_name(struct inodes *t, struct inode *parent, const char *name,
		      struct inode *to, const char *to_name);
void inodes_swap_names(struct inodes *t, struct inode *parent, const char *name,
		       struct inode *to, const char *to_name);

/*
 * Paths relative to the root, "." for the root itself. *ret_gone (if given) is
 * set if the last name of the file, or of a directory on the way, was removed;
 * the path is then the last one known. A path too long for `buf` is cut at its
 * start. -ENOENT: never had a name; -ENAMETOOLONG: `name` alone does not fit.
 */
int inodes_path(struct inodes *t, struct inode *i, char *buf, size_t size,
		bool *ret_gone);
int inodes_path_in(struct inodes *t, struct inode *parent, const char *name,
		   char *buf, size_t size);

/* Watches by descriptor `wd`: the directory, a reference, or NULL. */
void inodes_set_watch(struct inodes *t, struct inode *i, int wd);
struct inode *inodes_by_watch(struct inodes *t, int wd);
/* The inotify descriptor on which freed inodes remove their watch, -1: none. */
void inodes_set_inotify(struct inodes *t, int inotify_fd);

/* A copy of all links. inodes_names_free() frees it and its references. */
struct inode_name {
	struct inode *parent;
	char *name;
};
int inodes_names(struct inodes *t, struct inode_name **ret, size_t *ret_count);
void inodes_names_free(struct inodes *t, struct inode_name *names,
		       size_t count);

/*
 * Changes until this time (CLOCK_REALTIME) may have been our own though their
 * inode does not say so: the inode that did is gone.
 */
uint64_t inodes_forgotten_ns(struct inodes *t);
/* So may changes until `ns`, by an earlier mount. Before any request. */
void inodes_forgot(struct inodes *t, uint64_t ns);

/* A hash of a file's size and times; never 0. */
uint64_t inode_stamp(const struct stat *st);

#endif
