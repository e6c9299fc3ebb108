/*
 * Connections to the tape that are kept: a turn asks a handful of questions,
 * and to connect takes as long as to be answered. Any thread may call.
 */
#ifndef STATETAPE_MANAGER_DECIDE_LINKS_H
#define STATETAPE_MANAGER_DECIDE_LINKS_H

#include <cjson/cJSON.h>

struct links;

struct links *links_new(const char *socket);
/* When nobody asks any more. */
void links_free(struct links *l);
/* A brain_ask (brain.h); `links` is the struct. Answers as wire_ask(). */
int links_ask(void *links, const char *ask, const cJSON *question,
	      int timeout_ms, cJSON **ret);

#endif
