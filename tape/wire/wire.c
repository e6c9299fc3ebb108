/*
 * nng's REQ puts a 32-bit number in front of each question and expects it back
 * in front of the answer. A relay between the two puts its own number before
 * it; the last number is the one whose highest bit is set.
 *
 * Every question with such a number gets an answer, if only one that says what
 * is wrong with it. A question too long to be kept is read to its end for that.
 */
#include "tape/wire/wire.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tape/wire/sp_server.h"
#include "tape/wire/wire_i.h"

#define WIRE_NUMBERS   8 /* at most, in front of a question */
#define WIRE_TRACE_MAX ((size_t)WIRE_NUMBER * WIRE_NUMBERS)

const char wire_ask_number[WIRE_NUMBER] = { '\x80', 0, 0, 1 };

#define NO_MEMORY "{\"v\":1,\"ok\":false,\"error\":\"Out of memory.\"}"

/* A question whose answer follows later. */
struct wire_waiting {
	struct sp_conn *conn; /* NULL: a free place */
	char trace[WIRE_TRACE_MAX];
	size_t trace_len;
	cJSON *question;
	struct wire_question q;
};

struct wire_server {
	struct sp_server *server;
	wire_handler handler;	    /* of one with a thread, else NULL, and */
	const struct wire_ops *ops; /* of one without */
	void *ctx;
	size_t waiting_count;
	struct wire_waiting waiting[SP_CLIENTS_MAX];
};

/* `len` bytes with a NUL after them; NULL unless they are one JSON object. */
static cJSON *json_parse(const char *text, size_t len)
{
	const char *end = NULL;
	cJSON *j = cJSON_ParseWithLengthOpts(text, len + 1, &end, 1);

	/* A NUL among the bytes would be taken for their end. */
	if (cJSON_IsObject(j) && end == text + len)
		return j;
	cJSON_Delete(j);
	return NULL;
}

static bool json_version_is_ours(const cJSON *j)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(j, "v");

	return cJSON_IsNumber(v) && v->valuedouble == WIRE_VERSION;
}

/* {"v":1,"ok":true}; NULL: no memory. */
static cJSON *answer_new(void)
{
	CLEANUP(json_p) cJSON *a = cJSON_CreateObject();

	if (!cJSON_AddNumberToObject(a, "v", WIRE_VERSION) ||
	    !cJSON_AddTrueToObject(a, "ok"))
		return NULL;
	return TAKE(a);
}

/* Make it an error answer, with this sentence unless it has one. */
__attribute__((format(printf, 2, 3))) static void
answer_refuse(cJSON *answer, const char *format, ...)
{
	CLEANUP(free_p) char *why = NULL;
	va_list args;
	int len;

	(void)cJSON_ReplaceItemInObjectCaseSensitive(answer, "ok",
						     cJSON_CreateFalse());
	if (json_string(answer, "error"))
		return;
	va_start(args, format);
	len = vasprintf(&why, format, args);
	va_end(args);
	if (len < 0)
		why = NULL;
	(void)cJSON_AddStringToObject(answer, "error",
				      why ? why : "Out of memory.");
}

static void answer_error(const struct wire_question *q, int rc)
{
	const char *why = strerrordesc_np(-rc);

	if (rc == -ENOSYS)
		answer_refuse(q->answer, "There is no question \"%s\".",
			      q->ask);
	else if (rc < 0)
		answer_refuse(q->answer, "\"%s\" failed: %s.", q->ask,
			      why ? why : "unknown error");
}

/* WIRE_LATER, or 0: there is an answer. */
static int question_ask(const struct wire_server *s, struct wire_question *q)
{
	int rc = s->ops ? s->ops->answer(s->ctx, q)
			: s->handler(s->ctx, q->ask, q->members, q->answer);

	if (rc == WIRE_LATER)
		return rc;
	answer_error(q, rc);
	if (s->ops && q->state)
		s->ops->drop(s->ctx, q);
	return 0;
}

