/*
 * The files on disk that the graph is made of: the regular files of a known
 * language (lang.h), in directories that hold source. Excluded are hidden
 * directories, __pycache__, node_modules, and directories marked as an
 * environment (pyvenv.cfg, conda-meta) or a cache (CACHEDIR.TAG).
 *
 * Symbolic links are not followed: a target inside the repository has its own
 * path, and a target elsewhere does not belong to the repository.
 *
 * Paths are relative to the root, whose descriptor the caller holds. Any
 * thread may call these functions.
 */
#ifndef STATETAPE_GRAPH_BUILD_TREE_H
#define STATETAPE_GRAPH_BUILD_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/buf.h"

#define TREE_FILE_MAX  (16U << 20)
#define TREE_FILES_MAX (1U << 20)

/* From a file's inode: with equal stamps, the content is the same. */
struct tree_stamp {
	uint64_t size, inode;
	int64_t mtime_ns, ctime_ns;
	uint32_t mode; /* st_mode, 0: not known; never compared: a change of it
			* changes ctime_ns */
};

struct tree_file {
	char *path;
	struct tree_stamp stamp;
};

/*
 * A directory that was listed. While its stamp is the same, it holds the same
 * names. A stamp of zeros never matches: the listing depended on something
 * that can change without changing the directory.
 */
struct tree_dir {
	char *path; /* "": the root */
	struct tree_stamp stamp;
};

struct tree {
	struct tree_file *files; /* sorted by strcmp() of their paths */
	size_t count;
	struct tree_dir *dirs; /* sorted by strcmp() of their paths */
	size_t dirs_count;
	size_t unreadable; /* directories that could not be read */
	size_t too_large;  /* files beyond TREE_FILE_MAX, left out */
};

/*
 * List the files below `dir` ("": all), with `threads` threads, at least one. A
 * directory that does not exist or is excluded has none. Directories that
 * cannot be read are counted. Fails with an error of reading the root, or
 * -E2BIG: more than TREE_FILES_MAX files.
 */
int tree_list(int root_fd, const char *dir, unsigned threads, struct tree *ret);

/*
 * tree_list_again() gives what tree_list() of all would, but lists only
 * directories that changed since the last run. The caller supplies the places
 * of that run, directories sorted by path, and first calls tree_look() for each
 * of them, from any number of threads.
 */
struct tree_place {
	const char *path;
	struct tree_stamp was; /* zeros: not to be trusted */
	uint32_t dir;	       /* number of the directory it is in */
	/* Set by tree_look(): */
	bool there; /* it is a regular file, or a directory, as before */
	struct tree_stamp now;
	/* Used by tree_list_again(): */
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

/* The number of the directory that `path` is in; for the root its own. */
uint32_t tree_parent(const struct tree *t, const char *path);
bool tree_same_stamp(const struct tree_stamp *a, const struct tree_stamp *b);

/* Accepts a zeroed struct. */
void tree_release(struct tree *t);

/* Is `path` written as tree_list() writes one: relative, without . and ..? */
bool tree_is_path(const char *path);
/* Would tree_list() name a file of this path, if a regular one is there? */
bool tree_covers(int root_fd, const char *path);
/* Does a file of this name exclude its directory? */
bool tree_is_mark(const char *name);

/* A buffer for tree_read(). */
#define TREE_TEXT BUF(TREE_FILE_MAX + 1)

/*
 * Read a file into `text`, replacing its contents. *ret_stamp (if not NULL) is
 * from before the first byte was read. -EMEDIUMTYPE: not a regular file.
 * -EFBIG: larger than TREE_FILE_MAX. Else an error of the system.
 */
int tree_read(int root_fd, const char *path, struct buf *text,
	      struct tree_stamp *ret_stamp);

#endif
