/*
 * Entries by the command that made them: what a person did, such as `git
 * checkout main`, where each entry is one file of it.
 *
 * The command of an entry is the agent's tool call, if the tape knows it. Else
 * it is the process that an agent or the shell of a person has started, the
 * topmost one below those among the author and its ancestors, with all that it
 * starts itself. A process that writes, rests for GROUP_REST_S or longer, and
 * writes again (an editor) has done two things.
 */
#ifndef STATETAPE_TOOLS_VERB_LOG_GROUP_H
#define STATETAPE_TOOLS_VERB_LOG_GROUP_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/base/array.h"

#define GROUP_REST_S 10

/*
 * The same text for all entries of one command (free it). An entry whose
 * author says nothing about that has a text of its own.
 */
char *group_key(const cJSON *entry);
/*
 * The process of the entry, in it, that is the command; NULL: unknown, or the
 * agent itself made the change.
 */
const cJSON *group_process(const cJSON *entry);

struct group {
	char *key;
	ARRAY(cJSON *) entries; /* newest first; owned */
	int64_t oldest_ns;
};
void group_free(struct group *g);

/* Groups in the making. Zeroed: none. */
struct groups {
	ARRAY(struct group *) list; /* by their newest entry, newest first */
	uint32_t taken;		    /* of these, by groups_next() */
	int64_t seen_ns;
};
void groups_release(struct groups *g);

/* Takes an entry; entries come newest first. */
void groups_add(struct groups *g, cJSON *entry);
/*
 * The next group (group_free() it); NULL: it may still grow. `end`: there are
 * no more entries.
 */
struct group *groups_next(struct groups *g, bool end);

#endif
