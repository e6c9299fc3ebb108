/*
 * The way of one request. By its headers it is refused here; or held, so that
 * the brain can read and rewrite it and the original can be resent; or
 * streamed, because it has no transcript or is too long. The client gets an
 * answer only after upstream has sent status and headers: until then the
 * original can replace a rewritten body that upstream refused, unseen by the
 * client.
 *
 * Request headers point into MHD's memory, which lives as long as the visit.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/message.h"
#include "manager/http/coding.h"
#include "manager/http/limits.h"
#include "manager/http/proxy_i.h"
#include "manager/http/upstream.h"

#define LENGTH_UNKNOWN (-1)
#define LENGTH_NONE    (-2) /* no body at all */

struct visit {
	struct proxy *proxy;
	struct MHD_Connection *connection;
	char *path;		/* as received: with the secret */
	const char *target;	/* the part behind it; of a stranger, `path` */
	struct request request; /* its body is set in think() alone */
	struct header *headers; /* of the request */
	enum api api;
	enum fate fate;
	bool begun;
	bool streaming; /* the body goes through `transfer` in pieces */
	int failed;	/* error of a push: the rest of the body is discarded */
	int64_t length; /* of the body, or one of the above */
	const char *refusal; /* sentence of our own answer, with this status */
	int refusal_status;
	struct buf body;
	size_t held; /* bytes of it in counters.held */

	struct transfer *transfer;
	struct turn *turn;	 /* NULL: the brain was not asked */
	struct decoder *decoder; /* NULL: the brain does not see the reply */
	char *packed;		 /* the rewritten body, in its coding */
	int64_t reply_left;	 /* bytes still to pass, or LENGTH_UNKNOWN */
	bool whole;		 /* the client was given all of the reply */
};

struct visit *visit_new(struct proxy *s, const char *target,
			struct MHD_Connection *connection)
{
	struct visit *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->proxy = s;
	v->connection = connection;
	v->body = BUF(PROXY_BODY_MAX);
	v->path = strdup(target);
	if (!v->path) {
		free(v);
		return NULL;
	}
	s->counters.active++;
	return v;
}

bool visit_has_begun(const struct visit *v)
{
	return v->begun;
}

static void body_release(struct visit *v)
{
	assert(v->proxy->counters.held >= v->held);
	v->proxy->counters.held -= v->held;
	v->held = 0;
	buf_release(&v->body);
	free(TAKE(v->packed));
}

