/*
 * The files and directories the kernel knows about. An inode stands for one
 * file of the directory below, held open by an O_PATH descriptor: as long as
 * it is held, its (device, number) pair cannot be given to another file, and
 * whatever happens to its names, we reach it. A link is one name of an inode
 * in a directory, as far as the kernel asked; paths are built from links.
 *
 * One lock guards the whole table: it is held for a hash probe or the walk up
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

struct inode_key {
	uint64_t dev;
	uint64_t ino;
};

struct inode {
	/* Fixed from birth. */
	struct inode_key key;
	int fd;	     /* O_PATH */
	mode_t type; /* S_IFMT bits */
	uint64_t id; /* never used twice: FUSE generation, read-set key */

	/* Free-standing facts, each read and written whole. */
	_Atomic uint64_t stamp; /* version of the content the kernel may hold,
				   0: unknown (inode_stamp()) */
	atomic_bool linked;	/* had several names when last seen */
	atomic_bool setid;	/* set-user-id or set-group-id when last seen */
	atomic_uint opens;	/* handles on it */
	atomic_bool watched;	/* directories: changes below are reported */
	atomic_bool readable;	/* was opened for reading once */
	atomic_bool attr_cached; /* the kernel has its attributes, for long */
	_Atomic uint64_t end;	 /* directories: see ops/dir.c */
	_Atomic uint64_t accounted; /* version the journal accounts for */

	off_t size; /* as `stamp` tells; protected by a lock of pages.c */

	/* Handles by the way they read (pass.h), protected by their lock. */
	uint32_t cached, passed;
	int32_t backing; /* the kernel's number for the file, 0: none */

	/* Protected by the table's lock. */
	uint64_t nlookup; /* what the kernel will forget one day */
	uint32_t refs;	  /* links below it, and callers' references */
	LIST_HEAD(inode_links, inode_link) links; /* newest first */
	struct inode *doomed; /* the next of those about to be freed */
	int wd;		      /* inotify watch, -1: none */
	struct table_node by_key;
	struct table_node by_watch;
};

struct inodes;

/* The table, with `root_fd` (taken over) as its root. */
int inodes_new(int root_fd, struct inodes **ret);
void inodes_free(struct inodes *t);
struct inode *inodes_root(struct inodes *t);

struct inodes_counts {
	uint64_t inodes;  /* the root included */
	uint64_t lookups; /* the root's not included */
};
void inodes_count(struct inodes *t, struct inodes_counts *ret);

/*
 * The inode of `fd` (O_PATH; taken over in every case) whose status is `st`,
 * with one more lookup, known as `name` in `parent` from now on. Without a
 * parent it has no name yet. 1: met for the first time; 0: known before.
 */
int inodes_admit(struct inodes *t, struct inode *parent, const char *name,
		 int fd, const struct stat *st, struct inode **ret);

/* The kernel gives back `n` lookups; the last one frees the inode. */
void inodes_forget(struct inodes *t, struct inode *i, uint64_t n);

/* References keep an inode readable beyond its lookups. */
struct inode *inodes_ref(struct inodes *t, struct inode *i);
void inodes_unref(struct inodes *t, struct inode *i);

/* What stands at `name` in `parent`, a reference, or NULL. */
struct inode *inodes_find(struct inodes *t, struct inode *parent,
			  const char *name);

/* Does the kernel know `name` in `parent`, which is file `ino`, and still have
   the attributes it was told? */
bool inodes_attr_cached(struct inodes *t, struct inode *parent,
			const char *name, uint64_t ino);

/* The file of status `st`, a reference, or NULL. */
struct inode *inodes_find_file(struct inodes *t, const struct stat *st);

/* Names change below us; called after the change was made. */
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
 * Paths relative to the root, "." for the root itself. *ret_gone (if given)
 * tells that the last name was removed; the path is then the last one known.
 * 0 or -ENAMETOOLONG; a file that never had a name is -ENOENT.
 */
int inodes_path(struct inodes *t, struct inode *i, char *buf, size_t size,
		bool *ret_gone);
int inodes_path_in(struct inodes *t, struct inode *parent, const char *name,
		   char *buf, size_t size);

/* Watches: which directory carries number `wd`, a reference, or NULL. */
void inodes_set_watch(struct inodes *t, struct inode *i, int wd);
struct inode *inodes_by_watch(struct inodes *t, int wd);
/* The descriptor from which inodes take their watches away, -1: none. */
void inodes_set_inotify(struct inodes *t, int inotify_fd);

/*
 * Every link, copied: for looking at all names again. The array and the
 * references in it are given back by inodes_names_free().
 */
struct inode_name {
	struct inode *parent;
	char *name;
};
int inodes_names(struct inodes *t, size_t max, struct inode_name **ret,
		 size_t *ret_count);
void inodes_names_free(struct inodes *t, struct inode_name *names,
		       size_t count);

/* One number for the state of a file's content; never 0. */
uint64_t inode_stamp(const struct stat *st);

#endif
