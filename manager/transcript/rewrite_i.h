/* Shared by rewrite.c and rewrite_check.c only. */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_REWRITE_I_H
#define STATETAPE_MANAGER_TRANSCRIPT_REWRITE_I_H

#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "manager/transcript/rewrite.h"
#include "manager/transcript/transcript.h"

/* The bytes `cut` of the body are replaced by the bytes `put` of writer.out. */
struct edit {
	struct span cut;
	struct span put;
};

struct writer {
	const struct transcript *t;
	ARRAY(struct edit) edits;
	struct buf out;		  /* the bytes that edits insert */
	ARRAY(uint32_t) inserted; /* items with a new item behind them */
	struct arena arena;	  /* decoded texts */
	int error;		  /* the first one */
};

/*
 * Does `body`, the received body after `w->edits` (in order), differ from it by
 * what `r` asks for and nothing else? -EBADMSG: it does not.
 */
int rewrite_check(const struct writer *w, const struct rewriting *r,
		  const char *body, size_t len);

#endif
