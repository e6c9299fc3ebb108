/*
 * The files of a repository that the graph is made of, as they lie on disk.
 * Those are the regular files whose language we know (lang.h), in directories
 * that hold somebody's source. Not looked into are hidden directories,
 * __pycache__, node_modules, and directories that say of themselves that they
 * are an environment (pyvenv.cfg, conda-meta) or a cache (CACHEDIR.TAG).
 *
 * Symbolic links are not followed: what they lead to inside the repository is
 * there under its own name, and what lies outside is not ours to read.
 *
 * Paths are relative to the root, whose descriptor the caller holds. Any
 * thread may call these.
 */
#ifndef STATETAPE_GRAPH_BUILD_TREE_H
#define STATETAPE_GRAPH_BUILD_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/buf.h"

#define TREE_FILE_MAX  (16U << 20)
#define TREE_FILES_MAX (1U << 20)

/* What a file's inode says of its content: if all are the same, so is that. */
struct tree_stamp {
	uint64_t size, inode;
	int64_t mtime_ns, ctime_ns;
};

struct tree_file {
	char *path;
	struct tree_stamp stamp;
};

/*
 * A directory that was looked into. Which names it holds is as its stamp says;
 * a stamp of zeros proves nothing, for there was something about it that can
 * change without its knowing.
 */
struct tree_dir {
	char *path; /* "": the root */
	struct tree_stamp stamp;
};

struct tree {
	struct tree_file *files; /* by the bytes of their paths */
	size_t count;
	struct tree_dir *dirs; /* likewise */
	size_t dirs_count;
	size_t unreadable; /* directories and files left out as such */
	size_t too_large;  /* files beyond TREE_FILE_MAX, left out */
};

/*
 * List the files below `dir` ("": all), with so many threads. A directory that
 * is not there, or is not looked into, has none. What cannot be read is
 * counted. An error is the root's, or -E2BIG: more than TREE_FILES_MAX files.
 */
int tree_list(int root_fd, const char *dir, unsigned threads, struct tree *ret);

/*
 * The same as tree_list() of all, by one who remembers what was there and
 * knows of each place whether it looks the same: only directories that do not
 * are listed. tree_look() for all places comes first, and may be called by
 * several threads; directories are in the order of their paths.
 */
struct tree_place {
	const char *path;
	struct tree_stamp was; /* zeros: that cannot be trusted */
	uint32_t dir;	       /* number of the directory it is in */
	/* Set by tree_look(): */
	bool there; /* as a regular file, as a directory */
	struct tree_stamp now;
	/* tree_list_again()'s: */
	bool same, seen;
};
struct tree_memory {
	struct tree_place *dirs;
	size_t dirs_count;
	struct tree_place *files;
	size_t files_count;
};
void tree_look(int root_fd, struct tree_place *p, bool dir);
int tree_list_again(int root_fd, struct tree_memory *m, struct tree *ret);

/* The number of the directory that `path` is in; of the root: its own. */
uint32_t tree_parent(const struct tree *t, const char *path);
bool tree_same_stamp(const struct tree_stamp *a, const struct tree_stamp *b);

/* Accepts a zeroed struct. */
void tree_release(struct tree *t);

/* Is `path` written as tree_list() writes one: relative, without . and ..? */
bool tree_is_path(const char *path);
/* Would tree_list() name a file of this path, if a regular one is there? */
bool tree_covers(int root_fd, const char *path);
/* Does a file of this name decide whether its directory is looked into? */
bool tree_is_mark(const char *name);

/* A buffer for tree_read(). */
#define TREE_TEXT BUF(TREE_FILE_MAX + 1)

/*
 * Read a file into `text`, in place of what it held. *ret_stamp (if given) is
 * from before the first byte was read. -EMEDIUMTYPE: not a regular file.
 * -EFBIG. What the system says otherwise.
 */
int tree_read(int root_fd, const char *path, struct buf *text,
	      struct tree_stamp *ret_stamp);

#endif
