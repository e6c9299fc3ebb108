/*
 * A scripted agent, its files, its model's prompt cache, and the manager's
 * brain between them, in one process and with a clock of its own. Bodies are
 * written as Claude Code writes them.
 *
 * Each request sent is judged by comparing texts alone: every read in it must
 * show its file's current text, or be followed, for each change since, by a
 * note that names the file and is not older than the change, or by the call of
 * an editing tool that made it.
 */
#ifndef STATETAPE_TESTS_SUPPORT_SESSION_H
#define STATETAPE_TESTS_SUPPORT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "manager/decide/brain.h"
#include "manager/replay/recorded.h"

struct session;

struct session_totals {
	uint32_t requests;
	double cost;	    /* tokens of plain input */
	uint64_t context;   /* tokens of the last request */
	uint32_t unflagged; /* stale reads sent without a note */
	uint32_t rewritten; /* requests whose cached part changed */
	uint64_t sent_hash; /* of all bytes sent */
};

/* With its own brain; `dir`: of its archive, or NULL. */
struct session *session_new(enum mode mode, const char *dir, const char *id);
void session_free(struct session *s);
/* Restart the brain with another policy. */
void session_policy(struct session *s, const struct policy *policy);
/* Restart the brain, as after a restart of its process. */
void session_restart(struct session *s);
void session_tape(struct session *s, bool there);
/* The tape answers this question with `rc` from now on; NULL: all as usual. */
void session_trouble(struct session *s, const char *question, int rc);
/* The authorization header of each request. */
void session_login(struct session *s, const char *authorization);
/* The cache usage that replies report from now on. */
void session_usage(struct session *s, uint32_t read, uint32_t written);
/* The brain's last sentence for the log; "": none yet. */
const char *session_heard(const struct session *s);

/* A file of `lines` lines of code, generated from `seed`. */
void session_file(struct session *s, const char *path, uint32_t lines,
		  uint64_t seed);
uint32_t session_lines(struct session *s, const char *path);

/* Steps: each appends a call and its result to the talk. */
void session_read(struct session *s, const char *path, uint32_t offset,
		  uint32_t limit);
/* "Unchanged since last read". */
void session_read_stub(struct session *s, const char *path);
/* The agent's tool does not find the text that it is to replace. */
void session_edit_failed(struct session *s, const char *path);
/* The agent's tool replaces line `line` by `text`. */
void session_edit(struct session *s, const char *path, uint32_t line,
		  const char *text);
/* The same by a command of the agent. */
void session_sed(struct session *s, const char *path, uint32_t line,
		 const char *text);
void session_run(struct session *s, const char *command, size_t output,
		 const char *const *opened, size_t opened_count);
void session_say(struct session *s, size_t bytes);
/* Another process replaces the line (NULL: deletes the file). */
void session_outside(struct session *s, const char *path, uint32_t line,
		     const char *text);
/* A position in the talk, and a rewind to it. */
size_t session_mark(const struct session *s);
void session_rewind(struct session *s, size_t mark);
/* Replace the talk by a summary. */
void session_compact(struct session *s);
void session_wait(struct session *s, uint32_t seconds);

/* Make the request, have it processed, judge and price it. */
void session_request(struct session *s);
/* The last request sent. */
const char *session_sent(const struct session *s, size_t *ret_len);
struct session_totals session_totals(const struct session *s);
struct recorded *session_files(struct session *s);
struct brain *session_brain(struct session *s);

#endif
