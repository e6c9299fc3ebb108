/*
 * Where coding agents keep the sessions that `statetape replay` reads.
 */
#ifndef STATETAPE_TOOLS_VERB_REPLAY_FIND_H
#define STATETAPE_TOOLS_VERB_REPLAY_FIND_H

#include <stddef.h>

/*
 * The newest session of Claude Code or Codex in the directory `cwd` (free it);
 * NULL: there is none.
 */
char *replay_find_last(const char *cwd);
/*
 * The directory in which a session took place, as its text names it (free it);
 * NULL: it does not.
 */
char *replay_find_cwd(const char *text, size_t len);

#endif
