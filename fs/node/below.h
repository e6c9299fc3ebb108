/*
 * Properties of the file system below, by its type and the kernel's version.
 * `fd` is the root of the repository; O_PATH is enough.
 */
#ifndef STATETAPE_FS_NODE_BELOW_H
#define STATETAPE_FS_NODE_BELOW_H

#include <stdbool.h>

bool below_kernel_at_least(unsigned long major, unsigned long minor);

bool below_has_acl(int fd);

/*
 * A network file system: other machines' changes are not reported, and
 * close(2) may return errors of earlier writes.
 */
bool below_is_remote(int fd);

/* It may be stacked on another file system, as an overlay is. */
bool below_is_stacked(int fd);

/*
 * Directory positions are valid for every descriptor of the directory, not
 * only for the one that returned them.
 */
bool below_positions_last(int fd);

/*
 * A change after a stat always changes the file's times, even within one clock
 * tick (multigrain timestamps).
 */
bool below_times_fine(int fd);

#endif
