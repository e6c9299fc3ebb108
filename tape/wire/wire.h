/*
 * Questions and answers between our processes: one JSON object each way in
 * nng's REQ/REP protocol on a Unix socket, mode 0600. Questions are safe to
 * repeat. A question is {"v":1,"ask":"NAME",...}; an answer
 * {"v":1,"ok":true,...} or
 * {"v":1,"ok":false,"error":"sentence"}.
 */
#ifndef STATETAPE_TAPE_WIRE_WIRE_H
#define STATETAPE_TAPE_WIRE_WIRE_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION	  1
#define WIRE_QUESTION_MAX (1u << 20)
#define WIRE_ANSWER_MAX	  (64u << 20)

/*
 * Answer one question. `ask` is its "ask" member, `answer` an object to fill;
 * returns 0, or a negative errno, which becomes an error sentence unless the
 * handler put its own "error" into `answer`. -ENOSYS: no such question.
 */
typedef int (*wire_handler)(void *ctx, const char *ask, const cJSON *question,
			    cJSON *answer);

struct wire_server;

/*
 * Serve at `path` from a thread of its own; `handler` runs on that thread. A
 * dead process's socket is replaced; -EADDRINUSE: a living one's is not.
 */
int wire_server_open(const char *path, wire_handler handler, void *ctx,
		     struct wire_server **ret);
void wire_server_free(struct wire_server *s);

/*
 * The same without a thread: the caller polls the server's descriptors beside
 * its own (wire_server_poll(), wire_server_serve(): as those of sp_server.h)
 * and may answer a question later. The handler then returns WIRE_LATER, and
 * wire_server_again() calls it again with the same question, until it returns
 * anything else. `state` is the handler's own; `drop` is called before a
 * question with a state is freed, answered or not.
 */
#define WIRE_LATER 1

struct pollfd;

struct wire_question {
	const char *ask;
	const cJSON *members;
	cJSON *answer;
	int64_t asked_ns; /* CLOCK_MONOTONIC: when it arrived */
	void *state;
};

struct wire_ops {
	int (*answer)(void *ctx, struct wire_question *q);
	void (*drop)(void *ctx, struct wire_question *q);
};

int wire_server_attach(const char *path, const struct wire_ops *ops, void *ctx,
		       struct wire_server **ret);
int64_t wire_server_poll(struct wire_server *s, struct pollfd *p);
void wire_server_serve(struct wire_server *s, const struct pollfd *p);
/* Returns how many questions still wait. */
size_t wire_server_again(struct wire_server *s);

/*
 * Ask the server at `path`. `question` may be NULL (no members beyond `ask`)
 * and stays the caller's. On 0 *ret is the answer object (cJSON_Delete it),
 * whose "ok" was true. -ECONNREFUSED: no server. -ETIMEDOUT: too late.
 * -ECONNRESET: the server went away meanwhile. -EMSGSIZE: the question is too
 * long. -EBADMSG: the answer made no sense. -EREMOTEIO: the answer was an
 * error; then *ret is that answer. A negative timeout is none.
 */
int wire_ask(const char *path, const char *ask, const cJSON *question,
	     int timeout_ms, cJSON **ret);

/*
 * The type of wire_ask() with a context instead of a path: client.h asks
 * through one. Replay and tests answer in the server's place.
 */
typedef int wire_transport(void *ctx, const char *ask, const cJSON *question,
			   int timeout_ms, cJSON **ret);

/*
 * The same over a connection that is kept for the next question, and made
 * anew if the server was restarted since. For one thread at a time. `text` is
 * the whole question. NULL from wire_link_new(): no memory.
 */
struct wire_link;
struct wire_link *wire_link_new(const char *path);
void wire_link_free(struct wire_link *l);
int wire_link_ask(struct wire_link *l, const char *text, int timeout_ms,
		  cJSON **ret);

#endif
