/* What client.c shares with client_nominate.c. */
#ifndef STATETAPE_TAPE_WIRE_CLIENT_I_H
#define STATETAPE_TAPE_WIRE_CLIENT_I_H

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "tape/wire/client.h"

/*
 * What an answer that was handed out points into: the answers as they were
 * parsed, whose strings are only un-escaped in place, and arrays.
 */
struct client_held {
	ARRAY(cJSON *) answers;
	struct arena arena;
};

struct client_held *client_held_new(cJSON *answer); /* NULL: none yet */
void client_held_keep(struct client_held *h, cJSON *answer);
void client_held_free(struct client_held *h);
/* `count` elements of `size` bytes, zeroed. */
void *client_held_take(struct client_held *h, size_t count, size_t size);

/* Ask the whole question in c->text, whose "ask" is `ask`. */
int client_ask_text(struct client *c, const char *ask, cJSON **ret);

/* Of an answer; what is missing is false, "", 0. */
bool client_truth(const cJSON *j, const char *name);
/* A path or a name: bytes again, un-escaped in place, so once only. */
const char *client_bytes(const cJSON *j, const char *name);
size_t client_length(const cJSON *list);

#endif
