/*
 * Questions to the daemon. Most are answered at once, between two slices of the
 * loop's work. SYNC and READSET may have to wait: what they wait for is kept
 * with the question, which is asked again after each slice until it is there,
 * or the client hangs up.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tape/daemon_i.h"
#include "tape/outside.h"
#include "tape/settle.h"
#include "tape/wire/call.h"
#include "tape/wire/publish.h"
#include "tape/wire/state.h"
#include "tape/wire/wire.h"

/* How long the file system may take to answer. */
#define FS_PATIENCE_NS (1000 * NS_PER_MS)

/* What a question waits for: one of these. */
struct wait {
	struct sync *sync;
	struct wire_call *call;
};

static struct wait *wait_of(struct tape *t)
{
	if (!t->question->state)
		t->question->state = must_calloc(1, sizeof(struct wait));
	return t->question->state;
}

/* -- STATUS. */

static void put(cJSON *o, const char *name, uint64_t n)
{
	(void)cJSON_DeleteItemFromObjectCaseSensitive(o, name);
	(void)cJSON_AddNumberToObject(o, name, (double)n);
}

static void put_since(const struct tape *t, cJSON *answer)
{
	time_t at = (time_t)(t->since_ns / NS_PER_S);
	char text[sizeof("2026-01-01T00:00:00Z")] = "";
	struct tm tm;

	if (gmtime_r(&at, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	(void)cJSON_AddStringToObject(answer, "since", text);
}

static void put_keep(const struct tape *t, cJSON *answer)
{
	cJSON *o = cJSON_AddObjectToObject(answer, "keep");

	put(o, "days", t->c->keep_days);
	put(o, "bytes", t->c->keep_bytes);
	put(o, "times", t->retired_times);
	put(o, "contents", t->retired_contents);
	put(o, "entries", t->retired_entries);
}

static int answer_status(void *ctx, cJSON *answer)
{
	struct tape *t = ctx;
	struct outside_stats st;
	cJSON *o;

	put(answer, "journal", t->line);
	(void)cJSON_AddBoolToObject(answer, "ready", true);
	put(answer, "pending", settle_pending(t->settle) + t->suspects.count);
	put(answer, "skipped", t->unreadable);
	put(answer, "subscribers", publish_subscribers(t->publish));
	put(answer, "reopened", publish_reopened(t->publish));
	put(answer, "markers", t->markers);
	put(answer, "pid", (uint64_t)getpid());
	put(answer, "bases", t->bases.count);
	json_put_bytes(answer, "repo", t->c->state->repo);
	json_put_bytes(answer, "sockets", t->c->state->run);
	json_put_bytes(answer, "state", t->c->state->dir);
	put_since(t, answer);
	outside_stat(t->outside, &st);
	o = cJSON_AddObjectToObject(answer, "watch");
	put(o, "dirs", st.watched);
	put(o, "refused", st.refused);
	put(o, "overflows", st.overflows);
	put_keep(t, answer);
	anchoring_status(t, answer);
	if (t->aside)
		json_put_bytes(answer, "aside", t->aside);
	return 0;
}

/* -- SYNC. */

static bool asked_again(void *ctx)
{
	const struct tape *t = ctx;

	return t->question->state != NULL;
}

static int answer_sync(void *ctx, const struct answers_wish *wish,
		       struct answers_head *ret)
{
	struct tape *t = ctx;
	struct wait *w = wait_of(t);

	if (wish)
		w->sync = sync_new(t, t->question->asked_ns, wish);
	if (!t->error && !sync_step(t, w->sync))
		return ANSWERS_LATER;
	sync_head(t, w->sync, ret);
	return t->error;
}

/* -- NOMINATE. */

struct pending_below {
	struct tape *t;
	const char *dir;
	bool found;
};

/* Most suspects are as known. */
static void see_suspect(struct paths_node *n, void *arg)
{
	struct pending_below *b = arg;

	if (!b->found && (!*b->dir || paths_below(n->path, b->dir)))
		b->found = !check_is_known(b->t, n->path);
}

static bool answer_pending(void *ctx, const char *path, bool below)
{
	struct pending_below b = { .t = ctx, .dir = path };

	if (below ? settle_below(b.t->settle, path)
		  : settle_has(b.t->settle, path))
		return true;
	if (below)
		paths_each(&b.t->suspects, see_suspect, &b);
	else if (paths_find(&b.t->suspects, path))
		b.found = !check_is_known(b.t, path);
	return b.found;
}

/* -- READSET. */

static void forget_call(struct tape *t, struct wire_call *c)
{
	for (uint32_t i = 0; i < t->calls.count; i++)
		if (t->calls.at[i] == c)
			t->calls.at[i] = t->calls.at[--t->calls.count];
	wire_call_free(c);
}

static int answer_reads(void *ctx, const cJSON *question, cJSON **ret)
{
	struct tape *t = ctx;
	struct wait *w = wait_of(t);
	int r;

	if (!w->call) {
		r = wire_call_new(t->c->state->fs_socket, "READS", question,
				  &w->call);
		if (r < 0)
			return r;
		array_push(&t->calls, w->call);
	}
	r = wire_call_step(w->call, ret);
	if (r != -EAGAIN)
		return r;
	return clock_mono_ns() - t->question->asked_ns > FS_PATIENCE_NS
		       ? -ETIMEDOUT
		       : ANSWERS_LATER;
}

static void drop(void *ctx, struct wire_question *q)
{
	struct wait *w = q->state;

	sync_free(w->sync);
	if (w->call)
		forget_call(ctx, w->call);
	free(w);
	q->state = NULL;
}

/* -- All. */

/* Before the graph is built. The starting thread owns the tape. */
static int answer_early(struct tape *t, const struct wire_question *q)
{
	if (strcmp(q->ask, "SYNC") != 0 && strcmp(q->ask, "STATUS") != 0) {
		(void)cJSON_AddStringToObject(q->answer, "error",
					      "The tape is starting.");
		return -EAGAIN;
	}
	put(q->answer, "n", atomic_load(&t->head));
	put(q->answer, "journal", 0);
	put(q->answer, "pid", (uint64_t)getpid());
	json_put_bytes(q->answer, "repo", t->c->state->repo);
	(void)cJSON_AddBoolToObject(q->answer, "ready", false);
	return 0;
}

static int answer(void *ctx, struct wire_question *q)
{
	struct tape *t = ctx;
	int r;

	if (!t->ready)
		return answer_early(t, q);
	slice_begin(t);
	t->question = q;
	r = answers_ask(t->answers, q->ask, q->members, q->answer);
	t->question = NULL;
	return r;
}

static const struct wire_ops ops = { .answer = answer, .drop = drop };

int questions_open(struct tape *t)
{
	return wire_server_attach(t->c->state->tape_socket, &ops, t, &t->wire);
}

void questions_close(struct tape *t)
{
	wire_server_free(t->wire);
	array_release(&t->calls);
}

int questions_answers(struct tape *t)
{
	const struct answers_config config = {
		.store = t->store,
		.root_fd = t->c->root_fd,
		.again = asked_again,
		.sync = answer_sync,
		.pending = answer_pending,
		.reads = answer_reads,
		.status = answer_status,
		.anchor = anchoring_ask,
		.ctx = t,
	};

	t->answers = answers_new(&config);
	return answers_load_holds(t->answers);
}
