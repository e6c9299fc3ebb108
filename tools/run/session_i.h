/*
 * What the two sides of a session share; nobody else includes this.
 */
#ifndef STATETAPE_TOOLS_RUN_SESSION_I_H
#define STATETAPE_TOOLS_RUN_SESSION_I_H

#include <sys/un.h>

#include "tape/wire/state.h"

#define SESSION_SOCKET "run.sock"
/* Held by whoever is starting one, so that no two do. */
#define SESSION_START "run.start"
/* Held by a session and its guard until the last of them is gone. */
#define SESSION_LIFE "run.lock"
#define SESSION_LOG  "session.log"

int session_address(const struct state *s, struct sockaddr_un *ret);
/* -ECONNREFUSED, -ENOENT: nobody is there. */
int session_connect(const struct state *s, int *ret_fd);

/* Parts that were killed could not remove their sockets; those of parts that
   live stay. */
void session_sweep(const struct state *s);

#endif
