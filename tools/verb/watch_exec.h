/*
 * Runs the user's command for an entry. Paths reach it as arguments and in the
 * environment, never in the text that a shell reads.
 */
#ifndef STATETAPE_TOOLS_VERB_WATCH_EXEC_H
#define STATETAPE_TOOLS_VERB_WATCH_EXEC_H

#include <cjson/cJSON.h>

/*
 * Run `command` with sh and wait for its end; a failure is a message. Nothing
 * is run for an entry that this process or one below it made.
 */
void watch_exec(const char *command, const char *repo, const cJSON *entry);

#endif
