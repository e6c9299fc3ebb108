/*
 * The reply, read on the side while it streams by: which tool calls it makes,
 * why it ended, what it cost. It takes the decoded bytes of a reply in any
 * pieces, as an event stream or as one JSON value, and never holds them back:
 * the edge passes them on by itself. What it does not understand it skips.
 *
 * One thread's at a time.
 */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_SSE_H
#define STATETAPE_MANAGER_TRANSCRIPT_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "manager/transcript/transcript.h"

#define SSE_EVENT_MAX ((size_t)16 << 20) /* of one event, or one JSON reply */
#define SSE_CALLS_MAX 1024u

/* A tool call whose arguments are complete. */
struct sse_call {
	struct text id;
	struct text name;
	struct text arguments; /* as struct item has them */
};

/* Tokens; -1: the reply did not say. */
struct sse_usage {
	int64_t input; /* neither read from the cache nor written to it */
	int64_t cache_read;
	int64_t cache_write;	/* all lifetimes */
	int64_t cache_write_1h; /* the part of it that lives an hour */
	int64_t output;
};

enum sse_stop {
	STOP_NONE,   /* not said (yet) */
	STOP_END,    /* said all it had to say */
	STOP_CALL,   /* waits for the results of its calls */
	STOP_LENGTH, /* cut off at a limit */
	STOP_ERROR,  /* upstream reported an error inside the stream */
	STOP_OTHER,  /* refusal, pause, filter, ... */
};

/* All that was learnt so far. `calls` only grows. */
struct sse_seen {
	const struct sse_call *calls;
	uint32_t calls_count;
	struct sse_usage usage;
	enum sse_stop stop;
	bool over; /* the stream said that it is complete */
	bool lost; /* something was too long or broken; skipped */
};

struct sse;

/* `content_type` as the reply's header has it, or NULL: look at the bytes. */
struct sse *sse_new(enum dialect d, const char *content_type);
void sse_free(struct sse *s);

void sse_feed(struct sse *s, const char *bytes, size_t len);
/* No more bytes will come: a JSON reply is read now. */
void sse_end(struct sse *s);
/* Good until the next call with `s`; texts live as long as `s`. */
const struct sse_seen *sse_seen(const struct sse *s);

#endif
