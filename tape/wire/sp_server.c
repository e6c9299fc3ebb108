/*
 * One poll(2) serves all clients. Their table belongs to one thread, the
 * server's own or its caller's, so there are no locks; other threads only set
 * `stop` and write the eventfd.
 */
#include "tape/wire/sp_server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/thread.h"

/* Pause after a failed accept (no descriptors, no memory). */
#define DEAF_NS INT64_C(100000000)
/* How long clients may take to read what was sent before the server closed. */
#define FAREWELL_NS INT64_C(100000000)
/* How long a living listener at our path has to greet us. */
#define GREETING_MS 100

/* Where each descriptor's pollfd is. */
enum { SLOT_WAKE, SLOT_LISTEN, SLOT_CLIENTS };
_Static_assert(SP_SERVER_FDS == SLOT_CLIENTS + SP_CLIENTS_MAX, "one each");

struct sp_client {
	struct sp_conn conn; /* without a descriptor: a free place */
	uint64_t mark;
	bool waits; /* for the answer to its message */
};

struct sp_server {
	const struct sp_ops *ops;
	void *ctx;
	char *path;
	dev_t dev; /* the socket's file, which we remove ... */
	ino_t ino; /* ... only if it is still the one we made */
	int listen_fd;
	int wake_fd;
	bool threaded;
	pthread_t thread;
	atomic_bool stop;

	/* Of the thread that serves. */
	bool closing;
	int64_t deaf_until;
	struct sp_client clients[SP_CLIENTS_MAX];
};

unsigned sp_server_tell(struct sp_server *s, uint64_t mark, const char *msg,
			size_t len)
{
	unsigned sent = 0;

	for (size_t i = 0; i < SP_CLIENTS_MAX; i++) {
		struct sp_client *c = &s->clients[i];

		if (!sp_conn_greeted(&c->conn) || c->conn.out ||
		    c->mark >= mark)
			continue;
		c->mark = mark;
		sent++;
		if (sp_conn_send(&c->conn, "", 0, msg, len) < 0)
			sp_conn_release(&c->conn);
	}
	return sent;
}

unsigned sp_server_clients(const struct sp_server *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < SP_CLIENTS_MAX; i++)
		if (sp_conn_greeted(&s->clients[i].conn))
			n++;
	return n;
}

static struct sp_client *server_free_place(struct sp_server *s)
{
	for (size_t i = 0; i < SP_CLIENTS_MAX; i++)
		if (s->clients[i].conn.fd < 0)
			return &s->clients[i];
	return NULL;
}

static void server_accept(struct sp_server *s)
{
	struct sp_client *c = server_free_place(s);
	int fd;

	if (!c)
		return;
	fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0) {
		/* poll() would report it again at once. */
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			s->deaf_until = clock_mono_ns() + DEAF_NS;
		return;
	}
	c->mark = 0;
	if (sp_conn_start(&c->conn, fd, s->ops->self, s->ops->peer,
			  s->ops->keep) < 0)
		sp_conn_release(&c->conn);
}

static void client_release(struct sp_server *s, struct sp_client *c)
{
	if (c->waits)
		s->ops->left(s->ctx, &c->conn);
	c->waits = false;
	sp_conn_release(&c->conn);
}

static int server_receive(struct sp_server *s, struct sp_client *c)
{
	int rc = sp_conn_receive(&c->conn);

	if (rc <= 0 || s->closing || !s->ops->message)
		return rc;
	rc = s->ops->message(s->ctx, &c->conn);
	assert(rc != SP_LATER || s->ops->left);
	c->waits = rc == SP_LATER;
	return rc;
}

static void server_client(struct sp_server *s, struct sp_client *c,
			  short events)
{
	int rc = 0;

	if (events & POLLOUT)
		rc = sp_conn_flush(&c->conn);
	else if (events & POLLIN)
		rc = server_receive(s, c);
	else if (events)
		rc = -ECONNRESET;
	if (rc < 0)
		client_release(s, c);
}

int sp_server_answer(struct sp_server *s, struct sp_conn *conn,
		     const char *head, size_t head_len, const char *body,
		     size_t body_len)
{
	struct sp_client *c =
		(void *)((char *)conn - offsetof(struct sp_client, conn));
	int rc;

	assert(c >= s->clients && c < s->clients + SP_CLIENTS_MAX && c->waits);
	c->waits = false;
	rc = sp_conn_send(conn, head, head_len, body, body_len);
	if (rc < 0)
		sp_conn_release(conn);
	return rc;
}

