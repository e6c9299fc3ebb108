/*
 * How each agent is pointed at the manager. Most read an environment variable,
 * some an option of their command line; what users set themselves (keys,
 * logins) is not changed.
 */
#ifndef STATETAPE_TOOLS_RUN_AGENT_H
#define STATETAPE_TOOLS_RUN_AGENT_H

#include <stdbool.h>
#include <sys/types.h>

enum agent_api { AGENT_ANTHROPIC, AGENT_OPENAI, AGENT_APIS };

/*
 * The address that the agent sends requests of this kind to without us (free
 * it), according to its own settings, its command line and this process's
 * environment; not validated. Settings in the repository do not count. Call it
 * before agent_prepare(), which changes that environment.
 */
char *agent_upstream(char *const *command, enum agent_api api);

/* Is it the name of an agent that has a row in our table? */
bool agent_is_known(const char *program);

/*
 * A remark about this agent for the user (free it), NULL: none. Some agents
 * cannot be pointed at the manager, or not from here; unknown ones get the
 * variables that most agents read.
 */
char *agent_note(char *const *command);

/* What users of a subscription login should know (free it), NULL: it is none.
 */
char *agent_login_note(const char *program);

/*
 * The command line to run in place of `command` (free the array, not its
 * strings). Sets this process's environment too, so call it only in the process
 * that becomes the agent. `address`: the manager's,
 * http://127.0.0.1:PORT/SECRET.
 */
char **agent_prepare(char **command, const char *address);

/*
 * git refuses a repository of another owner. If `repo`, whose owner outside of
 * the mount is `owner`, has another one in it, and git would have taken it
 * before, tell git by this process's environment that it may. No file of the
 * user's is changed.
 */
void agent_keep_git(const char *repo, uid_t owner);

#endif
