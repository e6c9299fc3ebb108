/*
 * Operations in flight. A handler changes the file below and then appends the
 * journal line; a reader of the file may see the change before the line. The
 * tape, when it meets a change without a line, asks for all operations in
 * flight to end (flight_wait()): if there is no line after that, the change
 * was made outside the mount.
 *
 * Any thread may call any function here.
 */
#ifndef STATETAPE_FS_FLIGHT_H
#define STATETAPE_FS_FLIGHT_H

#include <stdbool.h>

#include "fs/node/fs.h"

/*
 * Wrap each handler in `ops`, which must hold all of ours: every request
 * passes through fs/tune first, and those that can change a file are counted.
 * Call once, before the session is made.
 */
void flight_wrap(struct fuse_lowlevel_ops *ops);

/*
 * Wait for the operations that began before the call. True: all have ended
 * and their lines are in the journal. False: some took longer than
 * `patience_ms`.
 */
bool flight_wait(int patience_ms);

#endif