/* While a client waits for its answer, only its hanging up is of interest. */
static struct pollfd client_poll(const struct sp_client *c)
{
	struct pollfd p = { .fd = c->conn.fd };

	if (!c->waits)
		p.events = sp_conn_events(&c->conn);
	return p;
}

int64_t sp_server_poll(struct sp_server *s, struct pollfd *p)
{
	int64_t deaf = s->deaf_until - clock_mono_ns();
	bool hears = !s->closing && deaf <= 0 && server_free_place(s);

	p[SLOT_WAKE] = (struct pollfd){ .fd = s->wake_fd, .events = POLLIN };
	p[SLOT_LISTEN] = (struct pollfd){ .fd = hears ? s->listen_fd : -1,
					  .events = POLLIN };
	for (size_t i = 0; i < SP_CLIENTS_MAX; i++)
		p[SLOT_CLIENTS + i] = client_poll(&s->clients[i]);
	return deaf > 0 ? deaf : -1;
}

void sp_server_serve(struct sp_server *s, const struct pollfd *p)
{
	eventfd_t ignored;

	if (p[SLOT_WAKE].revents)
		(void)eventfd_read(s->wake_fd, &ignored);
	for (size_t i = 0; i < SP_CLIENTS_MAX; i++)
		if (s->clients[i].conn.fd >= 0 && p[SLOT_CLIENTS + i].revents)
			server_client(s, &s->clients[i],
				      p[SLOT_CLIENTS + i].revents);
	/* Last: a new client must not get the events of its place. */
	if (p[SLOT_LISTEN].revents)
		server_accept(s);
}

/* Sleep at most `ns` (-1: no limit), and serve. */
static void server_step(struct sp_server *s, int64_t ns)
{
	struct pollfd p[SP_SERVER_FDS];
	int64_t deaf = sp_server_poll(s, p);
	struct timespec t;

	if (deaf > 0 && (ns < 0 || ns > deaf))
		ns = deaf;
	t = (struct timespec){ .tv_sec = ns / NS_PER_S,
			       .tv_nsec = ns % NS_PER_S };
	if (ppoll(p, SP_SERVER_FDS, ns < 0 ? NULL : &t, NULL) > 0)
		sp_server_serve(s, p);
}

/* Remove the socket: another server may listen here now. */
static void server_deafen(struct sp_server *s)
{
	struct stat st;

	if (s->ino && lstat(s->path, &st) == 0 && st.st_dev == s->dev &&
	    st.st_ino == s->ino)
		(void)unlink(s->path);
	s->ino = 0;
	if (s->listen_fd >= 0)
		(void)close(take_fd(&s->listen_fd));
}

/*
 * nng does not read the rest of a connection that its peer has closed. So we
 * shut down only our side, which it reads up to, and wait for it to close.
 */
static void server_farewell(struct sp_server *s)
{
	int64_t end = clock_mono_ns() + FAREWELL_NS;

	s->closing = true;
	for (int64_t left = FAREWELL_NS; left > 0;
	     left = end - clock_mono_ns()) {
		if (sp_server_clients(s) == 0)
			return;
		for (size_t i = 0; i < SP_CLIENTS_MAX; i++) {
			const struct sp_conn *c = &s->clients[i].conn;

			if (c->fd >= 0 && !c->out)
				(void)shutdown(c->fd, SHUT_WR);
		}
		server_step(s, left);
	}
}

static void server_end(struct sp_server *s)
{
	server_deafen(s);
	if (s->ops->turn)
		(void)s->ops->turn(s->ctx, s, true);
	server_farewell(s);
}

static void *server_main(void *arg)
{
	struct sp_server *s = arg;

	while (!atomic_load(&s->stop))
		server_step(s,
			    s->ops->turn ? s->ops->turn(s->ctx, s, false) : -1);
	server_end(s);
	return NULL;
}

/*
 * True for a socket that no process listens on; a full queue has a listener.
 * nng 1.5 stops accepting when a client hangs up before it is greeted, so a
 * living listener is given a moment to greet us.
 */
