/*
 * statetape watch: prints entries as they are published. A published message is
 * only a hint: missing entries are asked for by number, so that none is left
 * out and none printed twice, even if the connection breaks.
 *
 * It uses our own SUB client (tape/wire/sp.h) instead of nng's, which needs one
 * poll and no threads and notices at once that a connection broke.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tape/wire/sp.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/entry_text.h"
#include "tools/verb/tape.h"
#include "tools/verb/watch_exec.h"

#define TOPIC	      "tape."
#define MESSAGE_MAX   (64u << 20)
#define LOOK_AGAIN_MS 1000
#define PAGE	      500

struct watcher {
	struct tape_reader *tape;
	struct sp_conn conn;
	char of[24];   /* the tape's own number; "": not known yet */
	uint64_t seen; /* the newest entry printed */
	bool settled;  /* asked again since we connected */
	bool json, colours;
	const char *command; /* --exec, or NULL */
};

static void stop(int signal)
{
	(void)signal;
	_exit(EXIT_SUCCESS);
}

static void show(struct watcher *w, const cJSON *e)
{
	w->seen = json_number(e, "n", w->seen);
	if (w->command) {
		watch_exec(w->command, w->tape->state.repo, e);
	} else if (w->json) {
		CLEANUP(free_p)
		char *line = must_have(cJSON_PrintUnformatted(e));

		(void)puts(line);
	} else {
		entry_print_line(stdout, e, w->colours);
	}
}

/* Print all entries since the last. */
static int catch_up(struct watcher *w)
{
	bool more = true;

	while (more) {
		CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
		CLEANUP(json_p) cJSON *answer = NULL;
		const cJSON *e;
		int r;

		json_put_number(q, "n", w->seen);
		json_put_number(q, "limit", PAGE);
		r = tape_try(w->tape, "SINCE", q, &answer, NULL);
		if (r < 0)
			return r;
		cJSON_ArrayForEach (e, json_member(answer, "entries"))
			show(w, e);
		more = cJSON_IsTrue(json_member(answer, "more"));
	}
	return 0;
}

/* Handle one message: print it if it is the next entry, else ask SINCE. */
static int hear(struct watcher *w)
{
	CLEANUP(json_p) cJSON *e = NULL;
	size_t topic = strlen(TOPIC);
	uint64_t n;

	if (w->conn.kept != w->conn.len || w->conn.kept < topic ||
	    memcmp(w->conn.in, TOPIC, topic) != 0)
		return 0;
	e = cJSON_ParseWithLength(w->conn.in + topic, w->conn.kept - topic);
	n = json_number(e, "n", 0);
	if (n <= w->seen)
		return 0;
	if (n > w->seen + 1)
		return catch_up(w);
	if (w->json && !w->command) {
		/* Print it as it was received, with every digit. */
		w->seen = n;
		(void)printf("%s\n", w->conn.in + topic);
		return 0;
	}
	show(w, e);
	return 0;
}

static int listen_once(struct watcher *w, bool *heard)
{
	int r = sp_conn_receive(&w->conn);

	*heard = r > 0;
	return r > 0 ? hear(w) : r;
}

static bool is_unread(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

/* Another tape, begun because the last one was damaged, counts from 1. */
static void check_tape(struct watcher *w)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	const char *tape;

	if (tape_try(w->tape, "STATUS", NULL, &answer, NULL) < 0)
		return;
	tape = json_string_or(answer, "tape", "");
	if (*w->of && strcmp(w->of, tape) != 0)
		w->seen = 0;
	(void)snprintf(w->of, sizeof(w->of), "%s", tape);
}

/* Connect first, then ask SINCE: nothing is missed in between. */
static int begin(struct watcher *w)
{
	int r;

	sp_conn_release(&w->conn);
	w->settled = false;
	r = sp_connect(w->tape->state.pub_socket, LOOK_AGAIN_MS, SP_SUB, SP_PUB,
		       MESSAGE_MAX, &w->conn);
	if (r == 0)
		r = tape_reopen(w->tape);
	if (r < 0)
		return r;
	check_tape(w);
	return catch_up(w);
}

/*
 * nng accepts a subscriber shortly after it greets it. Entries published in
 * between are asked for once, after the first second without a message.
 */
static int settle(struct watcher *w)
{
	if (w->settled)
		return 0;
	w->settled = true;
	return catch_up(w);
}

/* Read until the connection breaks. */
static int attend(struct watcher *w)
{
	for (;;) {
		bool heard = true;
		int r = 0;

		while (heard && r == 0)
			r = listen_once(w, &heard);
		if (fflush(stdout) != 0 || is_unread())
			return -EPIPE;
		if (r < 0)
			return r;
		r = sp_conn_wait(&w->conn, LOOK_AGAIN_MS);
		if (r == -ETIMEDOUT)
			r = settle(w);
		if (r < 0 && r != -EINTR)
			return r;
	}
}

static void run(struct watcher *w)
{
	bool reported = false;

	for (;;) {
		int r = begin(w);

		if (r == 0)
			r = attend(w);
		if (fflush(stdout) != 0 || r == -EPIPE || is_unread())
			return;
		if (!reported && r == -ECONNREFUSED)
			(void)say_error("the tape is not running; waiting for "
					"it");
		reported = r == -ECONNREFUSED;
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
	}
}

/* The entry to begin after: the newest, or `count` before it. */
static int first_number(struct tape_reader *t, uint64_t back, uint64_t *ret)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	int r = tape_ask(t, "STATUS", NULL, &answer);
	uint64_t n = json_number(answer, "n", 0);

	if (r == 0)
		*ret = n > back ? n - back : 0;
	return r;
}

int verb_watch(const struct invocation *in)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	struct watcher w = { .tape = &t,
			     .conn = SP_CONN_NONE,
			     .json = in->options[OPTION_JSON].given,
			     .command = in->options[OPTION_EXEC].text,
			     .colours = colour_wanted(stdout) };
	struct sigaction action = { .sa_handler = stop };

	if (tape_open(in->arguments[0], w.json, &t) < 0 ||
	    first_number(&t, in->options[OPTION_COUNT].number, &w.seen) < 0)
		return EXIT_FAILURE;
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	run(&w);
	sp_conn_release(&w.conn);
	return EXIT_SUCCESS;
}
