/*
 * The table of inodes as inode.c and hold.c see it. Everything else uses
 * inode.h and hold.h.
 */
#ifndef STATETAPE_FS_NODE_TABLE_H
#define STATETAPE_FS_NODE_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "fs/node/hold.h"
#include "fs/node/inode.h"
#include "graph/base/table.h"

struct inode_link {
	LIST_ENTRY(inode_link) same; /* names of the same inode */
	struct inode *inode;
	struct inode *parent; /* a reference */
	bool gone;	      /* removed, in no table; kept for its path */
	struct table_node by_name;
	char name[];
};

TAILQ_HEAD(inode_queue, inode);

struct inodes {
	pthread_mutex_t lock; /* a leaf: no lock or syscall under it */
	struct table by_key;
	struct table by_watch;
	struct table by_name;
	struct inode *root;
	uint64_t next_id;
	uint64_t lookups;
	_Atomic uint64_t forgotten_ns;
	uint64_t forgotten_line; /* newest of any version that was forgotten */
	atomic_int inotify_fd;

	/* hold.c. Constant while requests are served: */
	struct hold_limits limits;
	bool by_handle; /* open_by_handle_at(2) is permitted */
	hold_spare *spare;
	void *spare_ctx;
	/* Protected by lock: inodes whose descriptor may be closed, the next
	   candidate first. */
	struct inode_queue held;
	atomic_ullong held_count;
	atomic_bool tight; /* numbers have come near their limits */
	atomic_ullong closed, reopened, stale;
};

/* Drop `i` if nothing refers to it; free what was dropped without the lock. */
void inodes_drop_locked(struct inodes *t, struct inode *i,
			struct inode **doomed);
void inodes_free_doomed(struct inodes *t, struct inode *doomed);

#endif
