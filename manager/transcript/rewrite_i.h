/* What rewrite.c shares with rewrite_check.c, and with nobody else. */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_REWRITE_I_H
#define STATETAPE_MANAGER_TRANSCRIPT_REWRITE_I_H

#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "manager/transcript/rewrite.h"
#include "manager/transcript/transcript.h"

/* Bytes of `cut` go, those of `out` from `start` to `end` come. */
struct edit {
	struct span cut;
	struct span put;
};

struct writer {
	const struct transcript *t;
	ARRAY(struct edit) edits;
	struct buf out;		  /* what the edits put */
	ARRAY(uint32_t) inserted; /* items with a new one behind them */
	struct arena arena;	  /* texts that had to be decoded */
	int error;		  /* the first that occurred */
};

/*
 * Is `body`, made from what was received by `w->edits` (in order), what `r`
 * asks for and nothing else? -EBADMSG: it is not.
 */
int rewrite_check(const struct writer *w, const struct rewriting *r,
		  const char *body, size_t len);

#endif
