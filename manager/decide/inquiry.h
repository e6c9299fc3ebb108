/*
 * What the tape is asked for one request: the barrier, the births of new
 * records, nominations. Only new decisions need it; what was decided before is
 * sent again without it (brain.c).
 *
 * New decisions have INQUIRY_RULE_MS. While the tape is behind or slow, for the
 * first ones of a conversation, and for those left over by the request before,
 * they have INQUIRY_MOST_MS: a model takes seconds to answer, and an answer to
 * a wrong context is lost. A tape that gives no answer in that time, and
 * publishes nothing either, is not waited for so long again until it answers.
 *
 * The time is checked between questions and between records, and by the client
 * inside each question. Whatever was not determined by then is left for the
 * next request: births that are known stay, everything else is asked again.
 */
#ifndef STATETAPE_MANAGER_DECIDE_INQUIRY_H
#define STATETAPE_MANAGER_DECIDE_INQUIRY_H

#include <stdbool.h>
#include <stdint.h>

#define INQUIRY_RULE_MS 20
#define INQUIRY_MOST_MS 400

struct brain;
struct client;
struct conversation;
struct evidence;
struct held;
struct records;
struct request;

struct inquiry {
	struct brain *b;
	const struct request *r;
	int64_t begun_ns; /* CLOCK_MONOTONIC: when the request's body was here
			   */
	struct conversation *c;
	struct records *records;
	struct held **held; /* as conversation_match() gives them */
	struct client *client;
	struct evidence *e; /* inquiry_ask() initializes it */
};

/*
 * Births and nominations of all records. NULL, or why nothing new can be
 * decided in this request.
 */
const char *inquiry_ask(struct inquiry *q);
/* It returned NULL, and all was decided since: go on from here next time. */
void inquiry_over(struct inquiry *q);

/* How long the tape is waited for now, at most. */
int inquiry_patience_ms(struct brain *b);

#endif
