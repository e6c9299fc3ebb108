/*
 * Which process made a request: the one at the other end of a connection on
 * 127.0.0.1 (peer.h tells its user).
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
 * The process that has the other end of `fd` open; of several, the oldest.
 * -ENOENT: none of this user in this pid namespace. Any thread may call it; it
 * reads /proc, for milliseconds the first time.
 */
int caller_find(struct callers *known, int fd, struct caller *ret);

#endif
