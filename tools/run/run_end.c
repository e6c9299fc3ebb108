/* The end of a run: the last writes reach the tape, the report is printed. */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "manager/report/report.h"
#include "tape/wire/wire.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/run/run_i.h"

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

/* The report of this run alone: other runs on the repository do not count. */
static void show_report(struct run *r)
{
	CLEANUP(free_p) char *socket = await_manager(r);
	cJSON *question = cJSON_CreateObject(), *answer = NULL;

	(void)cJSON_AddBoolToObject(question, "own", true);
	if (!socket ||
	    wire_ask(socket, "REPORT", question, SYNC_MS, &answer) < 0)
		(void)say_error("no report: the manager does not answer");
	else if (json_number(answer, "requests", 0) > 0)
		report_print(stderr, answer);
	else
		(void)say_error("no request has come through the manager");
	cJSON_Delete(question);
	cJSON_Delete(answer);
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
	show_report(r);
}
