/*
 * A handle is a curl multi handle that runs one transfer at a time, and keeps
 * its connections. A transfer takes an idle handle that was last used for the
 * same origin, or a new one, and gives it back. So no two threads use a curl
 * handle at once, and a client that opens a new connection for each request
 * still finds TLS set up.
 *
 * HTTP/1.1 on purpose: header names keep the case and order in which the
 * client wrote them; and a reply that the client does not take fills a
 * socket's buffer and no more, where an HTTP/2 stream would fill a window of
 * 32 MiB in our memory.
 */
#include "manager/http/upstream.h"

#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "manager/http/limits.h"

/* The longest sleep before we check ourselves whether the client is there. */
#define CLIENT_CHECK_MS 1000

#define ORIGIN_MAX 256

struct upstream_handle {
	struct upstream_handle *next;
	CURLM *multi;
	CURL *easy;
	char origin[ORIGIN_MAX]; /* scheme and host of its connections */
};

struct upstream {
	int stop_fd;		      /* an eventfd; readable: stop */
	const char *ca_file, *ca_dir; /* from the environment; NULL: curl's */
	const char *http_proxy;	      /* $HTTP_PROXY; NULL: not set */
	pthread_mutex_t lock;	      /* a leaf: no other is taken under it */
	struct upstream_handle *idle; /* protected by lock, as the next */
	size_t idle_count;
};

struct transfer {
	struct upstream *upstream;
	struct upstream_handle *handle;
	int client_fd;
	bool client_talks; /* the client already sends its next request */
	struct curl_slist *fields;
	bool started;  /* added to the multi handle */
	bool answered; /* status and headers are complete */
	bool done;     /* curl has finished, with `result` */
	bool paused;   /* curl waits for us to take bytes */
	CURLcode result;
	char why[CURL_ERROR_SIZE];

	/* The body in pieces. */
	bool streamed;
	bool starved; /* curl waits for us to give bytes */
	bool ended;
	const char *piece;
	size_t piece_len;
	int64_t sent_max; /* length of the whole body, -1: unknown */

	/* The reply. */
	int status;
	struct buf text; /* its header lines, each ended by a NUL */
	ARRAY(struct header) headers;
	struct buf held; /* received bytes, the first `taken` already pulled */
	size_t taken;
};

/* Scheme and host: the URL up to its path. */
static void origin_of(const char *url, char ret[static ORIGIN_MAX])
{
	const char *host = strstr(url, "://");
	size_t len;

	host = host ? host + 3 : url;
	len = (size_t)(host - url) + strcspn(host, "/?");
	(void)snprintf(ret, ORIGIN_MAX, "%.*s", (int)len, url);
}

static const char *env(const char *name)
{
	const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */

	return value && *value ? value : NULL;
}

/*
 * A program that brings its own TLS library looks where the system that it was
 * built on keeps certificates; others keep them here. NULL: none of these.
 */
