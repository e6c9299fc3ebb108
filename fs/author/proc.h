/*
 * Reads about a process from /proc, and checks cheaply later whether it is
 * still that process running that program. Keeps no state; actor.c does.
 *
 * Any thread may call any function here. Call none with a lock held: reading
 * /proc can block on the process in question (proc.c says when).
 */
#ifndef STATETAPE_FS_AUTHOR_PROC_H
#define STATETAPE_FS_AUTHOR_PROC_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/base/limits.h"

#define PROC_COMM_MAX 64

struct proc {
	int fd;	       /* /proc, -1: none that shows our processes */
	int fd_max;    /* descriptors we keep are below this number */
	bool compares; /* kcmp(2) is allowed */
};

/* Cannot fail; without a /proc of our pid namespace every look fails. */
void proc_init(struct proc *p);
void proc_release(struct proc *p);

/* The process (thread group) of `tid`, 0: the thread is gone. */
pid_t proc_of_thread(const struct proc *p, pid_t tid);

/* `tid` is a thread of `pid` now. */
bool proc_has_thread(pid_t pid, pid_t tid);

/* A process as seen at one moment. Texts are "" where unreadable. */
struct proc_view {
	pid_t ppid;
	uid_t uid;	/* effective */
	uint64_t start; /* clock ticks since boot */
	char comm[PROC_COMM_MAX + 1];
	char cmdline[ACTOR_CMDLINE_MAX + 1]; /* arguments joined by a space */
	char exe[PATH_MAX];
};

/* Descriptors that reveal a change of the process; -1: not available. */
struct proc_traces {
	int memory;
	int cmdline;
};
void proc_traces_close(struct proc_traces *t);

/*
 * Look at process `pid` through its thread `tid`, which may be the same.
 * Negative errno: it is gone or hidden from us.
 */
int proc_look(const struct proc *p, pid_t pid, pid_t tid, struct proc_view *ret,
	      struct proc_traces *ret_traces);

/*
 * May `tid` be running in the memory of process `parent`, as a vforked child
 * does until it execs?
 */
bool proc_may_share(const struct proc *p, pid_t tid, pid_t parent);

/* One descriptor, counted: it may be evicted while another thread uses it. */
struct proc_probe;

/*
 * Keeps one of the traces and closes the other. `shared`: the process may be
 * running in another's memory. NULL: both are -1, or memory is short.
 */
struct proc_probe *proc_probe_new(struct proc_traces *t, bool shared);
struct proc_probe *proc_probe_ref(struct proc_probe *probe);
void proc_probe_unref(struct proc_probe *probe); /* NULL is accepted */

/*
 * False when the process exited or became another program, or its id belongs
 * to another process. `cmdline` is the one that proc_look() returned.
 */
bool proc_probe_same(const struct proc_probe *probe, const char *cmdline);

#endif
