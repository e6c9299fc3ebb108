/*
 * FUSE over io_uring (Linux 6.14, libfuse 3.18): a queue and a thread of
 * libfuse's for each processor, so that a request is answered where it was
 * asked. Used where the kernel offers it, which is for the system's owner to
 * decide (/sys/module/fuse/parameters/enable_uring), and where it fits.
 *
 * One thread serves a queue, so a handler must never wait for another request
 * of the same mount.
 */
#ifndef STATETAPE_FS_TUNE_RING_H
#define STATETAPE_FS_TUNE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "fs/node/fs.h"

/*
 * The session's option for rings; false: requests come by the device alone.
 * A kernel that does not offer them ignores it.
 */
bool ring_option(const struct fs *fs, char *ret, size_t size);

/* At the beginning of each request: did it come by a ring? */
bool ring_serves(fuse_req_t req);

/* Has any request come by a ring so far? */
bool ring_used(void);

#endif