/* The question as JSON; NULL: the answer says what is wrong with it. */
static cJSON *question_parse(const char *text, size_t kept, uint64_t len,
			     cJSON *answer)
{
	CLEANUP(json_p) cJSON *question = NULL;

	if (len > WIRE_QUESTION_MAX) {
		answer_refuse(answer,
			      "The question has %" PRIu64
			      " bytes, more than the %u it may have.",
			      len, WIRE_QUESTION_MAX);
		return NULL;
	}
	question = json_parse(text, kept);
	if (!question)
		answer_refuse(answer, "The question is not a JSON object.");
	else if (!json_version_is_ours(question))
		answer_refuse(answer,
			      "The question's \"v\" is not %d, the version "
			      "spoken here.",
			      WIRE_VERSION);
	else if (!json_string(question, "ask"))
		answer_refuse(answer, "The question has no \"ask\".");
	else
		return TAKE(question);
	return NULL;
}

/* The answer as text (free it); NULL: no memory. */
static char *answer_text(const cJSON *answer)
{
	CLEANUP(free_p) char *text = cJSON_PrintUnformatted(answer);
	CLEANUP(json_p) cJSON *instead = NULL;

	if (!text || strlen(text) <= WIRE_ANSWER_MAX)
		return TAKE(text);
	instead = answer_new();
	if (!instead)
		return NULL;
	answer_refuse(instead,
		      "The answer has %zu bytes, more than the %u it may have.",
		      strlen(text), WIRE_ANSWER_MAX);
	return cJSON_PrintUnformatted(instead);
}

/* The length of the numbers in front of a question, 0: the last is missing. */
static size_t trace_len(const char *msg, size_t len)
{
	for (size_t at = 0; at < WIRE_TRACE_MAX; at += WIRE_NUMBER) {
		if (len - at < WIRE_NUMBER)
			return 0;
		if ((unsigned char)msg[at] & 0x80)
			return at + WIRE_NUMBER;
	}
	return 0;
}

static struct wire_waiting *waiting_of(struct wire_server *s,
				       const struct sp_conn *c)
{
	for (size_t i = 0; i < SP_CLIENTS_MAX; i++)
		if (s->waiting[i].conn == c)
			return &s->waiting[i];
	return NULL;
}

/* Keep the question and what there is of its answer. There is a place: a client
   has one question at a time. */
static void wait_for_answer(struct wire_server *s, struct sp_conn *c,
			    size_t trace, cJSON *question,
			    const struct wire_question *q)
{
	struct wire_waiting *w = waiting_of(s, NULL);

	assert(w);
	*w = (struct wire_waiting){
		.conn = c, .trace_len = trace, .question = question, .q = *q
	};
	memcpy(w->trace, c->in, trace);
	s->waiting_count++;
}

static void waiting_release(struct wire_server *s, struct wire_waiting *w)
{
	cJSON_Delete(w->question);
	cJSON_Delete(w->q.answer);
	*w = (struct wire_waiting){ .conn = NULL };
	s->waiting_count--;
}

static void wire_left(void *ctx, const struct sp_conn *c)
{
	struct wire_server *s = ctx;
	struct wire_waiting *w = waiting_of(s, c);

	assert(w);
	if (w->q.state)
		s->ops->drop(s->ctx, &w->q);
	waiting_release(s, w);
}

/* WIRE_LATER: `answer` was taken over. */
static int answer_message(struct wire_server *s, struct sp_conn *c,
			  size_t trace, cJSON *answer)
{
	CLEANUP(json_p)
	cJSON *question = question_parse(c->in + trace, c->kept - trace,
					 c->len - trace, answer);
	struct wire_question q = { .answer = answer,
				   .members = question,
				   .asked_ns = clock_mono_ns() };

	if (!question)
		return 0;
	q.ask = json_string(question, "ask");
	if (question_ask(s, &q) != WIRE_LATER)
		return 0;
	wait_for_answer(s, c, trace, TAKE(question), &q);
	return WIRE_LATER;
}

static int wire_message(void *ctx, struct sp_conn *c)
{
	CLEANUP(json_p) cJSON *answer = answer_new();
	CLEANUP(free_p) char *made = NULL;
	size_t trace = trace_len(c->in, c->kept);
	const char *text;

	/* Without a number no answer can be sent. */
	if (!trace)
		return 0;
	if (answer && answer_message(ctx, c, trace, answer) == WIRE_LATER) {
		answer = NULL;
		return SP_LATER;
	}
	if (answer)
		made = answer_text(answer);
	text = made ? made : NO_MEMORY;
	return sp_conn_send(c, c->in, trace, text, strlen(text));
}

