/*
 * Which turn of which conversation, and which tool call in it, an agent's
 * process worked on, and when: the manager's word. These tables are beside the
 * entries and outside the hash chain; which entry is a call's work is derived
 * from both when it is asked for (tape/query/credit.h).
 */
#ifndef STATETAPE_TAPE_STORE_TURNS_H
#define STATETAPE_TAPE_STORE_TURNS_H

#include <stddef.h>
#include <stdint.h>

#include "graph/base/arena.h"
#include "tape/store/store.h"

/* A process: a pid alone may recur. */
struct turn_agent {
	uint32_t pid;	/* 0: unknown */
	uint64_t start; /* clock ticks since the host's start */
};

struct turn_call {
	const char *name; /* the client's id of it */
	const char *tool;
	const char *command; /* of a shell tool; "": none */
	const char *paths;   /* files to edit, one per line; "": none */
};

/* A request and its reply. Texts are "" where they are not known. */
struct turn_step {
	const char *conversation, *client, *model;
	const char *name;   /* the same for all requests of the turn */
	const char *prompt; /* its first words */
	struct turn_agent agent;
	int64_t at_ns; /* when the request arrived */
	/* The calls whose results it brought. */
	const char *const *results;
	size_t results_count;
	/* The calls that the reply made, and when it began to be passed on. */
	const struct turn_call *calls;
	size_t calls_count;
	int64_t calls_ns;
};

/*
 * A turn that is new in its conversation gets the next ordinal, and ends the
 * calls of the turns before. The same step twice changes nothing. Runs in a
 * transaction of its own unless one is open.
 */
int store_put_step(struct store *s, const struct turn_step *step,
		   uint64_t *ret_ordinal);

struct turn_seen {
	int64_t id;
	const char *conversation, *client, *model, *prompt;
	uint64_t ordinal;
};

/* Texts are copied to the arena. -ENOENT: there is no such turn. */
int store_turn(struct store *s, int64_t id, struct arena *a,
	       struct turn_seen *ret);
/*
 * The turn that a process worked on at a time: 1 and its id, or 0: it was no
 * agent then.
 */
int store_turn_at(struct store *s, struct turn_agent agent, int64_t at_ns,
		  int64_t *ret);

/* A call made before some time. */
struct turn_made {
	struct turn_call call;
	int64_t turn;
	bool open; /* it was under way then */
};
/* Newest first, at most `limit`; texts live until the visitor returns. */
typedef void store_call_visit(const struct turn_made *made, void *arg);
int store_calls_at(struct store *s, struct turn_agent agent, int64_t at_ns,
		   size_t limit, store_call_visit *visit, void *arg);

#endif
