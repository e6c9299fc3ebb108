/*
 * What kind of program a process is, by its JSON in an entry: an agent, the
 * shell a person types into, or a command of theirs.
 */
#ifndef STATETAPE_TOOLS_VERB_LOG_PROCESS_H
#define STATETAPE_TOOLS_VERB_LOG_PROCESS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "tape/journal/name.h"

/*
 * The agent that a process is (free it); NULL: none that we know. Of its
 * command line the first word counts, which a process can set, and the script
 * of an interpreter.
 */
char *process_agent(const cJSON *p);
/* The agent that this process, a `statetape run`, has started (free it). */
char *process_run(const cJSON *p);
/* The first word behind the options of a command line; "": none. */
struct process_name process_script(const char *line);

/* Does it start commands: an agent, or a shell at its prompt? */
bool process_is_session(const cJSON *p);

#endif
