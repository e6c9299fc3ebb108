/*
 * Files are created in the name of the caller. A worker thread takes on the
 * caller's fsuid, fsgid and umask before it creates something, and keeps them
 * until another caller needs others: since all our capabilities stay, they
 * only determine owner and mode of new files.
 */
#ifndef STATETAPE_FS_NODE_CRED_H
#define STATETAPE_FS_NODE_CRED_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Call before any thread is started. False: we may not act for other users,
 * and new files belong to us (an ordinary user's mount serves that user only).
 */
bool cred_init(void);

/* Can we read such a file whatever its mode becomes? */
bool cred_covers(const struct stat *st);

/* Take on the caller's identity and umask on this thread. */
void cred_assume(uid_t uid, gid_t gid, mode_t umask_bits);

#endif