static const char *system_certificates(void)
{
	static const char *const files[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
		"/etc/ssl/ca-bundle.pem",	      /* SUSE */
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (access(files[i], R_OK) == 0)
			return files[i];
	return NULL;
}

int upstream_new(struct upstream **ret)
{
	CLEANUP(free_p) struct upstream *u = calloc(1, sizeof(*u));

	if (!u || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	u->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (u->stop_fd < 0)
		return -errno;
	u->ca_file = env("SSL_CERT_FILE");
	u->ca_dir = env("SSL_CERT_DIR");
	if (!u->ca_file && !u->ca_dir)
		u->ca_file = system_certificates();
	/*
	 * curl reads the variables for proxies itself, all but $HTTP_PROXY,
	 * because a CGI script's caller can set that. We are not a CGI script.
	 */
	if (!env("http_proxy"))
		u->http_proxy = env("HTTP_PROXY");
	(void)pthread_mutex_init(&u->lock, NULL);
	*ret = TAKE(u);
	return 0;
}

static void handle_free(struct upstream_handle *l)
{
	if (!l)
		return;
	curl_easy_cleanup(l->easy);
	(void)curl_multi_cleanup(l->multi);
	free(l);
}

static void handle_p(struct upstream_handle **l)
{
	handle_free(*l);
}

void upstream_free(struct upstream *u)
{
	if (!u)
		return;
	while (u->idle) {
		struct upstream_handle *l = u->idle;

		u->idle = l->next;
		handle_free(l);
	}
	(void)close(u->stop_fd);
	(void)pthread_mutex_destroy(&u->lock);
	free(u);
	curl_global_cleanup();
}

void upstream_stop(struct upstream *u)
{
	(void)eventfd_write(u->stop_fd, 1);
}

static int handle_new(struct upstream_handle **ret)
{
	CLEANUP(handle_p) struct upstream_handle *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->multi = curl_multi_init();
	l->easy = curl_easy_init();
	if (!l->multi || !l->easy)
		return -ENOMEM;
	*ret = TAKE(l);
	return 0;
}

static struct upstream_handle *take_idle_locked(struct upstream *u,
						const char *origin)
{
	struct upstream_handle **at = &u->idle, *found;

	while (*at && strcmp((*at)->origin, origin) != 0)
		at = &(*at)->next;
	if (!*at)
		return NULL;
	found = *at;
	*at = found->next;
	assert(u->idle_count > 0);
	u->idle_count--;
	return found;
}

static int handle_take(struct upstream *u, const char *url,
		       struct upstream_handle **ret)
{
	char origin[ORIGIN_MAX];
	struct upstream_handle *l;
	int r;

	origin_of(url, origin);
	(void)pthread_mutex_lock(&u->lock);
	l = take_idle_locked(u, origin);
	(void)pthread_mutex_unlock(&u->lock);
	if (!l) {
		r = handle_new(&l);
		if (r < 0)
			return r;
		memcpy(l->origin, origin, sizeof(l->origin));
	}
	*ret = l;
	return 0;
}

/* The newest goes in front: its connection is the likeliest to be alive. */
static void handle_give(struct upstream *u, struct upstream_handle *l)
{
	struct upstream_handle *old = NULL, **at;

	curl_easy_reset(l->easy);
	(void)pthread_mutex_lock(&u->lock);
	l->next = u->idle;
	u->idle = l;
	if (++u->idle_count > UPSTREAM_IDLE_MAX) {
		for (at = &u->idle; (*at)->next; at = &(*at)->next)
			;
		old = *at;
		*at = NULL;
		u->idle_count--;
	}
	assert(u->idle && u->idle_count <= UPSTREAM_IDLE_MAX);
	(void)pthread_mutex_unlock(&u->lock);
	handle_free(old);
}

/* One header line of the reply, ended by a NUL. */
static void header_line(struct transfer *x, char *line)
{
	char *colon = strchr(line, ':');
	struct header h = { .name = line };

	/* Folded lines are obsolete and dropped. */
	if (!colon || line[0] == ' ' || line[0] == '\t')
		return;
	*colon = '\0';
	h.value = colon + 1 + strspn(colon + 1, " \t");
	array_push(&x->headers, h);
}

/* All lines are in `text`, which grows no more: headers may point into it. */
static void headers_read(struct transfer *x)
{
	char *end = x->text.data + x->text.len;

	for (char *at = x->text.data; at < end; at += strlen(at) + 1)
		header_line(x, at);
}

static int header_keep(struct transfer *x, const char *bytes, size_t len)
{
	int r;

	while (len > 0 && strchr("\r\n \t", bytes[len - 1]))
		len--;
	if (memchr(bytes, '\0', len))
		return -EBADMSG;
	r = buf_add(&x->text, bytes, len);
	return r < 0 ? r : buf_add(&x->text, "", 1);
}

/* curl passes whole lines: status, headers, an empty one; then trailers. */
static size_t on_header(char *bytes, size_t one, size_t len, void *arg)
{
	struct transfer *x = arg;
	long status = 0;

	(void)one;
	if (x->answered)
		return len;
	if (len > 5 && strncmp(bytes, "HTTP/", 5) == 0) {
		x->text.len = 0;
		return len;
	}
	if (strspn(bytes, "\r\n") < len && bytes[0] != '\r' && bytes[0] != '\n')
		return header_keep(x, bytes, len) == 0 ? len : 0;
	(void)curl_easy_getinfo(x->handle->easy, CURLINFO_RESPONSE_CODE,
				&status);
	/* After a 1xx the final status is still to come. */
	if (status >= 200) {
		x->status = (int)status;
		x->answered = true;
		headers_read(x);
	}
	return len;
}

static size_t on_body(char *bytes, size_t one, size_t len, void *arg)
{
	struct transfer *x = arg;

	(void)one;
	assert(x->taken <= x->held.len);
	if (x->taken > 0 && x->taken == x->held.len)
		x->taken = x->held.len = 0;
	if (buf_add(&x->held, bytes, len) == 0)
		return len;
	/* Full, or out of memory: curl offers the bytes again later. */
	x->paused = true;
	return CURL_WRITEFUNC_PAUSE;
}

static size_t on_read(char *to, size_t one, size_t max, void *arg)
{
	struct transfer *x = arg;
	size_t len = x->piece_len < max * one ? x->piece_len : max * one;

	if (len == 0 && !x->ended) {
		x->starved = true;
		return CURL_READFUNC_PAUSE;
	}
	if (len > 0)
		memcpy(to, x->piece, len);
	x->piece += len;
	x->piece_len -= len;
	return len;
}

/*
 * To curl "Name:" means not to send that header, and "Name;" to send it without
 * a value.
 */
static int field_add(struct transfer *x, const char *name, const char *value)
{
	CLEANUP(free_p) char *field = NULL;
	struct curl_slist *longer;

	if (asprintf(&field, *value ? "%s: %s" : "%s;", name, value) < 0) {
		field = NULL;
		return -ENOMEM;
	}
	longer = curl_slist_append(x->fields, field);
	if (!longer)
		return -ENOMEM;
	x->fields = longer;
	return 0;
}

static bool has(const struct outgoing *o, const char *name)
{
	for (size_t i = 0; i < o->headers_count; i++)
		if (strcasecmp(o->headers[i].name, name) == 0)
			return true;
	return false;
}

/* The given headers, and those removed that curl would add by itself. */
static int fields_fill(struct transfer *x, const struct outgoing *o)
{
	static const char *const curls[] = { "Accept", "Content-Type",
					     "Expect" };
	struct curl_slist *longer;
	int r;

	for (size_t i = 0; i < o->headers_count; i++) {
		r = field_add(x, o->headers[i].name, o->headers[i].value);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < sizeof(curls) / sizeof(curls[0]); i++) {
		char none[32];

		if (has(o, curls[i]))
			continue;
		(void)snprintf(none, sizeof(none), "%s:", curls[i]);
		longer = curl_slist_append(x->fields, none);
		if (!longer)
			return -ENOMEM;
		x->fields = longer;
	}
	return 0;
}

/* If an option fails, the transfer does not start, and says so. */
#define SET(easy, option, value) ((void)curl_easy_setopt(easy, option, value))

static void set_where(struct transfer *x, const struct upstream *u)
{
	CURL *easy = x->handle->easy;

	SET(easy, CURLOPT_NOSIGNAL, 1L);
	SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(easy, CURLOPT_PATH_AS_IS, 1L);
	SET(easy, CURLOPT_CONNECTTIMEOUT, (long)UPSTREAM_CONNECT_SECONDS);
	SET(easy, CURLOPT_TCP_NODELAY, 1L);
	SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	SET(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPSTREAM_SEND_BLOCK);
	SET(easy, CURLOPT_HTTP_TRANSFER_DECODING, 1L);
	SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	if (u->ca_file)
		SET(easy, CURLOPT_CAINFO, u->ca_file);
	if (u->ca_dir)
		SET(easy, CURLOPT_CAPATH, u->ca_dir);
	if (u->http_proxy && strncasecmp(x->handle->origin, "http:", 5) == 0)
		SET(easy, CURLOPT_PROXY, u->http_proxy);
}

static void set_what(struct transfer *x, const struct outgoing *o)
{
	CURL *easy = x->handle->easy;

	SET(easy, CURLOPT_URL, o->url);
	SET(easy, CURLOPT_HTTPHEADER, x->fields);
	SET(easy, CURLOPT_CUSTOMREQUEST, o->method);
	if (strcmp(o->method, "HEAD") == 0)
		SET(easy, CURLOPT_NOBODY, 1L);
	SET(easy, CURLOPT_HEADERFUNCTION, on_header);
	SET(easy, CURLOPT_HEADERDATA, x);
	SET(easy, CURLOPT_WRITEFUNCTION, on_body);
	SET(easy, CURLOPT_WRITEDATA, x);
	SET(easy, CURLOPT_READFUNCTION, on_read);
	SET(easy, CURLOPT_READDATA, x);
	SET(easy, CURLOPT_ERRORBUFFER, x->why);
}

static void transfer_p(struct transfer **x)
{
	transfer_free(*x);
}

int transfer_open(struct upstream *u, const struct outgoing *o,
		  struct transfer **ret)
{
	CLEANUP(transfer_p) struct transfer *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return -ENOMEM;
	x->upstream = u;
	x->client_fd = o->client_fd;
	x->text = BUF(PROXY_REPLY_HEADER_MAX);
	x->held = BUF(PROXY_REPLY_HELD);
	r = handle_take(u, o->url, &x->handle);
	if (r == 0)
		r = fields_fill(x, o);
	if (r < 0)
		return r;
	set_where(x, u);
	set_what(x, o);
	*ret = TAKE(x);
	return 0;
}

void transfer_free(struct transfer *x)
{
	if (!x)
		return;
	if (x->handle) {
		/* If it is not done, this closes its connection. */
		if (x->started)
			(void)curl_multi_remove_handle(x->handle->multi,
						       x->handle->easy);
		handle_give(x->upstream, x->handle);
	}
	curl_slist_free_all(x->fields);
	array_release(&x->headers);
	buf_release(&x->text);
	buf_release(&x->held);
	free(x);
}

void transfer_body(struct transfer *x, const char *bytes, size_t len)
{
	assert(!x->started && !x->streamed);
	/* NULL would make curl call on_read(). */
	SET(x->handle->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	SET(x->handle->easy, CURLOPT_POSTFIELDS, len ? bytes : "");
	x->sent_max = (int64_t)len;
}

static bool is_out(const struct transfer *x)
{
	curl_off_t sent = 0;

	(void)curl_easy_getinfo(x->handle->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	return sent >= x->sent_max;
}

bool transfer_is_sent(const struct transfer *x)
{
	return x->done || (x->answered && is_out(x));
}

void transfer_stream(struct transfer *x, int64_t len)
{
	struct curl_slist *longer;

	assert(!x->started && len >= -1);
	x->streamed = true;
	/* It cannot be sent twice, so no kept connection that may be dead. */
	SET(x->handle->easy, CURLOPT_FRESH_CONNECT, 1L);
	SET(x->handle->easy, CURLOPT_POST, 1L);
	x->sent_max = len;
	if (len >= 0) {
		SET(x->handle->easy, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)len);
		return;
	}
	longer = curl_slist_append(x->fields, "Transfer-Encoding: chunked");
	if (longer)
		x->fields = longer;
	SET(x->handle->easy, CURLOPT_HTTPHEADER, x->fields);
}

static void read_messages(struct transfer *x)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(x->handle->multi, &left))) {
		if (m->msg != CURLMSG_DONE)
			continue;
		x->done = true;
		x->result = m->data.result;
	}
}

