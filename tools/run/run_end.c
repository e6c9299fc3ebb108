/* The end of a run: the last writes reach the tape, the report is printed. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <xxhash.h>

#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tape/wire/wire.h"
#include "tools/cli/repo.h"
#include "tools/cli/report_text.h"
#include "tools/cli/say.h"
#include "tools/run/agent.h"
#include "tools/run/run_i.h"

#define PAGE	 500 /* entries in one answer */
#define SYNC_MS	 5000
#define BOOKS_MS 2000

/* Print the session's messages about what happened while the agent ended. */
void run_hear_out(struct run *r)
{
	int64_t until = clock_mono_ns() + BOOKS_MS * 1000000LL;

	session_ask(&r->session);
	while (r->session.asked && clock_mono_ns() < until)
		run_turn(r, BOOKS_MS);
}

/*
 * The session's tape may live on: a checkpoint ends this run. Has a store been
 * set aside meanwhile?
 */
static void end_tape(struct run *r)
{
	static const char *const asks[] = { "ANCHOR", "STATUS" };

	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
		CLEANUP(json_p) cJSON *answer = NULL;

		if (wire_ask(r->state.tape_socket, asks[i], NULL, SYNC_MS,
			     &answer) == 0)
			run_note_aside(r, answer);
	}
}

/*
 * Before letting go of the tape, wait until the last writes are on it. A tape
 * that is just being restarted is waited for, but not long: the next run's tape
 * finds the rest.
 */
void run_close_books(struct run *r)
{
	int64_t until = clock_mono_ns() + BOOKS_MS * 1000000LL;
	bool done = false;
	int pause = 1;

	while (!done && r->session.fd >= 0 && clock_mono_ns() < until) {
		cJSON *answer = NULL;

		if (wire_ask(r->state.tape_socket, "SYNC", NULL, SYNC_MS,
			     &answer) == 0)
			done = cJSON_IsTrue(
				cJSON_GetObjectItem(answer, "ready"));
		cJSON_Delete(answer);
		if (done)
			end_tape(r);
		if (!done)
			run_turn(r, pause);
		pause += (pause + 1) / 2;
	}
	r->behind = !done && r->session.fd >= 0;
}

/* The socket of our own manager among the repository's; NULL: none. */
static char *manager_socket(const struct run *r)
{
	for (unsigned n = 0; n < MANAGERS_MAX; n++) {
		CLEANUP(free_p)
		char *where = manager_path(&r->state, n, ".json");
		CLEANUP(close_p) int fd = open(where, O_RDONLY | O_CLOEXEC);
		char text[256] = "";
		cJSON *about = NULL;
		uint64_t pid = 0;

		if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
			about = cJSON_Parse(text);
		pid = json_number(about, "pid", 0);
		cJSON_Delete(about);
		if (r->manager.pid > 0 && (pid_t)pid == r->manager.pid)
			return manager_path(&r->state, n, ".sock");
	}
	return NULL;
}

/* The agent may have ended before the manager was ready. */
static char *await_manager(struct run *r)
{
	int64_t until = clock_mono_ns() + BOOKS_MS * 1000000LL;
	char *socket;
	int pause = 1;

	while (!(socket = manager_socket(r)) && clock_mono_ns() < until) {
		run_turn(r, pause);
		pause += (pause + 1) / 2;
	}
	return socket;
}

/* What the agent and its processes changed. */
struct changes {
	struct run *run;
	uint64_t count;
	ARRAY(uint64_t) files, commands; /* hashes, some more than once */
};

static void changes_release(struct changes *c)
{
	array_release(&c->files);
	array_release(&c->commands);
}

/*
 * The process that the agent started for this change, or the agent; NULL:
 * another one made it.
 */
static const cJSON *below_agent(const struct run *r, const cJSON *author)
{
	const cJSON *p, *below = author;

	if ((pid_t)json_number(author, "pid", 0) == r->was_agent)
		return author;
	cJSON_ArrayForEach (p, json_member(author, "ancestors")) {
		if ((pid_t)json_number(p, "pid", 0) == r->was_agent)
			return below;
		below = p;
	}
	return NULL;
}

