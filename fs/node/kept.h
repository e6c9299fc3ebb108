/*
 * The copies of versions that wait for the tape: files in the directory
 * JOURNAL_KEPT of the state directory. FS_KEPT_BYTES and FS_KEPT_FILES limit
 * those that the tape has not read yet. A copy is complete when kept_copy()
 * returns, but not synced: it is of use only until the tape has read it.
 *
 * Any thread may call any function here; they block on the files alone.
 */
#ifndef STATETAPE_FS_NODE_KEPT_H
#define STATETAPE_FS_NODE_KEPT_H

#include <stddef.h>
#include <stdint.h>

struct inode;
struct kept;
struct progress;

/*
 * Open the directory in `state_dir_fd` (not kept), made if absent. What earlier
 * mounts left there counts until the tape has read line `head`. `progress` must
 * outlive it.
 */
int kept_new(int state_dir_fd, const struct progress *progress, uint64_t head,
	     struct kept **ret);
void kept_free(struct kept *k); /* NULL is accepted */

#define KEPT_NAME_MAX 48

/* One copy. */
struct kept_file {
	char name[KEPT_NAME_MAX];
	int64_t len; /* the version's bytes, also when it was not copied */
};

/*
 * Copy the content of `path_fd` (O_PATH): a regular file, or a symbolic link's
 * target. On failure, with the codes of JOURNAL_KEEP, nothing is left and
 * ret->len alone is set. A success is followed by kept_done() or kept_drop().
 */
int kept_copy(struct kept *k, int proc_fd, int path_fd, struct kept_file *ret);
/* Journal line `n` names the copy: it is the tape's now. */
void kept_done(struct kept *k, const struct kept_file *f, uint64_t n);
/* Remove the copy again. */
void kept_drop(struct kept *k, const struct kept_file *f);

struct kept_stats {
	uint64_t files; /* that the tape has not read yet */
	uint64_t bytes;
};
void kept_stat(struct kept *k, struct kept_stats *ret);

#endif
