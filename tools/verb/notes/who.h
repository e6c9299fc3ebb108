/*
 * Who wrote an entry: a person, or an agent, and then which one. An agent's are
 * the entries of processes below `statetape run -- AGENT` and below a process
 * with the name of an agent we know. Everything else that passed through the
 * mount is a person's; shells are not agents. What did not pass through it is
 * nobody's, and so are lines that git brought from elsewhere (a checkout, a
 * merge): whoever ran git did not write them.
 *
 * The conversation and its model are those of the entry's turn, the manager's
 * word.
 */
#ifndef STATETAPE_TOOLS_VERB_NOTES_WHO_H
#define STATETAPE_TOOLS_VERB_NOTES_WHO_H

#include <cjson/cJSON.h>
#include <stdbool.h>

enum who_kind {
	WHO_UNKNOWN,
	WHO_PERSON,
	WHO_AGENT,
	WHO_SEVERAL, /* written by several, and it is not known which lines */
};

struct who {
	enum who_kind kind;
	/* Of an agent alone: */
	char *tool;
	char *id;    /* of its conversation, else of its process */
	char *model; /* "unknown": the manager did not say */
};

/* Release the result with who_release(). */
void who_init(struct who *w, const cJSON *entry);
void who_release(struct who *w);

/* The same person, or the same conversation of the same agent? */
bool who_is_same(const struct who *a, const struct who *b);

#endif
