/*
 * The session of a repository: what all runs on it share. One mount, in a
 * namespace that only they see where that is possible, and one tape. The first
 * run starts it, the last one to leave ends it.
 *
 *	statetape run --+            +- the guard -+- statetape-fs
 *	                +- run.sock -+             +- session --- tape
 *	statetape run --+            (all in the mount's namespace)
 *
 * A run is a connection: when its process ends, however it ends, the kernel
 * closes it, and that is how the session knows. The one that starts a session
 * hands it the other end of its own, so that there is no moment at which the
 * session waits for a run that is dead. The session speaks first: a line of
 * JSON about itself, then a line for each thing a person should know.
 */
#ifndef STATETAPE_TOOLS_RUN_SESSION_H
#define STATETAPE_TOOLS_RUN_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "tape/wire/state.h"

enum session_mount {
	SESSION_AUTO,	 /* the first of these that works here */
	SESSION_PRIVATE, /* in a namespace of its own */
	SESSION_VISIBLE, /* for all to see */
	SESSION_NONE,	 /* not at all: changes are noticed, not their author */
	SESSION_MOUNTS
};
extern const char *const session_mount_names[SESSION_MOUNTS];

/* SESSION_MOUNTS: no such way. */
enum session_mount session_mount_find(const char *name);

/* A run's end of it. */
struct session {
	int fd; /* -1: none */
	pid_t pid;
	pid_t guard;		  /* the process that mounted for it, 0: none */
	enum session_mount mount; /* never SESSION_AUTO */
	char line[4096];	  /* what has come of the next line */
	size_t len;
	bool asked; /* session_ask() was, and not all is told yet */
};
#define SESSION_EMPTY    \
	{                \
		.fd = -1 \
	}

/*
 * Join the session of the repository, and start it if there is none. `s` has
 * its directories. On failure, having complained, a negative errno.
 */
int session_join(const struct state *s, enum session_mount mount,
		 struct session *ret);
/* The last to leave waits until all of it is gone, and buries what was killed
   on the way. */
void session_leave(struct session *s, const struct state *state);

/*
 * It has ended by itself, which it does when it is killed. If its guard was,
 * too, the mount is still there, and is taken away; so are its sockets.
 */
void session_bury(struct session *s, const struct state *state);

/* See what it sees from here on. The calling process must have one thread. */
int session_enter(const struct session *s);

/*
 * The next thing it has to say (free it), NULL: nothing now. *ret_gone: it has
 * ended, and there will be no more.
 */
char *session_note(struct session *s, bool *ret_gone);

/*
 * Have it look around, and do and tell what follows from what it sees. When
 * `asked` is false again session_note() has given all of that.
 */
void session_ask(struct session *s);

#endif
