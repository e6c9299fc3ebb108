/*
 * The manager's proxy with a brain that obeys marks in the body, so that a
 * test case decides what happens to its request:
 *
 *   @rewrite@	is replaced by @REWRITTEN-BY-THE-BRAIN@
 *   @grow@	the same, and a megabyte of spaces is appended
 *   @slow@	the brain answers after the deadline
 *   @pass@	(or no mark) the body is sent as received
 *
 * proxy_server BASE LOG [SOCKET]: all APIs are at BASE. Prints its port and its
 * secret, which $PROXY_SECRET can fix. Each
 * turn that ends adds a line of JSON to LOG, and the reply the brain was shown
 * is written to LOG.N. Answers STATUS at SOCKET. SIGTERM ends it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/base/alloc.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "manager/decide/brain.h"
#include "manager/http/limits.h"
#include "manager/http/proxy.h"
#include "manager/report/report.h"
#include "tape/wire/wire.h"

#define REPLY_MAX (64u << 20)
#define GROWN	  (1u << 20)

static const char was[] = "@rewrite@", is[] = "@REWRITTEN-BY-THE-BRAIN@";

struct brain {
	pthread_mutex_t lock;
	FILE *log; /* protected by lock, as the next */
	const char *log_path;
	int turns;
};

struct turn {
	struct brain *brain;
	struct buf made;
	struct buf reply;
	size_t len;
	int status, refused;
	bool unsent;
};

static bool holds(const struct request *r, const char *mark)
{
	return memmem(r->body, r->len, mark, strlen(mark)) != NULL;
}

static void wait_beyond(int64_t deadline_ns)
{
	struct timespec t = {
		.tv_sec = deadline_ns / 1000000000,
		.tv_nsec = deadline_ns % 1000000000,
	};

	t.tv_sec++;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) ==
	       EINTR)
		;
}

static void add(struct buf *b, const void *bytes, size_t len)
{
	if (buf_add(b, bytes, len) < 0)
		abort();
}

static void replace(const struct request *r, struct buf *made)
{
	const char *at = r->body, *end = r->body + r->len, *mark;

	while ((mark = memmem(at, (size_t)(end - at), was, strlen(was)))) {
		add(made, at, (size_t)(mark - at));
		add(made, is, strlen(is));
		at = mark + strlen(was);
	}
	add(made, at, (size_t)(end - at));
}

static void grow(struct buf *made)
{
	if (buf_reserve(made, GROWN) < 0)
		abort();
	memset(made->data + made->len, ' ', GROWN);
	made->len += GROWN;
}

const char *brain_think(struct brain *b, const struct request *r,
			size_t *ret_len, struct turn **ret_turn)
{
	struct turn *t = must_calloc(1, sizeof(*t));

	t->brain = b;
	t->len = r->len;
	t->made = BUF(2 * (size_t)PROXY_BODY_MAX);
	t->reply = BUF(REPLY_MAX);
	*ret_turn = t;
	if (holds(r, "@slow@"))
		wait_beyond(r->deadline_ns);
	if (!holds(r, was) && !holds(r, "@slow@") && !holds(r, "@grow@"))
		return NULL;
	replace(r, &t->made);
	if (holds(r, "@grow@"))
		grow(&t->made);
	*ret_len = t->made.len;
	return t->made.data;
}

void turn_sent(struct turn *t)
{
	(void)t;
}

bool turn_wants_agent(const struct turn *t)
{
	(void)t;
	return false;
}

void turn_agent(struct turn *t, uint32_t pid, uint64_t start)
{
	(void)t;
	(void)pid;
	(void)start;
}

void turn_drop_body(struct turn *t)
{
	(void)t;
}

void brain_passed(struct brain *b, const char *why)
{
	(void)b;
	(void)why;
}

void turn_unsent(struct turn *t, const char *why)
{
	(void)why;
	t->unsent = true;
}

void turn_refused(struct turn *t, int status)
{
	t->refused = status;
}

void turn_status(struct turn *t, int status, const char *content_type)
{
	(void)content_type;
	t->status = status;
}

void turn_reply(struct turn *t, const char *bytes, size_t len)
{
	/* Cases with longer replies do not look at them. */
	(void)buf_add(&t->reply, bytes, len);
}

static void keep_reply(const struct brain *b, const struct turn *t)
{
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s.%d", b->log_path, b->turns);
	f = fopen(path, "we");
	if (!f)
		abort();
	if (t->reply.len)
		(void)fwrite(t->reply.data, 1, t->reply.len, f);
	(void)fclose(f);
}

void turn_end(struct turn *t, bool whole)
{
	struct brain *b = t->brain;

	(void)pthread_mutex_lock(&b->lock);
	keep_reply(b, t);
	(void)fprintf(b->log,
		      "{\"len\":%zu,\"status\":%d,\"refused\":%d,"
		      "\"unsent\":%s,\"whole\":%s,\"reply\":%d}\n",
		      t->len, t->status, t->refused,
		      t->unsent ? "true" : "false", whole ? "true" : "false",
		      b->turns++);
	(void)fflush(b->log);
	(void)pthread_mutex_unlock(&b->lock);
	buf_release(&t->made);
	buf_release(&t->reply);
	free(t);
}

int report_answer(struct brain *b, const char *ask, const cJSON *question,
		  cJSON *answer)
{
	int turns;

	(void)question;
	if (strcmp(ask, "STATUS") != 0)
		return -ENOSYS;
	(void)pthread_mutex_lock(&b->lock);
	turns = b->turns;
	(void)pthread_mutex_unlock(&b->lock);
	return cJSON_AddNumberToObject(answer, "turns", turns) ? 0 : -ENOMEM;
}

static int number(const char *variable)
{
	const char *value = getenv(variable);

	return value ? (int)strtol(value, NULL, 10) : 0;
}

static int serve(struct brain *b, const char *base, const char *socket)
{
	struct proxy_config c = {
		.brain = b,
		.secret = getenv("PROXY_SECRET"),
		.bases = { base, base, base },
		.deadline_ms = number("PROXY_DEADLINE_MS"),
		.grace_ms = number("PROXY_GRACE_MS"),
	};
	struct wire_server *wire = NULL;
	struct proxy *proxy;
	sigset_t ends;
	int r, which;

	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	(void)pthread_sigmask(SIG_BLOCK, &ends, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	r = proxy_open(&c, &proxy);
	if (r == 0 && socket)
		r = wire_server_open(socket, proxy_answer, proxy, &wire);
	if (r < 0) {
		(void)fprintf(stderr, "proxy_server: %s\n", strerror(-r));
		return EXIT_FAILURE;
	}
	(void)printf("http://127.0.0.1:%d/%s\n", proxy_port(proxy),
		     proxy_secret(proxy));
	(void)fflush(stdout);
	(void)sigwait(&ends, &which);
	wire_server_free(wire);
	proxy_free(proxy);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct brain b = { .lock = PTHREAD_MUTEX_INITIALIZER };
	int code;

	if (argc < 3) {
		(void)fputs("usage: proxy_server BASE LOG [SOCKET]\n", stderr);
		return 2;
	}
	b.log_path = argv[2];
	b.log = fopen(argv[2], "we");
	if (!b.log)
		return EXIT_FAILURE;
	code = serve(&b, argv[1], argc > 3 ? argv[3] : NULL);
	(void)fclose(b.log);
	return code;
}
