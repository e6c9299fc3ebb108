/*
 * Reads a reply while the proxy streams it to the client: which tool calls it
 * makes, why it ended, its usage. Takes the decoded bytes in pieces of any
 * size, as an event stream or as one JSON value. Events it does not understand
 * are skipped.
 *
 * One thread at a time.
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

/* Tokens; -1: not in the reply. */
struct sse_usage {
	int64_t input; /* neither read from the cache nor written to it */
	int64_t cache_read;
	int64_t cache_write;	/* all lifetimes */
	int64_t cache_write_1h; /* the part of it with a lifetime of an hour */
	int64_t output;
};

enum sse_stop {
	STOP_NONE,   /* not yet in the reply */
	STOP_END,    /* the model ended its turn */
	STOP_CALL,   /* waits for the results of its calls */
	STOP_LENGTH, /* cut off at a limit */
	STOP_ERROR,  /* upstream reported an error inside the stream */
	STOP_OTHER,  /* refusal, pause, filter, ... */
};

/* The state so far. `calls` only grows. */
struct sse_seen {
	const struct sse_call *calls;
	uint32_t calls_count;
	struct sse_usage usage;
	enum sse_stop stop;
	bool over; /* the stream's own end was seen */
	bool lost; /* something too long or invalid was skipped */
};

struct sse;

/* `content_type`: the reply's header; NULL: find out from the bytes. */
struct sse *sse_new(enum dialect d, const char *content_type);
void sse_free(struct sse *s);

void sse_feed(struct sse *s, const char *bytes, size_t len);
/* There are no more bytes: a JSON reply is read now. */
void sse_end(struct sse *s);
/* Valid until the next call with `s`; its texts live as long as `s`. */
const struct sse_seen *sse_seen(const struct sse *s);

#endif
