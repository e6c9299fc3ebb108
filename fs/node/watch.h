/*
 * Keeps the kernel's caches true when somebody changes the directory below
 * without passing through the mount: an inotify watch on every directory the
 * kernel has heard of, and one thread that compares what is there with what
 * the kernel was told, and takes back what differs.
 *
 * Also keeps the number of inodes, each of which costs a descriptor, below
 * the process's limit, by asking the kernel to forget the oldest names.
 */
#ifndef STATETAPE_FS_NODE_WATCH_H
#define STATETAPE_FS_NODE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct fs;
struct inode;
struct watch;

/*
 * Start watching. `inotify`: follow changes below; otherwise only the number
 * of inodes is kept in bounds.
 */
int watch_new(struct fs *fs, bool inotify, struct watch **ret);
/* Stop and join the thread; the session's descriptor may be closed after. */
void watch_free(struct watch *w);

/* Watch directory `i`, before its content or status is read. */
void watch_directory(struct watch *w, struct inode *i);

/* Some directory is not watched: the limit on watches was reached. */
bool watch_incomplete(const struct watch *w);

/* An open file was changed, maybe unreported: look at all of them now. */
void watch_check_open(struct watch *w);
/* One may be changed unreported as long as it is open: look time and again. */
void watch_poll_open(struct watch *w);

/* An inode was added; starts shedding when there are too many. */
void watch_note_size(struct watch *w);
/* Out of descriptors: shed now. */
void watch_evict(struct watch *w);

/*
 * True for names that tools look for in every directory (".gitignore"): the
 * kernel may cache that such a name is missing.
 */
bool watch_is_probed_everywhere(const char *name);

struct watch_stats {
	bool enabled;
	uint64_t dirs;		/* watched so far */
	uint64_t refused;	/* directories that could not be */
	uint64_t overflows;	/* times the kernel's queue ran over */
	uint64_t invalidations; /* things taken back from the kernel */
	uint64_t evicted;	/* names given up to stay in bounds */
};
void watch_stat(const struct watch *w, struct watch_stats *ret);

#endif
