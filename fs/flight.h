/*
 * The way of each request to its handler. One that may wait for long is
 * answered by another thread (fs/tune/pool.h), so that the others that this
 * thread receives do not wait, too.
 *
 * Operations are counted while in flight. A handler changes the file below and
 * then appends the journal line; a reader of the file may see the change before
 * the line. So operations are counted where the tape sees it, without asking
 * (tape/journal/progress.h): if it meets a change without a line, and there is
 * no line after the operations of that time have ended, the change was made
 * outside the mount.
 */
#ifndef STATETAPE_FS_FLIGHT_H
#define STATETAPE_FS_FLIGHT_H

#include "fs/node/fs.h"

struct progress;

/*
 * Wrap each handler in `ops`, which must hold all of ours: every request
 * passes through fs/tune first, and those that can change a file are counted in
 * `progress` (NULL: nowhere), which must outlive the session. Call once, before
 * the session is made.
 */
void flight_wrap(struct fuse_lowlevel_ops *ops, struct progress *progress);

#endif