/* MHD closes a connection after this much silence; 0: never. */
static void set_idle_timeout(struct visit *v, unsigned seconds)
{
	(void)MHD_set_connection_option(v->connection,
					MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

/* Reports a transcript that the brain could not be shown. */
static void count_pass(const struct visit *v)
{
	static const char *const why[FATES] = {
		[FATE_TOO_LONG] = "a body that was too long",
		[FATE_MEMORY] = "too many bodies at once",
		[FATE_CODING] = "a body that could not be decoded",
	};

	if (v->proxy->brain && !v->turn && why[v->fate])
		brain_passed(v->proxy->brain, why[v->fate]);
}

void visit_free(struct visit *v)
{
	if (!v)
		return;
	assert(v->fate < FATES && v->proxy->counters.active > 0);
	transfer_free(v->transfer);
	if (v->turn)
		turn_end(v->turn, v->whole && v->decoder &&
					  decoder_is_whole(v->decoder));
	decoder_free(v->decoder);
	body_release(v);
	if (v->begun) {
		count_pass(v);
		v->proxy->counters.requests++;
		v->proxy->counters.fates[v->fate]++;
	}
	v->proxy->counters.active--;
	set_idle_timeout(v, PROXY_IDLE_SECONDS);
	free(v->headers);
	free(v->path);
	free(v);
}

static enum MHD_Result collect(void *arg, enum MHD_ValueKind kind,
			       const char *name, const char *value)
{
	struct visit *v = arg;

	(void)kind;
	v->headers[v->request.headers_count++] = (struct header){
		.name = name,
		.value = value ? value : "",
	};
	return v->request.headers_count < PROXY_HEADERS_MAX ? MHD_YES : MHD_NO;
}

static int collect_headers(struct visit *v)
{
	int n = MHD_get_connection_values(v->connection, MHD_HEADER_KIND, NULL,
					  NULL);

	v->headers = calloc((size_t)n + 1, sizeof(*v->headers));
	if (!v->headers)
		return -ENOMEM;
	v->request.headers = v->headers;
	(void)MHD_get_connection_values(v->connection, MHD_HEADER_KIND, collect,
					v);
	return n < PROXY_HEADERS_MAX ? 0 : -E2BIG;
}

/*
 * Answer without upstream. `close`: the request's end is unclear, so nothing
 * else on this connection can be trusted.
 */
static enum MHD_Result answer_ourselves(struct visit *v, int status,
					const char *sentence, bool close)
{
	CLEANUP(free_p) char *text = route_error(v->api, status, sentence);
	struct MHD_Response *response;
	enum MHD_Result r;

	if (!text)
		return MHD_NO;
	response = MHD_create_response_from_buffer(strlen(text), text,
						   MHD_RESPMEM_MUST_COPY);
	if (!response)
		return MHD_NO;
	(void)MHD_add_response_header(response, "Content-Type",
				      "application/json");
	if (close || v->proxy->draining)
		(void)MHD_add_response_header(response, "Connection", "close");
	r = MHD_queue_response(v->connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return r;
}

static int64_t body_length(const struct request *r)
{
	const char *length =
		header_find(r->headers, r->headers_count, "Content-Length");
	uintmax_t n;

	if (header_find(r->headers, r->headers_count, "Transfer-Encoding"))
		return LENGTH_UNKNOWN;
	if (!length)
		return LENGTH_NONE;
	errno = 0;
	n = strtoumax(length, NULL, 10);
	return errno || n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* Reserve `len` bytes of PROXY_BODIES_MAX. false: too few are left. */
static bool hold(struct visit *v, size_t len)
{
	uint64_t before = atomic_fetch_add(&v->proxy->counters.held, len);

	if (before + len <= PROXY_BODIES_MAX) {
		v->held += len;
		return true;
	}
	v->proxy->counters.held -= len;
	return false;
}

static int client_fd(const struct visit *v)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		v->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

static int open_transfer(struct visit *v)
{
	const char *base = v->proxy->bases[v->api];
	CLEANUP(free_p) char *url = route_url(v->api, base, v->target);
	size_t count = v->request.headers_count, kept = 0;
	CLEANUP(free_p)
	struct header *headers = calloc(count + 1, sizeof(*headers));
	struct outgoing o = {
		.method = v->request.method,
		.url = url,
		.headers = headers,
		.client_fd = client_fd(v),
	};

	if (!url || !headers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!route_is_hop(v->headers, count, v->headers[i].name))
			headers[kept++] = v->headers[i];
	o.headers_count = kept;
	return transfer_open(v->proxy->upstream, &o, &v->transfer);
}

/* From now on the body passes in pieces, beginning with what is held of it. */
static int begin_streaming(struct visit *v, enum fate why)
{
	int r;

	assert(!v->streaming && !v->transfer);
	r = open_transfer(v);
	v->fate = why;
	v->streaming = true;
	if (r < 0)
		return r;
	transfer_stream(v->transfer,
			v->length == LENGTH_UNKNOWN ? -1 : v->length);
	if (v->body.len > 0)
		r = transfer_push(v->transfer, v->body.data, v->body.len);
	body_release(v);
	return r;
}

/* Should the body be held? If not, *ret_why is the visit's fate. */
static bool is_to_hold(struct visit *v, enum fate *ret_why)
{
	bool turn = v->fate != FATE_OTHER;
	int64_t most =
		turn ? (int64_t)PROXY_BODY_MAX : (int64_t)PROXY_SMALL_BODY;

	*ret_why = turn ? FATE_TOO_LONG : FATE_OTHER;
	if (v->length == LENGTH_NONE)
		return true;
	if (v->length > most || (v->length == LENGTH_UNKNOWN && !turn))
		return false;
	if (v->length == LENGTH_UNKNOWN)
		return true;
	*ret_why = turn ? FATE_MEMORY : FATE_OTHER;
	if (!hold(v, (size_t)v->length))
		return false;
	return buf_reserve(&v->body, (size_t)v->length) == 0;
}

static struct guest *guest_of(const struct visit *v)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		v->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* Take the secret off the target. False: the request is not the agent's. */
static bool admit(struct visit *v)
{
	const char *behind = guest_admit(v->proxy->door, guest_of(v), v->path);

	v->target = behind ? behind : v->path;
	return behind != NULL;
}

enum MHD_Result visit_begin(struct visit *v, const char *method)
{
	enum fate fate;
	bool admitted = admit(v);
	int r;

	assert(!v->begun);
	v->begun = true;
	v->request.method = method;
	v->request.target = v->target;
	v->fate = admitted ? FATE_REJECTED : FATE_STRANGER;
	r = collect_headers(v);
	v->api = route_api(&v->request);
	/* Its body is not read. */
	if (!admitted)
		return answer_ourselves(v, 403,
					"This address is for one "
					"agent's processes only.",
					true);
	if (r == -E2BIG)
		return answer_ourselves(v, 431, "Too many headers.", true);
	if (r < 0)
		return MHD_NO;
	v->refusal = route_refusal(&v->request, &v->refusal_status);
	if (v->refusal && v->refusal_status < 404)
		return answer_ourselves(v, v->refusal_status, v->refusal, true);
	/* visit_answer() says it after the body, and keeps the connection. */
	if (v->refusal)
		return MHD_YES;

	v->fate = v->proxy->brain && route_is_turn(&v->request) ? FATE_UNCHANGED
								: FATE_OTHER;
	v->length = body_length(&v->request);
	if (!is_to_hold(v, &fate))
		v->failed = begin_streaming(v, fate);
	return MHD_YES;
}

static int take_held(struct visit *v, const char *bytes, size_t len)
{
	enum fate why = FATE_TOO_LONG;
	int r;

	/* A known length was reserved as a whole in is_to_hold(). */
	if (v->length == LENGTH_UNKNOWN && !hold(v, len))
		why = FATE_MEMORY;
	else if (buf_add(&v->body, bytes, len) == 0)
		return 0;
	r = begin_streaming(v, why);
	return r < 0 ? r : transfer_push(v->transfer, bytes, len);
}

enum MHD_Result visit_take(struct visit *v, const char *bytes, size_t len)
{
	int r;

	assert(v->begun && !v->turn);
	v->proxy->counters.bytes_in += len;
	if (v->failed || v->refusal)
		return MHD_YES;
	if (v->streaming)
		r = transfer_push(v->transfer, bytes, len);
	else
		r = take_held(v, bytes, len);
	if (r == -ECANCELED) {
		v->proxy->counters.cancelled++;
		return MHD_NO;
	}
	/* MHD queues no answer before the body's end: discard the rest. */
	v->failed = r;
	return MHD_YES;
}

/*
 * The brain's body; NULL: none. Of large ones one is thought about at a time.
 * Each gets its turn: what was sent before must be in it as well.
 */
static const char *ask_in_turn(struct visit *v, size_t *ret_len)
{
	struct request *r = &v->request;
	bool large = r->len > PROXY_BODY_LARGE;
	const char *made;

	if (large)
		(void)pthread_mutex_lock(&v->proxy->large);
	/* The time for new decisions begins when its turn comes. */
	if (v->proxy->deadline_ms)
		r->deadline_ns =
			clock_mono_ns() + v->proxy->deadline_ms * NS_PER_MS;
	made = brain_think(v->proxy->brain, r, ret_len, &v->turn);
	if (large)
		(void)pthread_mutex_unlock(&v->proxy->large);
	return made;
}

/* The process at the other end of the connection. */
static int find_caller(void *arg, uint32_t *ret_pid, uint64_t *ret_start)
{
	struct visit *v = arg;
	uint64_t socket = guest_socket(guest_of(v));
	struct caller caller;
	int r = socket ? caller_find(&v->proxy->callers, socket, &caller)
		       : -ENOENT;

	if (r < 0)
		return r;
	*ret_pid = caller.pid;
	*ret_start = caller.start;
	return 0;
}

/* The brain's body, in the coding of the one received; NULL: none to send. */
static const char *ask_brain(struct visit *v, enum coding coding,
			     size_t *ret_len)
{
	struct request *r = &v->request;
	const char *made;
	size_t len = 0;

	assert(!v->turn && r->body);
	r->at_ns = clock_wall_ns();
	r->caller = find_caller;
	r->caller_ctx = v;
	made = ask_in_turn(v, &len);
	if (!made)
		return NULL;
	v->fate = FATE_REWRITTEN;
	if (coding != CODING_IDENTITY &&
	    coding_pack(coding, made, len, PROXY_BODY_MAX, &v->packed, &len) <
		    0)
		v->fate = FATE_CODING;
	if (v->fate != FATE_REWRITTEN) {
		turn_unsent(v->turn, "not encoded");
		return NULL;
	}
	*ret_len = len;
	return v->packed ? v->packed : made;
}

/* The body to send instead of the one received; NULL: send that one. */
static const char *think(struct visit *v, size_t *ret_len)
{
	struct request *r = &v->request;
	const char *name =
		header_find(r->headers, r->headers_count, "Content-Encoding");
	enum coding coding = coding_named(name);
	CLEANUP(free_p) char *decoded = NULL;
	const char *made;
	int e = 0;

	r->body = v->body.data;
	r->len = v->body.len;
	if (coding != CODING_IDENTITY) {
		e = coding_unpack(coding, v->body.data, v->body.len,
				  PROXY_BODY_MAX, &decoded, &r->len);
		r->body = decoded;
	}
	if (e < 0) {
		v->fate = e == -EMSGSIZE ? FATE_TOO_LONG : FATE_CODING;
		return NULL;
	}
	if (!r->body)
		r->body = "";
	made = ask_brain(v, coding, ret_len);
	r->body = NULL;
	r->len = 0;
	return made;
}

/* While upstream works, so that no request waits for it. */
static void find_agent(struct visit *v)
{
	uint32_t pid;
	uint64_t start;

	if (turn_wants_agent(v->turn) && find_caller(v, &pid, &start) == 0)
		turn_agent(v->turn, pid, start);
}

/* Send a held body, or none; wait for the reply's status and headers. */
static int send_held(struct visit *v, const char *bytes, size_t len)
{
	int r;

	transfer_free(TAKE(v->transfer));
	r = open_transfer(v);
	if (r < 0)
		return r;
	if (v->length != LENGTH_NONE)
		transfer_body(v->transfer, bytes, len);
	if (v->turn) {
		r = transfer_send(v->transfer);
		turn_sent(v->turn);
		find_agent(v);
	}
	return r < 0 ? r : transfer_await(v->transfer);
}

static bool is_refusal(int status)
{
	return status == 400 || status == 413 || status == 422;
}

/*
 * The rewritten body was refused: send the one received. The refusal was ours
 * only if that one passes.
 */
static int ask_again(struct visit *v, int refused)
{
	int r = send_held(v, v->body.data, v->body.len);
	bool ours = r == 0 && transfer_status(v->transfer) < 400;

	assert(v->turn && v->fate == FATE_REWRITTEN);
	v->fate = ours ? FATE_REFUSED : FATE_UNCHANGED;
	if (ours)
		turn_refused(v->turn, refused);
	else
		turn_unsent(v->turn, "refused upstream, as was the original");
	return r;
}

static int ask_upstream(struct visit *v)
{
	const char *made = NULL;
	size_t len = 0;
	int r, status;

	if (v->fate != FATE_OTHER)
		made = think(v, &len);
	if (!made)
		return send_held(v, v->body.data, v->body.len);
	r = send_held(v, made, len);
	if (r < 0)
		return r;
	status = transfer_status(v->transfer);
	return is_refusal(status) ? ask_again(v, status) : 0;
}

static void show(void *arg, const char *bytes, size_t len)
{
	struct visit *v = arg;

	turn_reply(v->turn, bytes, len);
}

/* MHD's callback for the reply's next bytes. */
static ssize_t give(void *arg, uint64_t at, char *bytes, size_t max)
{
	struct visit *v = arg;
	struct counters *c = &v->proxy->counters;
	ssize_t n = transfer_pull(v->transfer, bytes, max);

	(void)at;
	assert(n <= (ssize_t)max);
	if (n == 0 && v->reply_left > 0)
		n = -EPIPE;
	if (n == -ECANCELED)
		c->cancelled++;
	else if (n < 0)
		c->broken++;
	if (n < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	v->whole = n == 0 || n == v->reply_left;
	/*
	 * The connection to upstream is free before the client sees the end,
	 * so its next request finds it.
	 */
	if (v->whole)
		transfer_free(TAKE(v->transfer));
	if (n == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	c->bytes_out += (size_t)n;
	if (v->decoder)
		(void)decoder_feed(v->decoder, bytes, (size_t)n, show, v);
	if (v->reply_left != LENGTH_UNKNOWN)
		v->reply_left -= n;
	return n;
}

/* MHD rejects tabs in a header's value, and empty values. */
static void pass_header(struct MHD_Response *response, const struct header *h)
{
	CLEANUP(free_p) char *value = strdup(h->value);

	if (!value)
		return;
	for (char *at = value; (at = strchr(at, '\t'));)
		*at = ' ';
	(void)MHD_add_response_header(response, h->name, value);
}

static struct MHD_Response *make_response(struct visit *v)
{
	size_t count;
	const struct header *headers = transfer_headers(v->transfer, &count);
	const char *length = header_find(headers, count, "Content-Length");
	struct MHD_Response *response;

	v->reply_left = LENGTH_UNKNOWN;
	if (length && !header_find(headers, count, "Transfer-Encoding"))
		v->reply_left = (int64_t)strtoumax(length, NULL, 10);
	v->whole = v->reply_left == 0;
	response = MHD_create_response_from_callback(
		v->reply_left == LENGTH_UNKNOWN ? MHD_SIZE_UNKNOWN
						: (uint64_t)v->reply_left,
		PROXY_REPLY_BLOCK, give, v, NULL);
	if (!response)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (!route_is_hop(headers, count, headers[i].name))
			pass_header(response, &headers[i]);
	if (v->proxy->draining)
		(void)MHD_add_response_header(response, "Connection", "close");
	return response;
}

/* From here on the brain is shown the reply. */
static void begin_showing(struct visit *v, int status)
{
	size_t count;
	const struct header *headers = transfer_headers(v->transfer, &count);
	enum coding coding;

	if (!v->turn)
		return;
	coding = coding_named(header_find(headers, count, "Content-Encoding"));
	turn_status(v->turn, status,
		    header_find(headers, count, "Content-Type"));
	(void)decoder_new(coding, PROXY_DECODED_MAX, &v->decoder);
}

static enum MHD_Result pass_reply(struct visit *v)
{
	int status = transfer_status(v->transfer);
	struct MHD_Response *response = make_response(v);
	enum MHD_Result r;

	if (!response)
		return MHD_NO;
	if (transfer_is_sent(v->transfer)) {
		body_release(v);
		turn_drop_body(v->turn);
	}
	begin_showing(v, status);
	r = MHD_queue_response(v->connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return r;
}

/* The host of an API's URL, without user name and password. */
static void print_place(const char *base, char *to, size_t size)
{
	const char *host = strstr(base, "://") + 3;
	size_t len = strcspn(host, "/");
	const char *at = memrchr(host, '@', len);

	if (at) {
		len -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	(void)snprintf(to, size, "%.*s", (int)len, host);
}

static enum MHD_Result unreachable(struct visit *v, int e)
{
	char place[256];
	CLEANUP(free_p) char *sentence = NULL;
	const char *why = v->transfer && e == -EHOSTUNREACH
				  ? transfer_why(v->transfer)
				  : strerrordesc_np(-e);

	print_place(v->proxy->bases[v->api], place, sizeof(place));
	v->proxy->counters.unreachable++;
	if (asprintf(&sentence, "The model's API at '%s' gave no answer: %s.",
		     place, why ? why : "unknown error") < 0) {
		sentence = NULL;
		return MHD_NO;
	}
	message("%s", sentence);
	return answer_ourselves(v, 502, sentence, false);
}

enum MHD_Result visit_answer(struct visit *v)
{
	int r;

	assert(v->begun);
	/* A model may think for long before it sends a byte. */
	set_idle_timeout(v, 0);
	if (v->refusal)
		return answer_ourselves(v, v->refusal_status, v->refusal,
					false);
	if (v->failed)
		return unreachable(v, v->failed);
	if (v->streaming) {
		transfer_push_end(v->transfer);
		r = transfer_await(v->transfer);
	} else {
		r = ask_upstream(v);
	}
	if (r == 0)
		return pass_reply(v);
	if (r != -ECANCELED)
		return unreachable(v, r);
	v->proxy->counters.cancelled++;
	return MHD_NO;
}
