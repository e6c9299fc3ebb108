/*
 * A process of ours that is kept alive: another verb of this same program,
 * started again when it dies. It lives in a session of its own, out of reach
 * of the terminal's Ctrl-C, in the root directory, talks to a log, and ends
 * when we do.
 *
 * One that dies again and again is given more and more time between two
 * starts, so that a fault never becomes a busy loop.
 */
#ifndef STATETAPE_TOOLS_RUN_CHILD_H
#define STATETAPE_TOOLS_RUN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	const char *name;  /* for texts: "the tape" */
	char *const *argv; /* argv[0] is shown; this program is run */
	int keep_fd;	   /* handed on under its own number; -1: none */
	int log_fd;	   /* its stdout and stderr */

	pid_t pid;		   /* 0: not running */
	unsigned deaths;	   /* since it was first started */
	int64_t born_ns, again_ns; /* CLOCK_MONOTONIC; again: 0: not due */
};

/* Start it. On failure a negative errno, and it is due again. */
int child_start(struct child *c);

/*
 * `pid` ended with `status`: was it this one? Then it is due to be started
 * again, and *ret_text says what happened (free it); NULL when that has been
 * said often enough: for one that keeps dying, every time their number has
 * doubled.
 */
bool child_ended(struct child *c, pid_t pid, int status, char **ret_text);

/* Start it if it is due. The milliseconds until it is, -1: it is not. */
int child_tend(struct child *c);

/* Ask it to end, without waiting. It is not due any more. */
void child_dismiss(struct child *c);
/* The same, wait, and in the end make it. */
void child_stop(struct child *c);

/* "was killed by SIGKILL", "ended with code 1". (Free it.) */
char *child_end_text(int status);

#endif
