/*
 * A mount namespace of our own: what is mounted in it is seen by us and our
 * children and by nobody else. Root gets one for the asking. An ordinary user
 * gets it inside a user namespace in which he is himself: his own user and
 * group are mapped to themselves and to nothing else, so files keep the owner
 * they show, other owners show as "nobody", and set-user-id programs do not
 * gain anything.
 */
#ifndef STATETAPE_FS_MOUNT_PRIVATE_H
#define STATETAPE_FS_MOUNT_PRIVATE_H

/*
 * Enter one; the calling process must have one thread. Descriptors and the
 * current directory stay where they were. On failure nothing changed, or the
 * process is of no use any more, and *ret_why says so (free it).
 */
int private_enter(char **ret_why);

/*
 * For the process that serves a mount inside: step aside into a copy of the
 * namespace that lacks the mount at `mountpoint`. A namespace lives as long
 * as a process in it, so a server that stayed would keep its own mount alive
 * after the last user left. Best effort.
 */
void private_step_aside(const char *mountpoint);

#endif
