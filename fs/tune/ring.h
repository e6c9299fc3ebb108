/*
 * FUSE over io_uring (Linux 6.14, libfuse 3.18): libfuse has a queue and a
 * thread for each processor, so that a request is answered on the processor of
 * its caller. Used where the administrator has enabled it
 * (/sys/module/fuse/parameters/enable_uring) and has_all_processors() holds.
 *
 * One thread serves a queue, so a handler must never wait for another request
 * of the same mount, and one that may take long is run by another thread, which
 * answers with ring_begin() and ring_end() around the handler.
 */
#ifndef STATETAPE_FS_TUNE_RING_H
#define STATETAPE_FS_TUNE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "fs/node/fs.h"

struct ring_queue;

/*
 * The session option for rings; false: use /dev/fuse alone. A kernel without
 * rings ignores the option.
 */
bool ring_option(const struct fs *fs, char *ret, size_t size);

/* At the start of each request: notes whether it came through a ring. */
void ring_request(fuse_req_t req);

/* Did this request come through a ring? */
bool ring_has(fuse_req_t req);

/* Has any request come through a ring so far? */
bool ring_used(void);

/*
 * On the thread that received the request: another one will answer it. *ret:
 * the request's ring, valid until ring_end(); NULL: it came through /dev/fuse.
 * -ENOMEM: this thread has to answer.
 */
int ring_hand_over(fuse_req_t req, struct ring_queue **ret);

/* Around the handler, on the thread that answers. NULL is accepted. */
void ring_begin(struct ring_queue *ring);
void ring_end(struct ring_queue *ring);

#endif