/* Has the client closed its half of the connection, or all of it? */
static bool client_has_gone(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return false;
	return info.tcpi_state != TCP_ESTABLISHED;
}

/*
 * Sleep until there is something from curl, the client or upstream_stop(). A
 * client that already sends its next request keeps its socket readable and
 * would wake us for ever; from then on we check it every CLIENT_CHECK_MS.
 */
static int transfer_sleep(struct transfer *x)
{
	struct curl_waitfd fds[2] = {
		{ .fd = x->upstream->stop_fd, .events = CURL_WAIT_POLLIN },
		{ .fd = x->client_fd, .events = CURL_WAIT_POLLIN },
	};
	unsigned n = x->client_fd >= 0 && !x->client_talks ? 2 : 1;

	if (curl_multi_poll(x->handle->multi, fds, n, CLIENT_CHECK_MS, NULL) !=
	    CURLM_OK)
		return -ENOMEM;
	if (fds[0].revents)
		return -ECANCELED;
	if (x->client_fd < 0)
		return 0;
	if (client_has_gone(x->client_fd))
		return -ECANCELED;
	x->client_talks = x->client_talks || fds[1].revents;
	return 0;
}

static int transfer_start(struct transfer *x)
{
	if (x->started)
		return 0;
	x->started = true;
	if (curl_multi_add_handle(x->handle->multi, x->handle->easy) ==
	    CURLM_OK)
		return 0;
	x->started = false;
	return -ENOMEM;
}

