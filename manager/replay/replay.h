/*
 * The manager's pipeline over a session that is over. Bodies go in as they
 * were, or are put together from a client's own record of the session; what
 * would have been sent comes out.
 *
 * What files held is taken from the session itself: a whole file that was
 * read is known from then on, an edit or a write is applied to what is known.
 * What other processes did is known only when a later read shows it, a part
 * of a file only if the repository still has the file. Nothing is known of
 * meaning: records are judged by their lines (recorded.h).
 */
#ifndef STATETAPE_MANAGER_REPLAY_REPLAY_H
#define STATETAPE_MANAGER_REPLAY_REPLAY_H

#include <stdint.h>

#include "manager/decide/brain.h"

struct replay;

/* `repo`: as calls name it; it is read for files that are not known. */
int replay_new(const char *repo, enum mode mode, struct replay **ret,
	       char **ret_why);
void replay_free(struct replay *r);

/* One request. `at_ns`: 0 if not known. */
struct replay_step {
	uint64_t received, sent; /* bytes */
	bool rewritten;
	uint32_t writes; /* that became known with it */
	/* What the model is told that it was not told before: lines, or "".
	   The replay's, until the next step. */
	const char *said;
};
int replay_body(struct replay *r, const char *body, size_t len, int64_t at_ns,
		struct replay_step *ret);

/*
 * A client's record of a session, one JSON object per line: Claude Code's, or
 * a Codex rollout. `step` is called for each request it made. -EBADMSG: it is
 * neither.
 */
typedef void replay_visit(void *ctx, const struct replay_step *step);
int replay_transcript(struct replay *r, const char *text, size_t len,
		      replay_visit *visit, void *ctx);

/* For REPORT and CONTEXT. */
struct brain *replay_brain(struct replay *r);

#endif
