/*
 * Files are made in the name of the caller. A worker thread takes on the
 * caller's file-system user, group and umask before it makes something, and
 * keeps them until another caller's turn: while all capabilities stay with
 * us they matter for nothing but the owner and mode of what is made.
 */
#ifndef STATETAPE_FS_NODE_CRED_H
#define STATETAPE_FS_NODE_CRED_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Call before any thread is started. False: we may not act for others, and
 * all files made belong to us (an ordinary user's mount serves only him).
 */
bool cred_init(void);

/* May we read such a file whatever becomes of its mode? */
bool cred_covers(const struct stat *st);

/* Take on the caller's identity and umask on this thread. */
void cred_assume(uid_t uid, gid_t gid, mode_t umask_bits);

#endif