static void changes_take(struct changes *c, const cJSON *entry)
{
	const cJSON *author = json_member(entry, "author");
	const cJSON *by = below_agent(c->run, author);
	const char *path = json_string_or(entry, "path", "");
	const char *call = json_string(json_member(entry, "turn"), "call");
	uint64_t who[2];

	if (!by)
		return;
	who[0] = json_number(by, "pid", 0);
	who[1] = json_number(by, "start", 0);
	c->count++;
	array_push(&c->files, XXH3_64bits(path, strlen(path)));
	array_push(&c->commands, call ? XXH3_64bits(call, strlen(call))
				      : XXH3_64bits(who, sizeof(who)));
}

static int compare_hashes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t count_different(uint64_t *at, uint32_t count)
{
	uint64_t n = 0;

	if (count)
		qsort(at, count, sizeof(*at), compare_hashes);
	for (uint32_t i = 0; i < count; i++)
		n += i == 0 || at[i] != at[i - 1];
	return n;
}

/* False: the tape does not answer. */
static bool read_changes(struct changes *c)
{
	uint64_t before = 0;

	do {
		CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
		CLEANUP(json_p) cJSON *answer = NULL;
		const cJSON *e;

		json_put_number(q, "limit", PAGE);
		json_put_number(q, "since_ns", (uint64_t)c->run->began_ns);
		if (before)
			json_put_number(q, "before", before);
		if (wire_ask(c->run->state.tape_socket, "LOG", q, SYNC_MS,
			     &answer) < 0)
			return false;
		before = 0;
		cJSON_ArrayForEach (e, json_member(answer, "entries")) {
			changes_take(c, e);
			before = json_number(e, "n", 0);
		}
		if (!cJSON_IsTrue(json_member(answer, "more")))
			before = 0;
	} while (before);
	return true;
}

static void show_changes(struct run *r)
{
	CLEANUP(changes_release) struct changes c = { .run = r };
	CLEANUP(free_p) char *changes = NULL, *files = NULL, *commands = NULL;

	if (!r->was_agent || r->behind || !read_changes(&c))
		return;
	changes = count_text(c.count, "change", "changes");
	files = count_text(count_different(c.files.at, c.files.count), "file",
			   "files");
	commands = count_text(count_different(c.commands.at, c.commands.count),
			      "command", "commands");
	if (c.count)
		(void)fprintf(stderr, "%s in %s by %s (statetape log)\n",
			      changes, files, commands);
	else
		(void)fputs("no changes by the agent (statetape log shows "
			    "others')\n",
			    stderr);
}

/* Why no request came, and what to do about it. */
static void explain_silence(const struct run *r, uint64_t strangers)
{
	CLEANUP(free_p)
	char *refused = count_text(strangers, "request", "requests");

	if (!r->was_agent)
		return;
	if (strangers)
		(void)say_error("no request came through the manager: %s "
				"without the secret of this run were refused; "
				"unset what else names its port",
				refused);
	else if (agent_is_known(r->called))
		(void)say_error("no request came through the manager: '%s' "
				"asked its model nothing, or by an address of "
				"its own; 'statetape help run' says which "
				"settings count",
				r->called);
	else
		(void)say_error("no request came through the manager: '%s' is "
				"not an agent, or not one that reads "
				"ANTHROPIC_BASE_URL or OPENAI_BASE_URL; point "
				"it there by its own settings",
				r->called);
}

/* The report of this run alone: other runs on the repository do not count. */
static void show_report(struct run *r)
{
	CLEANUP(free_p) char *socket = await_manager(r);
	CLEANUP(json_p) cJSON *question = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;

	(void)cJSON_AddBoolToObject(question, "own", true);
	if (!socket ||
	    wire_ask(socket, "REPORT", question, SYNC_MS, &answer) < 0)
		(void)say_error("no report: the manager does not answer");
	else if (json_number(answer, "requests", 0) > 0)
		report_print_brief(stderr, answer);
	else
		explain_silence(r, json_number(answer, "strangers", 0));
}

/* The closing output of a run: failures, and the report. */
void run_show_end(struct run *r)
{
	CLEANUP(free_p) char *trouble = repo_trouble(&r->state);

	r->quiet = false;
	for (size_t i = 0; i < r->notes_count; i++)
		(void)say_error("%s", r->notes[i]);
	if (trouble)
		(void)say_error("%s", trouble);
	else if (r->behind)
		(void)say_error("the tape of '%s' does not answer: the next "
				"run finds what is missing on it",
				r->state.repo);
	show_changes(r);
	show_report(r);
}
