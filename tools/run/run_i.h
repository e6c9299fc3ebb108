/* Shared by the files of `statetape run`; no other file includes this. */
#ifndef STATETAPE_TOOLS_RUN_RUN_I_H
#define STATETAPE_TOOLS_RUN_RUN_I_H

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "manager/http/secret.h"
#include "tools/cli/config.h"
#include "tools/cli/terminal.h"
#include "tools/run/child.h"
#include "tools/run/session.h"

#define NOTES_MAX 32

struct run {
	struct state state;
	struct config config;
	struct session session;
	uid_t owner; /* of the repository, seen from outside of the mount */
	char *cwd;   /* the agent's directory: ours if it lies in the repository
		      */
	int listen_fd, log_fd, signal_fd;
	int handover_fd; /* of `secret` and upstreams, for the manager */
	char secret[SECRET_MAX + 1]; /* the end of the manager's address */
	unsigned port;		     /* 0: any */
	struct child manager;
	char **manager_argv;
	sigset_t mask; /* the signal mask before the run */
	struct terminal terminal;
	pid_t agent;	    /* 0: not started, or ended */
	pid_t was_agent;    /* also after its end; 0: never started */
	const char *called; /* the agent's program */
	int64_t began_ns;   /* the time of its start */
	int code;
	int ended_by; /* the signal that ended the agent or prevented its start;
			 0: none */
	char *aside;  /* what was said of a store set aside, or NULL */
	char *notes[NOTES_MAX];
	size_t notes_count;
	bool behind; /* the last writes were not on the tape in time */
	bool quiet;  /* the agent has the terminal: messages wait */
};

/* One iteration of the loop, at most `ms` long (-1: no limit). */
void run_turn(struct run *r, int ms);

/* Say once that the tape set a store aside, if its STATUS has it. */
void run_note_aside(struct run *r, const cJSON *status);

/* Print the session's messages about what happened while the agent ended. */
void run_hear_out(struct run *r);
/*
 * Before letting go of the tape, wait until the last writes are on it. A tape
 * that is just being restarted is waited for, but not long: the next run's tape
 * finds the rest.
 */
void run_close_books(struct run *r);
/* The closing output: failures, and the report of this run. */
void run_show_end(struct run *r);

#endif
