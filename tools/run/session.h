/*
 * The session of a repository: what all runs on it share. One mount, in a
 * namespace that only they see where that is possible, and one tape. The first
 * run starts it, the last one to leave ends it.
 *
 *	statetape run --+            +- the guard -+- statetape-fs
 *	                +- run.sock -+             +- session --- tape
 *	statetape run --+            (all in the mount's namespace)
 *
 * Each run holds a connection to the session. When the run's process ends,
 * however it ends, the kernel closes the connection, so the session notices.
 * The run that starts a session makes a socket pair and passes one end to it:
 * the session has a run from its first moment, and ends if that run dies. The
 * session sends the first message, a line of JSON about itself, then one line
 * for each event that the user should know of.
 */
#ifndef STATETAPE_TOOLS_RUN_SESSION_H
#define STATETAPE_TOOLS_RUN_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "tape/wire/state.h"

enum session_mount {
	SESSION_AUTO,	 /* the first of the others that works here */
	SESSION_PRIVATE, /* in a mount namespace of its own */
	SESSION_VISIBLE, /* visible to all processes */
	SESSION_NONE, /* no mount: changes are found, their authors are not */
	SESSION_MOUNTS
};
extern const char *const session_mount_names[SESSION_MOUNTS];

/* SESSION_MOUNTS: unknown name. */
enum session_mount session_mount_find(const char *name);

/* A run's end of the connection. */
struct session {
	int fd; /* -1: none */
	pid_t pid;
	pid_t guard;		  /* the process that mounted, 0: none */
	enum session_mount mount; /* never SESSION_AUTO */
	char line[4096];	  /* the incomplete line received so far */
	size_t len;
	bool asked; /* session_ask() was sent, and its answer is not complete */
};
#define SESSION_EMPTY    \
	{                \
		.fd = -1 \
	}

/*
 * Join the repository's session, and start one if there is none. The state's
 * directories must exist. On failure prints a message and returns a negative
 * errno.
 */
int session_join(const struct state *s, enum session_mount mount,
		 struct session *ret);
/*
 * Leave the session. The last run waits until the session is gone, and cleans
 * up after parts of it that were killed.
 */
void session_leave(struct session *s, const struct state *state);

/*
 * The session ended by itself, which happens only when it is killed. If its
 * guard was killed too, remove the mount that is left, and the sockets.
 */
void session_bury(struct session *s, const struct state *state);

/*
 * Enter the session's mount namespace. The calling process must have one
 * thread.
 */
int session_enter(const struct session *s);
/* The same with the namespace of any process of the same user. */
int session_enter_of(pid_t pid);

/*
 * The session's next message (free it), NULL: none now. *ret_gone: the session
 * has ended, there will be no more.
 */
char *session_note(struct session *s, bool *ret_gone);

/*
 * Ask the session to check its mount and its tape now. When `asked` is false
 * again, session_note() has returned all resulting messages.
 */
void session_ask(struct session *s);

#endif
