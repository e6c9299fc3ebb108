/*
 * Which process made a request: the one that has the connection's other socket
 * open (peer.h finds that socket and its user).
 */
#ifndef STATETAPE_MANAGER_HTTP_CALLER_H
#define STATETAPE_MANAGER_HTTP_CALLER_H

#include <pthread.h>
#include <stdint.h>

struct caller {
	uint32_t pid;
	uint64_t start; /* clock ticks since the host's start */
};

/* Those found so far: a connection's is looked for once. */
#define CALLERS_MAX 32
struct callers {
	pthread_mutex_t lock;
	struct {
		uint64_t inode; /* of its socket */
		struct caller caller;
	} known[CALLERS_MAX]; /* protected by lock */
	unsigned next;
};
#define CALLERS_INIT                              \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/*
 * The process that has the socket `inode` open; of several, the oldest.
 * -ENOENT: none of this user in this pid namespace. Any thread may call it; it
 * reads /proc, for milliseconds the first time.
 */
int caller_find(struct callers *known, uint64_t inode, struct caller *ret);

#endif
