/*
 * Finds the processes that keep a mount busy, for the message "in use by". It
 * reads /proc and sends no request to the file system, which may hang.
 */
#ifndef STATETAPE_FS_MOUNT_HOLDERS_H
#define STATETAPE_FS_MOUNT_HOLDERS_H

#include <sys/types.h>

#define HOLDERS_MAX 5

/*
 * The processes with a current or root directory, an open file or a mapping on
 * device `dev`, and the first mount found below `mountpoint`, as part of a
 * sentence: "bash (4711, current directory), vim (4712, open file) and
 * others". At most HOLDERS_MAX are named. Free the result. NULL: none that we
 * may see, or memory is short.
 */
char *holders_text(const char *mountpoint, dev_t dev);

#endif
