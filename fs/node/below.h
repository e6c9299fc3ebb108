/*
 * What can be relied upon of the file system below, by its kind and by the
 * kernel's version. `fd`: the root of the repository, O_PATH will do.
 */
#ifndef STATETAPE_FS_NODE_BELOW_H
#define STATETAPE_FS_NODE_BELOW_H

#include <stdbool.h>

bool below_kernel_at_least(unsigned long major, unsigned long minor);

bool below_has_acl(int fd);

/*
 * A network file system: others change it unannounced, and it keeps some
 * errors for close(2).
 */
bool below_is_remote(int fd);

/* It may lie upon another file system, as overlays do. */
bool below_is_stacked(int fd);

/*
 * Directory positions hold for any descriptor, not just the one they came
 * from.
 */
bool below_positions_last(int fd);

/*
 * A file that was looked at and then changed has other times than before,
 * however quickly the one followed the other.
 */
bool below_times_fine(int fd);

#endif
