/* A commit's lines in the formats that other programs read. */
#ifndef STATETAPE_TOOLS_VERB_NOTES_NOTE_H
#define STATETAPE_TOOLS_VERB_NOTES_NOTE_H

#include <stdbool.h>
#include <stddef.h>

struct commit;

/* Git AI authorship log 3.0.0, the text of a git note (free it). */
char *note_git_ai(const struct commit *c, size_t *ret_len);
/* Is this note one that note_git_ai() made? */
bool note_is_ours(const char *note);
/* A record of Agent Trace 0.1.0, one line of JSON (free it). */
char *note_agent_trace(const struct commit *c);

#endif