static bool socket_is_dead(const struct sockaddr_un *at)
{
	CLEANUP(close_p) int fd = -1;
	struct pollfd p = { .events = POLLIN };
	struct stat st;

	if (lstat(at->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0)
		return errno == ECONNREFUSED;
	p.fd = fd;
	(void)poll(&p, 1, GREETING_MS);
	return false;
}

/*
 * A socket that is bound but does not listen yet looks like a dead one. The
 * directory is locked from bind(2) to listen(2), so that of two servers that
 * start together neither removes the other's socket.
 */
static int dir_lock(struct sockaddr_un at)
{
	char *slash = strrchr(at.sun_path, '/');
	int fd;

	if (slash)
		slash[1] = '\0';
	fd = open(slash ? at.sun_path : ".",
		  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* On a file system without locks we serve all the same. */
	(void)flock(fd, LOCK_EX);
	return fd;
}

static int address_of(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret->sun_path, path, strlen(path));
	return 0;
}

int sp_server_claim(const char *path, int *ret_lock)
{
	CLEANUP(close_p) int dir_fd = -1;
	struct sockaddr_un at;
	struct stat st;
	int rc = address_of(path, &at);

	if (rc < 0)
		return rc;
	dir_fd = dir_lock(at);
	if (dir_fd < 0)
		return dir_fd;
	if (lstat(path, &st) == 0) {
		if (!socket_is_dead(&at))
			return -EADDRINUSE;
		if (unlink(path) < 0 && errno != ENOENT)
			return -errno;
	}
	*ret_lock = take_fd(&dir_fd);
	return 0;
}

static int server_listen(struct sp_server *s)
{
	struct sockaddr_un at;
	CLEANUP(close_p) int dir_fd = -1;
	struct stat st;
	int rc = sp_server_claim(s->path, &dir_fd);

	if (rc < 0)
		return rc;
	(void)address_of(s->path, &at);
	s->listen_fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* Before bind(2), which creates the file with this mode. */
	if (s->listen_fd < 0 || fchmod(s->listen_fd, 0600) < 0)
		return -errno;
	if (bind(s->listen_fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	if (lstat(s->path, &st) < 0)
		return -errno;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return listen(s->listen_fd, SP_CLIENTS_MAX) < 0 ? -errno : 0;
}

/* All but the thread, which has ended or never began. */
static void server_release(struct sp_server *s)
{
	for (size_t i = 0; i < SP_CLIENTS_MAX; i++)
		client_release(s, &s->clients[i]);
	server_deafen(s);
	close_p(&s->wake_fd);
	free(s->path);
	free(s);
}

static struct sp_server *server_new(const char *path, const struct sp_ops *ops,
				    void *ctx)
{
	struct sp_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ops = ops;
	s->ctx = ctx;
	s->path = strdup(path);
	s->listen_fd = -1;
	s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (size_t i = 0; i < SP_CLIENTS_MAX; i++)
		s->clients[i].conn = SP_CONN_NONE;
	return s;
}

static int server_open(const char *path, const struct sp_ops *ops, void *ctx,
		       bool threaded, struct sp_server **ret)
{
	struct sp_server *s = server_new(path, ops, ctx);
	int rc;

	if (!s)
		return -ENOMEM;
	s->threaded = threaded;
	if (!s->path)
		rc = -ENOMEM;
	else if (s->wake_fd < 0)
		rc = -EMFILE;
	else
		rc = server_listen(s);
	if (rc == 0 && threaded)
		rc = thread_start(&s->thread, server_main, s);
	if (rc < 0) {
		server_release(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int sp_server_open(const char *path, const struct sp_ops *ops, void *ctx,
		   struct sp_server **ret)
{
	return server_open(path, ops, ctx, true, ret);
}

int sp_server_attach(const char *path, const struct sp_ops *ops, void *ctx,
		     struct sp_server **ret)
{
	return server_open(path, ops, ctx, false, ret);
}

void sp_server_free(struct sp_server *s)
{
	if (!s)
		return;
	if (s->threaded) {
		atomic_store(&s->stop, true);
		sp_server_wake(s);
		(void)pthread_join(s->thread, NULL);
	} else {
		server_end(s);
	}
	server_release(s);
}

void sp_server_wake(struct sp_server *s)
{
	/* Fails only on a counter that is full: then it is awake. */
	(void)eventfd_write(s->wake_fd, 1);
}
