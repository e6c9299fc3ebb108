/*
 * How each agent is told where its model is. Most read a variable of the
 * environment, some a word of their command line; what a user has set himself
 * (a key, a login) is left alone.
 */
#ifndef STATETAPE_TOOLS_RUN_AGENT_H
#define STATETAPE_TOOLS_RUN_AGENT_H

enum agent_api { AGENT_ANTHROPIC, AGENT_OPENAI, AGENT_APIS };

/*
 * Where its requests of this kind go as long as nobody stands between (free
 * it), by the environment of this process; whatever it says there, be it an
 * address or not. Ask before agent_prepare(), which changes that.
 */
char *agent_upstream(const char *program, enum agent_api api);

/*
 * What a person should know about it (free it), NULL: nothing. Some cannot be
 * pointed at the manager; those we do not know get the variables most read.
 */
char *agent_note(const char *program);

/*
 * The command line to run in place of `command` (free the array, not its
 * texts), with the environment of this process set for it: so call it where
 * the agent is to be, and nowhere else. `port`: where the manager listens on
 * 127.0.0.1.
 */
char **agent_prepare(char **command, unsigned port);

#endif
