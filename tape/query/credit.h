/*
 * Which of an agent's tool calls made an entry. What is known of a call is
 * when it was under way, a shell tool's command and an editing tool's files; of
 * an entry its time, its path and its processes below the agent's. Several
 * calls may be under way at once. Pure.
 *
 * A process that the agent started is a call's if its command line contains
 * the call's command, or if that is the only shell call under way; a process
 * that outlives its call is still told by its command line. What the agent
 * wrote itself is the call's that names the file. In doubt it is no call's.
 */
#ifndef STATETAPE_TAPE_QUERY_CREDIT_H
#define STATETAPE_TAPE_QUERY_CREDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CREDIT_NONE SIZE_MAX

struct credit_call {
	const char *command; /* "": no shell tool */
	const char *paths;   /* one per line; "": no editing tool */
	bool open;	     /* under way when the entry was made */
};

struct credit_entry {
	const char *path, *path2; /* NULL: none */
	/* Of the processes below the agent's, the author's first. None: the
	   agent's process is the author. */
	const char *const *cmdlines;
	size_t cmdlines_count;
};

/* An index in `calls`, which are newest first, or CREDIT_NONE. */
size_t credit_choose(const struct credit_entry *e,
		     const struct credit_call *calls, size_t count);

#endif
