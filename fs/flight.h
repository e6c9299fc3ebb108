/*
 * Operations under way. A handler changes the file below and then writes the
 * journal's line, and between the two whoever looks at the file sees a change
 * that no line tells of yet. Who has seen one waits for everything that is
 * under way (flight_wait()): if there is no line then, there will be none, and
 * the change did not come through the mount.
 *
 * Any thread may call any function here.
 */
#ifndef STATETAPE_FS_FLIGHT_H
#define STATETAPE_FS_FLIGHT_H

#include <stdbool.h>

#include "fs/node/fs.h"

/*
 * From now on the worker of each operation of `ops`, which has all of ours,
 * goes to its caller (near.h), and every one that can change a file is counted.
 */
void flight_wrap(struct fuse_lowlevel_ops *ops);

/*
 * True: all that began before the call has ended, its lines are in the
 * journal. False: some of it takes longer than `patience_ms`.
 */
bool flight_wait(int patience_ms);

#endif
