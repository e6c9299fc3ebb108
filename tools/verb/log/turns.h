/*
 * `statetape log --turns`: what agents did, by conversation, turn and call.
 */
#ifndef STATETAPE_TOOLS_VERB_LOG_TURNS_H
#define STATETAPE_TOOLS_VERB_LOG_TURNS_H

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>

#include "graph/base/array.h"
#include "tools/verb/entry_text.h"

struct turns {
	ARRAY(struct turns_talk *) talks; /* newest first */
	uint64_t count;			  /* turns in all of them */
};
void turns_release(struct turns *t);

/*
 * Takes an entry; entries come newest first. Entries without a turn are left
 * out. False: it would begin more than `most` turns, and was left out.
 */
bool turns_add(struct turns *t, cJSON *entry, uint64_t most);
void turns_print(FILE *out, const struct turns *t, struct entry_style style);

#endif
