/*
 * How each agent is told where its model is. Most read a variable of the
 * environment, some a word of their command line; what a user has set himself
 * (a key, a login) is left alone.
 */
#ifndef STATETAPE_TOOLS_AGENT_H
#define STATETAPE_TOOLS_AGENT_H

#include <stdbool.h>

/* Is it one that we know? All others get the variables most of them read. */
bool agent_is_known(const char *program);

/*
 * The command line to run in place of `command` (free the array, not its
 * texts), with the environment of this process set for it: so call it where
 * the agent is to be, and nowhere else. `port`: where the manager listens on
 * 127.0.0.1.
 */
char **agent_prepare(char **command, unsigned port);

#endif
