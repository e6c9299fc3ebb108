/*
 * A scripted agent, its files, its model's prompt cache, and the manager's
 * brain between them, in one process and with a clock of its own. Bodies are
 * written as Claude Code writes them.
 *
 * After each request what was sent is judged by comparing texts alone: every
 * read in it must show its file as it is, or be followed by a note that names
 * the file and is not older than the change.
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
	uint32_t unflagged; /* stale reads sent as they were, in all */
	uint32_t rewritten; /* requests whose cached part changed */
	uint64_t sent_hash; /* of all bytes sent */
};

/* With a brain of its own; `dir`: where it remembers, or NULL. */
struct session *session_new(enum mode mode, const char *dir, const char *id);
void session_free(struct session *s);
/* The brain is made anew with another policy. */
void session_policy(struct session *s, const struct policy *policy);
/* The brain is made anew, as after a restart of its process. */
void session_restart(struct session *s);
void session_tape(struct session *s, bool there);
/* The login that goes with each request. */
void session_login(struct session *s, const char *authorization);
/* From now on replies say that the cache read and wrote so many tokens. */
void session_usage(struct session *s, uint32_t read, uint32_t written);
/* What the brain said to its user, the last time; "": nothing yet. */
const char *session_heard(const struct session *s);

/* A file of `lines` lines of code, made from `seed`. */
void session_file(struct session *s, const char *path, uint32_t lines,
		  uint64_t seed);
uint32_t session_lines(struct session *s, const char *path);

/* Steps: a call and its result are added to the talk. */
void session_read(struct session *s, const char *path, uint32_t offset,
		  uint32_t limit);
/* "Unchanged since last read". */
void session_read_stub(struct session *s, const char *path);
/* Line `line` is replaced by `text`, by the agent's own tool. */
void session_edit(struct session *s, const char *path, uint32_t line,
		  const char *text);
/* The same, by a command of the agent's. */
void session_sed(struct session *s, const char *path, uint32_t line,
		 const char *text);
void session_run(struct session *s, const char *command, size_t output,
		 const char *const *opened, size_t opened_count);
void session_say(struct session *s, size_t bytes);
/* By somebody else; nothing is added to the talk. NULL: deleted. */
void session_outside(struct session *s, const char *path, uint32_t line,
		     const char *text);
/* Where the talk is now, and back to there. */
size_t session_mark(const struct session *s);
void session_rewind(struct session *s, size_t mark);
/* The talk is replaced by a summary. */
void session_compact(struct session *s);
void session_wait(struct session *s, uint32_t seconds);

/* The request is made, thought about, judged and priced. */
void session_request(struct session *s);
/* What was sent last. */
const char *session_sent(const struct session *s, size_t *ret_len);
struct session_totals session_totals(const struct session *s);
struct recorded *session_files(struct session *s);
struct brain *session_brain(struct session *s);

#endif
