/*
 * A mount namespace of our own: only we and our children see mounts in it.
 * Root may create one directly. An ordinary user needs a user namespace around
 * it, in which only that user and group are mapped, to themselves: the user's
 * files keep their owner, other owners show as "nobody", and set-user-id
 * programs gain nothing.
 */
#ifndef STATETAPE_FS_MOUNT_PRIVATE_H
#define STATETAPE_FS_MOUNT_PRIVATE_H

/*
 * Enter one; the calling process must have one thread. Descriptors and the
 * current directory stay valid. On failure *ret_why says why (free it); the
 * process may be half way and should exit.
 */
int private_enter(char **ret_why);

/*
 * For the process that serves the mount: move into a copy of the namespace
 * without the mount at `mountpoint`. A namespace lives as long as any process
 * in it, so the server would keep its own mount alive after the last user has
 * left. Best effort.
 */
void private_step_aside(const char *mountpoint);

#endif
