/*
 * Files below a directory that is open: read, written and removed without ever
 * following a symbolic link or leaving it. Paths are relative to it.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_FILES_H
#define STATETAPE_TOOLS_VERB_UNDO_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/build/tree.h"

/* Larger files are not held in memory. */
#define FILES_TEXT_MAX (16u << 20)

/* A file or a symbolic link, whose text is its target. */
struct file_copy {
	char *path;    /* NULL: there is none */
	char hash[33]; /* of its text, in hexadecimal digits */
	uint32_t mode; /* st_mode, 0: not known */
	char *text;    /* with a NUL behind it; NULL: too large */
	size_t len;
	struct tree_stamp stamp; /* zeros if it was not read from a file */
};

void file_copy_release(struct file_copy *f);
void file_copy_dup(struct file_copy *to, const struct file_copy *from);
/* Sets text (copied) and hash. */
void file_copy_set(struct file_copy *f, const char *text, size_t len);

/*
 * Read what is at `path`. -EISDIR, -EMEDIUMTYPE: something that is neither a
 * file nor a link. Nothing there is no error.
 */
int files_read(int root_fd, const char *path, struct file_copy *ret);
/* Is it still as it was read? */
bool files_is_same(int root_fd, const struct file_copy *f);
/* Could a file be made there: is everything above it a directory, or missing?
 */
bool files_has_room(int root_fd, const char *path);

/*
 * Write `f` under another name in its directory, which is made if it is
 * missing. A mode of 0 becomes that of a new file. With an owner of -1 the
 * owner is this process's.
 */
int files_stage(int root_fd, const struct file_copy *f, const char *name);
/* The path of `name` in the directory of `path` (free it). */
char *files_beside(const char *path, const char *name);

int files_rename(int root_fd, const char *from, const char *to, bool over);
int files_remove(int root_fd, const char *path);
int files_chmod(int root_fd, const char *path, uint32_t mode);
/* Remove the directories above `path` that are empty. */
void files_tidy(int root_fd, const char *path);

#endif
