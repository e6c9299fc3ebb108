/* Shared by the two sides of a session; no other file includes this. */
#ifndef STATETAPE_TOOLS_RUN_SESSION_I_H
#define STATETAPE_TOOLS_RUN_SESSION_I_H

#include <sys/un.h>

#include "tape/wire/state.h"

#define SESSION_SOCKET "run.sock"
/* Lock file: held by a run while it starts a session. */
#define SESSION_START "run.start"
/* Lock file: held by a session and its guard until both have ended. */
#define SESSION_LIFE "run.lock"
#define SESSION_LOG  "session.log"

int session_address(const struct state *s, struct sockaddr_un *ret);
/* -ECONNREFUSED, -ENOENT: no session runs. */
int session_connect(const struct state *s, int *ret_fd);

/*
 * Remove sockets that killed processes left behind; a socket that answers
 * stays.
 */
void session_sweep(const struct state *s);

#endif