/* Unpause curl in the directions in which we can give or take bytes. */
static void transfer_resume(struct transfer *x)
{
	bool gives = x->starved && (x->piece_len > 0 || x->ended);
	bool takes = x->paused && x->taken == x->held.len;
	int still = CURLPAUSE_CONT;

	assert(x->started);
	if (!gives && !takes)
		return;
	x->starved = x->starved && !gives;
	x->paused = x->paused && !takes;
	if (x->starved)
		still |= CURLPAUSE_SEND;
	if (x->paused)
		still |= CURLPAUSE_RECV;
	(void)curl_easy_pause(x->handle->easy, still);
}

/* One round of curl; sleeps afterwards, unless `wanted` holds. */
static int transfer_step(struct transfer *x,
			 bool (*wanted)(const struct transfer *))
{
	int running, r = transfer_start(x);

	if (r < 0)
		return r;
	transfer_resume(x);
	if (wanted(x))
		return 0;
	if (curl_multi_perform(x->handle->multi, &running) != CURLM_OK)
		return -ENOMEM;
	read_messages(x);
	return wanted(x) ? 0 : transfer_sleep(x);
}

static int transfer_until(struct transfer *x,
			  bool (*wanted)(const struct transfer *))
{
	int r = 0;

	while (r == 0 && !wanted(x))
		r = transfer_step(x, wanted);
	return r;
}

