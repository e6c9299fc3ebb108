/*
 * The manager's pipeline over a recorded session. The input is the bodies of
 * its requests, captured or put together from the client's own log; the output
 * is what would have been sent.
 *
 * The contents of files come from the session itself: a whole file that was
 * read is known from then on, and edits and writes are applied to it. Changes
 * by other processes become known when a later read shows them; a file of which
 * only parts were read is taken from the repository. There is no code graph:
 * records are compared by their lines (recorded.h).
 */
#ifndef STATETAPE_MANAGER_REPLAY_REPLAY_H
#define STATETAPE_MANAGER_REPLAY_REPLAY_H

#include <stdint.h>

#include "manager/decide/brain.h"

struct replay;

/* `repo`: the repository's path in the session, read for unknown files. */
int replay_new(const char *repo, enum mode mode, struct replay **ret,
	       char **ret_why);
void replay_free(struct replay *r);

/* One request. `at_ns`: 0 if unknown. */
struct replay_step {
	uint64_t received, sent; /* bytes */
	bool rewritten;
	uint32_t writes; /* of files, learned from this request */
	/* Our sentences that are new in this request, a line each, or "".
	   Owned by the replay, valid until the next step. */
	const char *said;
};
int replay_body(struct replay *r, const char *body, size_t len, int64_t at_ns,
		struct replay_step *ret);

/*
 * A client's log of a session, one JSON object per line: Claude Code's, or a
 * Codex rollout. Calls `visit` for each request. -EBADMSG: it is neither.
 */
typedef void replay_visit(void *ctx, const struct replay_step *step);
int replay_transcript(struct replay *r, const char *text, size_t len,
		      replay_visit *visit, void *ctx);

/* For REPORT and CONTEXT. */
struct brain *replay_brain(struct replay *r);

#endif
