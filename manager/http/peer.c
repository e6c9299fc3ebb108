/*
 * NETLINK_SOCK_DIAG finds one socket by its two ends; /proc/net/tcp lists all
 * of them, which takes milliseconds and grows with their number, so it is asked
 * only where sock_diag is missing.
 *
 * A socket that its process has closed stays in both, as user 0: it may still
 * have bytes under way to us. It has no inode, which is how it is told apart.
 */
#include "manager/http/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "graph/base/cleanup.h"

struct peer_question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 ask;
};

static int read_answer(int fd, struct peer_socket *ret)
{
	union {
		struct nlmsghdr head;
		char bytes[8192];
	} in;
	const struct nlmsgerr *error = NLMSG_DATA(&in.head);
	const struct inet_diag_msg *m = NLMSG_DATA(&in.head);
	ssize_t len = recv(fd, &in, sizeof(in), 0);

	if (len < 0)
		return -errno;
	if (!NLMSG_OK(&in.head, (size_t)len))
		return -EBADMSG;
	if (in.head.nlmsg_type == NLMSG_ERROR &&
	    in.head.nlmsg_len >= NLMSG_LENGTH(sizeof(*error)))
		return error->error < 0 ? error->error : -EBADMSG;
	if (in.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    in.head.nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return -EBADMSG;
	if (m->idiag_inode == 0)
		return -ENOENT;
	*ret = (struct peer_socket){ m->idiag_uid, m->idiag_inode };
	return 0;
}

int peer_by_netlink(const struct peer_end *theirs, const struct peer_end *ours,
		    struct peer_socket *ret)
{
	CLEANUP(close_p)
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
			NETLINK_SOCK_DIAG);
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct peer_question q = {
		.head = { .nlmsg_len = sizeof(q),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.ask = { .sdiag_family = AF_INET,
			 .sdiag_protocol = IPPROTO_TCP,
			 .id = { .idiag_sport = theirs->port,
				 .idiag_dport = ours->port,
				 .idiag_src = { theirs->address },
				 .idiag_dst = { ours->address },
				 .idiag_cookie = { INET_DIAG_NOCOOKIE,
						   INET_DIAG_NOCOOKIE } } },
	};

	if (fd < 0)
		return -errno;
	if (sendto(fd, &q, sizeof(q), 0, (struct sockaddr *)&kernel,
		   sizeof(kernel)) < 0)
		return -errno;
	return read_answer(fd, ret);
}

/* An end as the table prints it. An IPv6 address is printed word by word. */
static void print_end(const struct peer_end *e, bool mapped, char *to,
		      size_t size)
{
	(void)snprintf(to, size, "%s%08" PRIX32 ":%04" PRIX16,
		       mapped ? "0000000000000000FFFF0000" : "", e->address,
		       ntohs(e->port));
}

int peer_by_table(const char *file, const struct peer_end *theirs,
		  const struct peer_end *ours, struct peer_socket *ret)
{
	CLEANUP(fclose_p) FILE *f = fopen(file, "re");
	bool mapped = strchr(file, '6') != NULL;
	char line[512], one[64], other[64], from[64], to[64];
	unsigned uid;
	uint64_t inode;

	if (!f)
		return -errno;
	print_end(theirs, mapped, one, sizeof(one));
	print_end(ours, mapped, other, sizeof(other));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, /* NOLINT(cert-err34-c): the kernel's */
			   " %*d: %63s %63s %*x %*x:%*x %*x:%*x %*x %u %*d "
			   "%" SCNu64,
			   from, to, &uid, &inode) == 4 &&
		    strcmp(from, one) == 0 && strcmp(to, other) == 0) {
			if (inode == 0)
				return -ENOENT;
			*ret = (struct peer_socket){ uid, inode };
			return 0;
		}
	return -ENOENT;
}

static int end_of(int (*name)(int, struct sockaddr *, socklen_t *), int fd,
		  struct peer_end *ret)
{
	struct sockaddr_in at = { 0 };
	socklen_t len = sizeof(at);

	if (name(fd, (struct sockaddr *)&at, &len) < 0)
		return -errno;
	if (at.sin_family != AF_INET)
		return -EAFNOSUPPORT;
	*ret = (struct peer_end){ at.sin_addr.s_addr, at.sin_port };
	return 0;
}

int peer_socket(int fd, struct peer_socket *ret)
{
	struct peer_end theirs = { 0 }, ours = { 0 };
	int r = end_of(getpeername, fd, &theirs);

	if (r == -ENOTCONN)
		return -ENOENT;
	if (r == 0)
		r = end_of(getsockname, fd, &ours);
	if (r < 0)
		return r;
	r = peer_by_netlink(&theirs, &ours, ret);
	if (r == 0 || r == -ENOENT)
		return r;
	r = peer_by_table("/proc/net/tcp", &theirs, &ours, ret);
	if (r == -ENOENT && access("/proc/net/tcp6", R_OK) == 0)
		r = peer_by_table("/proc/net/tcp6", &theirs, &ours, ret);
	return r;
}
