/*
 * A child process that is kept alive: another verb of this program, restarted
 * when it dies. It runs in a session of its own (setsid), so the terminal's
 * Ctrl-C does not reach it, in the root directory, logs to a file, and ends
 * with us.
 *
 * One that keeps dying waits longer before each restart, so that a fault never
 * becomes a busy loop.
 */
#ifndef STATETAPE_TOOLS_RUN_CHILD_H
#define STATETAPE_TOOLS_RUN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	const char *name;  /* in messages: "the tape" */
	char *const *argv; /* argv[0] is only shown; this program is run */
	int keep_fds[2];   /* inherited under the same numbers; -1: none */
	int log_fd;	   /* its stdout and stderr */

	pid_t pid;	 /* 0: not running */
	unsigned deaths; /* in quick succession (LONG_LIFE_NS in child.c) */
	int64_t born_ns,
		again_ns; /* CLOCK_MONOTONIC; again: 0: no restart is due */
};

/* Start it. On failure returns a negative errno and schedules a restart. */
int child_start(struct child *c);

/*
 * If the process `pid`, which ended with `status`, is this child: schedule its
 * restart and return true. *ret_text says what happened (free it), or is NULL
 * when that was said often enough: a child that keeps dying is reported each
 * time the number of deaths has doubled.
 */
bool child_ended(struct child *c, pid_t pid, int status, char **ret_text);

/*
 * Restart it if that is due. Returns the milliseconds until it is, -1: no
 * restart is due.
 */
int child_tend(struct child *c);

/* Ask it to end, without waiting; it is not restarted. */
void child_dismiss(struct child *c);
/* The same, then wait, and kill it if it does not end. */
void child_stop(struct child *c);

/* "was killed by SIGKILL", "ended with code 1". (Free it.) */
char *child_end_text(int status);

#endif
