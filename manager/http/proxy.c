/*
 * One thread per connection: MHD's callbacks may block, so each thread pulls
 * its reply from its own transfer; order and back-pressure need no queue.
 *
 * Shutdown: accept no more connections; wait for replies under way, up to the
 * grace; then upstream_stop() wakes each thread that waits for upstream, and
 * MHD shuts the sockets down, which wakes those that wait for a client.
 */
#include "manager/http/proxy.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "manager/http/limits.h"
#include "manager/http/proxy_i.h"
#include "manager/http/upstream.h"
#include "manager/report/report.h"

#define DRAIN_LOOK_MS 10

static void *on_first_line(void *arg, const char *target,
			   struct MHD_Connection *connection)
{
	return visit_new(arg, target, connection);
}

/* NOLINTNEXTLINE(readability-function-size): MHD's type. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *bytes,
				  size_t *len, void **visit)
{
	struct visit *v = *visit;
	enum MHD_Result r;

	(void)arg;
	(void)connection;
	(void)url;
	(void)version;
	if (!v)
		return MHD_NO;
	if (!visit_has_begun(v))
		return visit_begin(v, method);
	if (*len == 0)
		return visit_answer(v);
	r = visit_take(v, bytes, *len);
	*len = 0;
	return r;
}

static void on_end(void *arg, struct MHD_Connection *connection, void **visit,
		   enum MHD_RequestTerminationCode why)
{
	(void)arg;
	(void)connection;
	(void)why;
	visit_free(*visit);
	*visit = NULL;
}

/* At a connection's begin, and before its socket is closed. */
static void on_connection(void *arg, struct MHD_Connection *connection,
			  void **guest,
			  enum MHD_ConnectionNotificationCode what)
{
	struct proxy *s = arg;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		guest_leave(s->door, *guest);
		*guest = NULL;
		return;
	}
	info = MHD_get_connection_info(connection,
				       MHD_CONNECTION_INFO_CONNECTION_FD);
	*guest = info ? guest_enter(s->door, info->connect_fd) : NULL;
}

/* The part of a URL behind "://". */
static const char *host_of(const char *url)
{
	return strstr(url, "://") + 3;
}

static bool is_url(const char *url)
{
	if (strncasecmp(url, "http://", 7) != 0 &&
	    strncasecmp(url, "https://", 8) != 0)
		return false;
	return !strchr("/?#", *host_of(url)) && !strpbrk(url, " #?\r\n\t");
}

/* Would a request to `url` come back to us? */
static bool is_ourselves(const char *url, uint16_t port)
{
	static const char *const names[] = { "127.0.0.1", "localhost",
					     "[::1]" };
	const char *host = host_of(url);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]);

		if (strncasecmp(host, names[i], len) == 0 && host[len] == ':' &&
		    strtoul(host + len + 1, NULL, 10) == port)
			return true;
	}
	return false;
}

static int copy_bases(struct proxy *s, const struct proxy_config *c)
{
	for (int i = 0; i < APIS; i++) {
		if (!c->bases[i] || !is_url(c->bases[i]))
			return -EINVAL;
		s->bases[i] = strdup(c->bases[i]);
		if (!s->bases[i])
			return -ENOMEM;
	}
	return 0;
}

static int listen_on(uint16_t port, int *ret_fd)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	CLEANUP(close_p)
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	/* Rebind at once after a crash, though old connections linger. */
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(fd, PROXY_BACKLOG) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Checks that it listens on loopback. It must not block: MHD polls. */
static int prepare_listener(int fd, uint16_t *ret_port)
{
	struct sockaddr_in at = { 0 };
	socklen_t len = sizeof(at);
	int listens = 0, flags = fcntl(fd, F_GETFL);
	socklen_t size = sizeof(listens);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return -errno;
	if (!listens || at.sin_family != AF_INET ||
	    at.sin_addr.s_addr != htonl(INADDR_LOOPBACK))
		return -ENOTSOCK;
	*ret_port = ntohs(at.sin_port);
	return 0;
}

/*
 * MHD's log stays off: it may quote what it cannot parse, keys included. So
 * does its Date header: a reply has upstream's.
 */
static int serve(struct proxy *s, int listen_fd)
{
	unsigned flags = MHD_USE_THREAD_PER_CONNECTION |
			 MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
			 MHD_USE_ITC | MHD_USE_SUPPRESS_DATE_NO_CLOCK;

	errno = 0;
	s->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET,
		listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)PROXY_CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)PROXY_CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)PROXY_IDLE_SECONDS, MHD_OPTION_THREAD_STACK_SIZE,
		(size_t)PROXY_STACK, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_URI_LOG_CALLBACK, on_first_line, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, s,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
	return s->daemon ? 0 : errno ? -errno : -ENOMEM;
}

/*
 * Bodies of megabytes are allocated and freed on many threads. By default
 * malloc raises its mmap threshold and keeps such blocks, an arena per thread.
 */
static void limit_malloc(void)
{
	/* NOLINTBEGIN(concurrency-mt-unsafe): the process has one thread. */
	(void)mallopt(M_MMAP_THRESHOLD, PROXY_MALLOC_KEEPS);
	(void)mallopt(M_ARENA_MAX, PROXY_MALLOC_ARENAS);
	(void)mallopt(M_TRIM_THRESHOLD, PROXY_MALLOC_TOP);
	/* NOLINTEND(concurrency-mt-unsafe) */
}

