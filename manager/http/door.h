/*
 * Who may use the port. A request is admitted if the process at the other end
 * belongs to our user and the path begins with the run's secret:
 *
 *	http://127.0.0.1:PORT/SECRET/v1/messages
 *
 * The secret is compared in constant time, and is never logged or stored.
 *
 * A connection that has not shown the secret yet may be a neighbour's who
 * wants to use up our connections: when there are too many of them, the oldest
 * is closed, so the agent's next connection always finds a place.
 *
 * Any thread may call.
 */
#ifndef STATETAPE_MANAGER_HTTP_DOOR_H
#define STATETAPE_MANAGER_HTTP_DOOR_H

#include <stdint.h>

struct door;
struct guest; /* a connection */

/* `secret` is copied; NULL: draw one. -EINVAL: not an allowed one. */
int door_new(const char *secret, struct door **ret);
void door_free(struct door *d);
const char *door_secret(const struct door *d);

/*
 * A connection is open, and then about to be closed: `fd` must stay open until
 * guest_leave(). NULL: no memory; nothing is admitted then.
 */
struct guest *guest_enter(struct door *d, int fd);
void guest_leave(struct door *d, struct guest *g);
/*
 * The part of `target` behind the secret, "/" at least; NULL: the request is
 * not admitted.
 */
const char *guest_admit(struct door *d, struct guest *g, const char *target);
/* The inode of the socket at its other end; 0: not known. */
uint64_t guest_socket(const struct guest *g);

#endif