/*
 * `paused`: a reply filled our buffer before the request's end. The client
 * cannot take it, for it still sends; unless it is an error, we give up.
 */
static bool is_pushed(const struct transfer *x)
{
	return x->done || x->piece_len == 0 || x->paused;
}

int transfer_push(struct transfer *x, const char *bytes, size_t len)
{
	int r;

	assert(x->streamed && !x->ended && x->piece_len == 0);
	x->piece = bytes;
	x->piece_len = len;
	r = transfer_until(x, is_pushed);
	/* After an error status curl sends no more of the body. */
	if (r == 0 && x->piece_len > 0 && !x->done && x->status < 400)
		r = -EPIPE;
	x->piece_len = 0;
	return r;
}

void transfer_push_end(struct transfer *x)
{
	assert(x->streamed);
	x->ended = true;
}

static bool is_answered(const struct transfer *x)
{
	return x->done || x->answered;
}

static bool is_sent(const struct transfer *x)
{
	return is_answered(x) || (x->sent_max > 0 && is_out(x));
}

int transfer_send(struct transfer *x)
{
	return transfer_until(x, is_sent);
}

int transfer_await(struct transfer *x)
{
	int r = transfer_until(x, is_answered);

	if (r < 0)
		return r;
	return x->answered ? 0 : -EHOSTUNREACH;
}

int transfer_status(const struct transfer *x)
{
	return x->status;
}

const struct header *transfer_headers(const struct transfer *x,
				      size_t *ret_count)
{
	*ret_count = x->headers.count;
	return x->headers.at;
}

static bool has_bytes(const struct transfer *x)
{
	return x->done || x->taken < x->held.len;
}

ssize_t transfer_pull(struct transfer *x, char *bytes, size_t max)
{
	int r = transfer_until(x, has_bytes);
	size_t len = x->held.len - x->taken;

	if (r < 0)
		return r;
	if (len == 0)
		return x->result == CURLE_OK ? 0 : -EPIPE;
	if (len > max)
		len = max;
	memcpy(bytes, x->held.data + x->taken, len);
	x->taken += len;
	assert(x->taken <= x->held.len);
	return (ssize_t)len;
}

const char *transfer_why(const struct transfer *x)
{
	return x->why[0] ? x->why : curl_easy_strerror(x->result);
}