static void proxy_p(struct proxy **s)
{
	proxy_free(*s);
}

int proxy_open(const struct proxy_config *c, struct proxy **ret)
{
	CLEANUP(proxy_p) struct proxy *s = calloc(1, sizeof(*s));
	CLEANUP(close_p) int fd = c->listen_fd > 0 ? c->listen_fd : -1;
	int r = 0;

	if (!s)
		return -ENOMEM;
	limit_malloc();
	s->callers = (struct callers)CALLERS_INIT;
	(void)pthread_mutex_init(&s->large, NULL);
	s->brain = c->brain;
	s->deadline_ms = c->deadline_ms;
	s->grace_ms = c->grace_ms ? c->grace_ms : PROXY_GRACE_MS;
	r = copy_bases(s, c);
	if (r == 0)
		r = door_new(c->secret, &s->door);
	if (r == 0)
		r = upstream_new(&s->upstream);
	if (r == 0 && fd < 0)
		r = listen_on(c->port, &fd);
	if (r == 0)
		r = prepare_listener(fd, &s->port);
	for (int i = 0; r == 0 && i < APIS; i++)
		if (is_ourselves(s->bases[i], s->port))
			r = -ELOOP;
	if (r == 0)
		r = serve(s, fd);
	if (r < 0)
		return r;
	/* MHD's until MHD_quiesce_daemon() gives it back in drain(). */
	(void)take_fd(&fd);
	*ret = TAKE(s);
	return 0;
}

uint16_t proxy_port(const struct proxy *s)
{
	return s->port;
}

const char *proxy_secret(const struct proxy *s)
{
	return door_secret(s->door);
}

static void drain(struct proxy *s)
{
	struct timespec nap = { .tv_nsec = DRAIN_LOOK_MS * 1000000L };
	int listening;

	assert(!s->draining);
	atomic_store(&s->draining, true);
	/* close(), not shutdown(): another process may share the socket. */
	listening = MHD_quiesce_daemon(s->daemon);
	if (listening >= 0)
		(void)close(listening);
	for (int ms = 0; ms < s->grace_ms && s->counters.active > 0;
	     ms += DRAIN_LOOK_MS)
		(void)nanosleep(&nap, NULL);
}

void proxy_free(struct proxy *s)
{
	if (!s)
		return;
	if (s->daemon) {
		drain(s);
		upstream_stop(s->upstream);
		MHD_stop_daemon(s->daemon);
	}
	upstream_free(s->upstream);
	door_free(s->door);
	for (int i = 0; i < APIS; i++)
		free(s->bases[i]);
	(void)pthread_mutex_destroy(&s->large);
	free(s);
}

static bool put(cJSON *to, const char *name, uint64_t n)
{
	return cJSON_AddNumberToObject(to, name, (double)n) != NULL;
}

static bool put_fates(cJSON *edge, const struct counters *c)
{
	static const char *const names[FATES] = {
		[FATE_UNCHANGED] = "unchanged", [FATE_OTHER] = "other",
		[FATE_TOO_LONG] = "too_long",	[FATE_MEMORY] = "memory",
		[FATE_CODING] = "coding",
	};
	cJSON *passed = cJSON_AddObjectToObject(edge, "passed");

	for (int i = 0; i < FATES; i++)
		if (names[i] && !put(passed, names[i], c->fates[i]))
			return false;
	return passed != NULL;
}

static int report(const struct proxy *s, cJSON *answer)
{
	const struct counters *c = &s->counters;
	cJSON *edge = cJSON_AddObjectToObject(answer, "edge");
	bool ok = put(edge, "port", s->port) &&
		  put(edge, "requests", c->requests) &&
		  put(edge, "active", c->active) &&
		  put(edge, "rewritten", c->fates[FATE_REWRITTEN]) &&
		  put(edge, "refused", c->fates[FATE_REFUSED]) &&
		  put(edge, "rejected", c->fates[FATE_REJECTED]) &&
		  put(edge, "strangers", c->fates[FATE_STRANGER]) &&
		  put_fates(edge, c) &&
		  put(edge, "unreachable", c->unreachable) &&
		  put(edge, "broken", c->broken) &&
		  put(edge, "cancelled", c->cancelled) &&
		  put(edge, "bytes_in", c->bytes_in) &&
		  put(edge, "bytes_out", c->bytes_out) &&
		  put(edge, "bytes_held", c->held);

	return ok ? 0 : -ENOMEM;
}

int proxy_answer(void *proxy, const char *ask, const cJSON *question,
		 cJSON *answer)
{
	struct proxy *s = proxy;
	int r = 0;

	assert(s && ask && answer);
	if (strcmp(ask, "STATUS") == 0)
		r = report(s, answer);
	if (strcmp(ask, "REPORT") == 0 &&
	    !put(answer, "strangers", s->counters.fates[FATE_STRANGER]))
		r = -ENOMEM;
	if (r < 0)
		return r;
	if (!s->brain)
		return strcmp(ask, "STATUS") == 0 ? 0 : -ENOSYS;
	return report_answer(s->brain, ask, question, answer);
}
