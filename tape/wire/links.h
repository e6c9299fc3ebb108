/*
 * Connections to the tape that are kept for the next question: a turn of the
 * manager asks a handful, and to connect takes as long as to be answered. Any
 * thread may call.
 */
#ifndef STATETAPE_TAPE_WIRE_LINKS_H
#define STATETAPE_TAPE_WIRE_LINKS_H

#include <cjson/cJSON.h>

struct links;

/* To the tape at `socket` (copied). Connects to nothing yet. */
struct links *links_new(const char *socket);
/* When no thread asks any more. NULL is accepted. */
void links_free(struct links *l);

/* A wire_transport (wire.h); `links` is the struct. */
int links_ask(void *links, const char *ask, const cJSON *question,
	      int timeout_ms, cJSON **ret);
/* The same for a whole question as text, {"v":1,"ask":...}. */
int links_ask_text(struct links *l, const char *text, int timeout_ms,
		   cJSON **ret);

#endif
