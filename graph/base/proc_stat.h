/*
 * /proc/PID/stat: "PID (COMM) STATE PPID ... START ...". COMM may contain any
 * character, blanks and parentheses, too. Any thread.
 */
#ifndef STATETAPE_GRAPH_BASE_PROC_STAT_H
#define STATETAPE_GRAPH_BASE_PROC_STAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The file is shorter. */
#define PROC_STAT_MAX 1024

struct proc_stat {
	const char *comm; /* in the text that was parsed, without an end */
	size_t comm_len;
	char state; /* 'R', 'S', 'T' ... */
	pid_t ppid;
	uint64_t start; /* clock ticks since the host's start */
};

/* -EBADMSG: not such a text. */
int proc_stat_parse(const char *text, struct proc_stat *ret);

/* The same of a process, without its name. A negative errno: there is none. */
int proc_stat_read(pid_t pid, struct proc_stat *ret);

#endif