static void ask_again(struct wire_server *s, struct wire_waiting *w)
{
	CLEANUP(free_p) char *made = NULL;
	const char *text;

	if (question_ask(s, &w->q) == WIRE_LATER)
		return;
	made = answer_text(w->q.answer);
	text = made ? made : NO_MEMORY;
	(void)sp_server_answer(s->server, w->conn, w->trace, w->trace_len, text,
			       strlen(text));
	waiting_release(s, w);
}

size_t wire_server_again(struct wire_server *s)
{
	for (size_t i = 0; s->waiting_count && i < SP_CLIENTS_MAX; i++)
		if (s->waiting[i].conn)
			ask_again(s, &s->waiting[i]);
	return s->waiting_count;
}

static const struct sp_ops wire_ops = {
	.self = SP_REP,
	.peer = SP_REQ,
	.keep = WIRE_QUESTION_MAX + WIRE_TRACE_MAX,
	.message = wire_message,
	.left = wire_left,
};

int wire_server_open(const char *path, wire_handler handler, void *ctx,
		     struct wire_server **ret)
{
	struct wire_server *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->handler = handler;
	s->ctx = ctx;
	rc = sp_server_open(path, &wire_ops, s, &s->server);
	if (rc < 0) {
		free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int wire_server_attach(const char *path, const struct wire_ops *ops, void *ctx,
		       struct wire_server **ret)
{
	struct wire_server *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->ops = ops;
	s->ctx = ctx;
	rc = sp_server_attach(path, &wire_ops, s, &s->server);
	if (rc < 0) {
		free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int64_t wire_server_poll(struct wire_server *s, struct pollfd *p)
{
	return sp_server_poll(s->server, p);
}

void wire_server_serve(struct wire_server *s, const struct pollfd *p)
{
	sp_server_serve(s->server, p);
}

void wire_server_free(struct wire_server *s)
{
	if (s)
		sp_server_free(s->server);
	free(s);
}

int wire_question_text(const char *ask, const cJSON *question, char **ret)
{
	CLEANUP(json_p) cJSON *q = NULL;
	char *text;

	if (question && !cJSON_IsObject(question))
		return -EINVAL;
	q = question ? cJSON_Duplicate(question, 1) : cJSON_CreateObject();
	cJSON_DeleteItemFromObjectCaseSensitive(q, "v");
	cJSON_DeleteItemFromObjectCaseSensitive(q, "ask");
	if (!cJSON_AddNumberToObject(q, "v", WIRE_VERSION) ||
	    !cJSON_AddStringToObject(q, "ask", ask))
		return -ENOMEM;

	text = cJSON_PrintUnformatted(q);
	if (!text)
		return -ENOMEM;
	if (strlen(text) > WIRE_QUESTION_MAX) {
		free(text);
		return -EMSGSIZE;
	}
	*ret = text;
	return 0;
}

/* The time left until `end`; a negative timeout has no end. */
static int ms_left(int timeout_ms, int64_t end)
{
	int64_t left = end - clock_mono_ms();

	if (timeout_ms < 0)
		return -1;
	return left > 0 ? (int)left : 0;
}

/* Read until a message begins with our number. */
static int await_answer(struct sp_conn *c, const char *number, int timeout_ms,
			int64_t end)
{
	int rc;

	for (;;) {
		rc = c->out ? sp_conn_flush(c) : sp_conn_receive(c);
		if (rc < 0)
			return rc;
		if (rc > 0 && c->kept >= WIRE_NUMBER &&
		    memcmp(c->in, number, WIRE_NUMBER) == 0)
			return 0;
		rc = sp_conn_wait(c, ms_left(timeout_ms, end));
		if (rc < 0)
			return rc;
	}
}

static int exchange(const char *path, const char *text, int timeout_ms,
		    struct sp_conn *ret)
{
	CLEANUP(sp_conn_release) struct sp_conn c = SP_CONN_NONE;
	int64_t end = clock_mono_ms() + timeout_ms;
	int rc;

	rc = sp_connect(path, timeout_ms, SP_REQ, SP_REP,
			WIRE_NUMBER + WIRE_ANSWER_MAX, &c);
	if (rc < 0)
		return rc == -EAGAIN ? -ETIMEDOUT : rc;
	rc = sp_conn_send(&c, wire_ask_number, WIRE_NUMBER, text, strlen(text));
	if (rc == 0)
		rc = await_answer(&c, wire_ask_number, timeout_ms, end);
	if (rc < 0)
		return rc;
	*ret = c;
	c = SP_CONN_NONE;
	return 0;
}

int wire_answer_read(const struct sp_conn *c, cJSON **ret)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *ok;
	int rc;

	if (c->kept == c->len)
		answer = json_parse(c->in + WIRE_NUMBER, c->kept - WIRE_NUMBER);
	ok = cJSON_GetObjectItemCaseSensitive(answer, "ok");
	if (!json_version_is_ours(answer) || !cJSON_IsBool(ok))
		return -EBADMSG;
	rc = cJSON_IsTrue(ok) ? 0 : -EREMOTEIO;
	*ret = TAKE(answer);
	return rc;
}

int wire_ask(const char *path, const char *ask, const cJSON *question,
	     int timeout_ms, cJSON **ret)
{
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(sp_conn_release) struct sp_conn c = SP_CONN_NONE;
	int rc;

	rc = wire_question_text(ask, question, &text);
	if (rc == 0)
		rc = exchange(path, text, timeout_ms, &c);
	if (rc == 0)
		rc = wire_answer_read(&c, ret);
	return rc;
}

struct wire_link {
	char *path;
	struct sp_conn conn; /* without a descriptor: none */
	uint32_t number;     /* of the newest question */
};

struct wire_link *wire_link_new(const char *path)
{
	struct wire_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->conn = SP_CONN_NONE;
	l->path = strdup(path);
	if (!l->path) {
		free(l);
		return NULL;
	}
	return l;
}

static void link_close(struct wire_link *l)
{
	sp_conn_release(&l->conn);
	l->conn = SP_CONN_NONE;
}

void wire_link_free(struct wire_link *l)
{
	if (!l)
		return;
	link_close(l);
	free(l->path);
	free(l);
}

static int link_connect(struct wire_link *l, int timeout_ms)
{
	int rc;

	if (l->conn.fd >= 0)
		return 0;
	rc = sp_connect(l->path, timeout_ms, SP_REQ, SP_REP,
			WIRE_NUMBER + WIRE_ANSWER_MAX, &l->conn);
	return rc == -EAGAIN ? -ETIMEDOUT : rc;
}

static int link_exchange(struct wire_link *l, const char *text, int timeout_ms,
			 int64_t end)
{
	uint32_t n = ++l->number;
	char number[WIRE_NUMBER] = { (char)(0x80 | (n >> 24 & 0x7f)),
				     (char)(n >> 16 & 0xff),
				     (char)(n >> 8 & 0xff), (char)(n & 0xff) };
	int rc = link_connect(l, ms_left(timeout_ms, end));

	if (rc < 0)
		return rc;
	rc = sp_conn_send(&l->conn, number, WIRE_NUMBER, text, strlen(text));
	if (rc == 0)
		rc = await_answer(&l->conn, number, timeout_ms, end);
	return rc;
}

int wire_link_ask(struct wire_link *l, const char *text, int timeout_ms,
		  cJSON **ret)
{
	int64_t end = clock_mono_ms() + timeout_ms;
	bool kept = l->conn.fd >= 0;
	int rc;

	if (strlen(text) > WIRE_QUESTION_MAX)
		return -EMSGSIZE;
	rc = link_exchange(l, text, timeout_ms, end);
	/* The server was restarted since the last question. */
	if (kept && (rc == -ECONNRESET || rc == -EPIPE)) {
		link_close(l);
		rc = link_exchange(l, text, timeout_ms, end);
	}
	if (rc == 0)
		rc = wire_answer_read(&l->conn, ret);
	/* A late answer must not be read as the next one's. */
	if (rc < 0 && rc != -EREMOTEIO)
		link_close(l);
	return rc;
}
