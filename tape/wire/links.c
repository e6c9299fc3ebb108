#include "tape/wire/links.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/wire/wire.h"

/* Connections kept; a thread that finds none makes one. */
#define IDLE_MAX 8

struct links {
	pthread_mutex_t lock;
	struct wire_link *idle[IDLE_MAX]; /* protected by lock */
	size_t count;			  /* protected by lock */
	char *socket;
};

struct links *links_new(const char *socket)
{
	struct links *l = must_calloc(1, sizeof(*l));

	(void)pthread_mutex_init(&l->lock, NULL);
	l->socket = must_strdup(socket);
	return l;
}

void links_free(struct links *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++)
		wire_link_free(l->idle[i]);
	(void)pthread_mutex_destroy(&l->lock);
	free(l->socket);
	free(l);
}

static struct wire_link *take(struct links *l)
{
	struct wire_link *link = NULL;

	(void)pthread_mutex_lock(&l->lock);
	assert(l->count <= IDLE_MAX);
	if (l->count)
		link = l->idle[--l->count];
	(void)pthread_mutex_unlock(&l->lock);
	return link ? link : wire_link_new(l->socket);
}

static void give_back(struct links *l, struct wire_link *link)
{
	(void)pthread_mutex_lock(&l->lock);
	if (l->count < IDLE_MAX) {
		l->idle[l->count++] = link;
		link = NULL;
	}
	(void)pthread_mutex_unlock(&l->lock);
	wire_link_free(link);
}

int links_ask_text(struct links *l, const char *text, int timeout_ms,
		   cJSON **ret)
{
	struct wire_link *link = take(l);
	int rc;

	if (!link)
		return -ENOMEM;
	rc = wire_link_ask(link, text, timeout_ms, ret);
	/* An answer that comes too late must not be the next question's. */
	if (rc == 0 || rc == -EREMOTEIO)
		give_back(l, link);
	else
		wire_link_free(link);
	return rc;
}

/* {"v":1,"ask":"NAME", and the question's members. NULL: no memory. */
static char *whole(const char *ask, const cJSON *question)
{
	CLEANUP(free_p)
	char *members = question ? cJSON_PrintUnformatted(question) : NULL;
	size_t rest = members ? strlen(members) : 0;
	size_t size = strlen(ask) + rest + 32;
	char *text = malloc(size);
	int at;

	if (!text || (question && !members)) {
		free(text);
		return NULL;
	}
	at = snprintf(text, size, "{\"v\":%d,\"ask\":\"%s\"%s", WIRE_VERSION,
		      ask, rest > 2 ? "," : "}");
	if (rest > 2) /* NOLINTNEXTLINE(bugprone-not-null-*): it is */
		memcpy(text + at, members + 1, rest);
	return text;
}

int links_ask(void *links, const char *ask, const cJSON *question,
	      int timeout_ms, cJSON **ret)
{
	CLEANUP(free_p) char *text = whole(ask, question);

	return text ? links_ask_text(links, text, timeout_ms, ret) : -ENOMEM;
}
