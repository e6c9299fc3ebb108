/*
 * Connections that have not shown the secret are in one of two lists, oldest
 * first: those of our own user's processes, and those of other users, which
 * never leave theirs. Of each list only so many stay (limits.h).
 */
#include "manager/http/door.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "manager/http/limits.h"
#include "manager/http/peer.h"
#include "manager/http/secret.h"

struct guest {
	int fd;
	bool stranger;	 /* another user's */
	uint64_t socket; /* its inode; 0: not known */
	/* Protected by door.lock: */
	bool waiting; /* in a list */
	struct guest *before, *after;
};

struct door_list {
	struct guest *oldest, *newest;
	unsigned count, most;
};

struct door {
	char secret[SECRET_MAX + 1];
	uid_t uid;
	pthread_mutex_t lock; /* a leaf: no other is taken under it */
	struct door_list unknown, strangers; /* protected by lock */
	bool blind; /* protected by lock: the kernel names no user here */
};

int door_new(const char *secret, struct door **ret)
{
	CLEANUP(free_p) struct door *d = NULL;
	int r = 0;

	if (secret && !secret_allows(secret))
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	if (secret)
		memcpy(d->secret, secret, strlen(secret));
	else
		r = secret_draw(d->secret);
	if (r < 0)
		return r;
	d->uid = getuid();
	d->unknown.most = DOOR_UNKNOWN_MAX;
	d->strangers.most = DOOR_STRANGERS_MAX;
	(void)pthread_mutex_init(&d->lock, NULL);
	assert(secret_allows(d->secret));
	*ret = TAKE(d);
	return 0;
}

void door_free(struct door *d)
{
	if (!d)
		return;
	assert(d->unknown.count == 0 && d->strangers.count == 0);
	(void)pthread_mutex_destroy(&d->lock);
	explicit_bzero(d->secret, sizeof(d->secret));
	free(d);
}

const char *door_secret(const struct door *d)
{
	return d->secret;
}

static struct door_list *list_of(struct door *d, const struct guest *g)
{
	return g->stranger ? &d->strangers : &d->unknown;
}

static void remove_locked(struct door *d, struct guest *g)
{
	struct door_list *l = list_of(d, g);

	if (!g->waiting)
		return;
	*(g->before ? &g->before->after : &l->oldest) = g->after;
	*(g->after ? &g->after->before : &l->newest) = g->before;
	g->before = g->after = NULL;
	g->waiting = false;
	assert(l->count > 0);
	l->count--;
}

/* The oldest in the way is shut down; its own thread then closes it. */
static void add_locked(struct door *d, struct guest *g)
{
	struct door_list *l = list_of(d, g);

	if (l->count == l->most) {
		(void)shutdown(l->oldest->fd, SHUT_RDWR);
		remove_locked(d, l->oldest);
	}
	g->before = l->newest;
	*(l->newest ? &l->newest->after : &l->oldest) = g;
	l->newest = g;
	g->waiting = true;
	l->count++;
	assert(l->count <= l->most);
}

/*
 * Where the kernel does not say whose a connection is (a sandbox without
 * /proc), the secret alone decides.
 */
static bool is_stranger(struct door *d, int fd, uint64_t *ret_socket)
{
	struct peer_socket socket = { .uid = (uid_t)-1 };
	int r = peer_socket(fd, &socket);
	bool blind = r < 0 && r != -ENOENT;

	*ret_socket = socket.inode;
	if (blind) {
		(void)pthread_mutex_lock(&d->lock);
		if (!d->blind)
			(void)fprintf(stderr,
				      "statetape: The users of connections "
				      "cannot be found out here (%s): the "
				      "secret in the address alone protects "
				      "the port.\n",
				      strerrordesc_np(-r));
		d->blind = true;
		(void)pthread_mutex_unlock(&d->lock);
	}
	return !blind && (r < 0 || socket.uid != d->uid);
}

struct guest *guest_enter(struct door *d, int fd)
{
	struct guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->fd = fd;
	g->stranger = is_stranger(d, fd, &g->socket);
	(void)pthread_mutex_lock(&d->lock);
	add_locked(d, g);
	(void)pthread_mutex_unlock(&d->lock);
	return g;
}

uint64_t guest_socket(const struct guest *g)
{
	return g ? g->socket : 0;
}

void guest_leave(struct door *d, struct guest *g)
{
	if (!g)
		return;
	(void)pthread_mutex_lock(&d->lock);
	remove_locked(d, g);
	(void)pthread_mutex_unlock(&d->lock);
	free(g);
}

const char *guest_admit(struct door *d, struct guest *g, const char *target)
{
	size_t len = target[0] == '/' ? strcspn(target + 1, "/?") : 0;
	const char *rest = target + 1 + len;

	if (!g || g->stranger || len == 0 || *rest == '?' ||
	    !secret_is(d->secret, target + 1, len))
		return NULL;
	(void)pthread_mutex_lock(&d->lock);
	remove_locked(d, g);
	(void)pthread_mutex_unlock(&d->lock);
	return *rest ? rest : "/";
}
