/*
 * Whose process is at the other end of a TCP connection on loopback: the
 * kernel knows the user who opened each socket.
 */
#ifndef STATETAPE_MANAGER_HTTP_PEER_H
#define STATETAPE_MANAGER_HTTP_PEER_H

#include <stdint.h>
#include <sys/types.h>

/* An end of a connection over IPv4, in network byte order. */
struct peer_end {
	uint32_t address;
	uint16_t port;
};

struct peer_socket {
	uid_t uid;
	uint64_t inode; /* as /proc/PID/fd has it */
};

/*
 * The socket of the process that is connected to `fd`. -ENOENT: no process has
 * that socket open any longer. Other errors: the kernel does not tell. Any
 * thread.
 */
int peer_socket(int fd, struct peer_socket *ret);

/* The two ways to ask the kernel, for `theirs` as seen from `ours`. */
int peer_by_netlink(const struct peer_end *theirs, const struct peer_end *ours,
		    struct peer_socket *ret);
/* `file`: /proc/net/tcp, or /proc/net/tcp6 with addresses mapped from IPv4. */
int peer_by_table(const char *file, const struct peer_end *theirs,
		  const struct peer_end *ours, struct peer_socket *ret);

#endif
