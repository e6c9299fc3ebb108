/*
 * What the model gets to read from us: notes behind the newest results, and
 * texts that stand in a record's place. Pure, and the same bytes for the same
 * values: no clocks, no counters, no order but the caller's.
 *
 * Every sentence of ours begins with NOTES_MARK at the start of a line, so
 * that a reader tells it from a tool's text, and the tape notices when it is
 * copied into a file.
 *
 * All return 0 or -EMSGSIZE: `out` may not hold that much; then nothing was
 * appended.
 */
#ifndef STATETAPE_MANAGER_DECIDE_NOTES_H
#define STATETAPE_MANAGER_DECIDE_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/buf.h"
#include "manager/decide/linediff.h"
#include "manager/record/records.h"

#define NOTES_MARK "[statetape]"

/* -- Notes, one line or section each. `why` is a sentence without its full
 * stop, as the tape gives it. */

/* The difference between what was shown of `path` and what it is now. */
int note_changes(struct buf *out, const char *path, const char *why,
		 const char *diff, size_t len);
/* It changed; what was read of it no longer counts. */
int note_read_again(struct buf *out, const char *path, const char *why);
/* The same, when the changes are the reader's own. */
int note_own_edits(struct buf *out, const char *path);
/* What was read is there no longer, and there is nothing to be read anew. */
int note_gone(struct buf *out, const char *path, const char *why);
/* What was shown no longer counts. */
int note_outdated(struct buf *out, const char *what, const char *why);
/* The text is as it was, but not what it is connected with. */
int note_elsewhere(struct buf *out, const char *path, const char *why);
int note_run_again(struct buf *out, const char *command, const char *why);
/* Code that was not asked for, and may be needed next. */
int note_retrieved(struct buf *out, const char *text, size_t len);

/* -- In place. */
int replacement_tombstone(struct buf *out, const char *path, uint32_t start,
			  uint32_t end, const char *why);
/* The file is gone with all that was read of it. */
int replacement_gone(struct buf *out, const char *path, const char *why);
/* A later result shows the same, as it is now. */
int replacement_superseded(struct buf *out, const char *path, const char *why);
/* Nothing was wrong with it. */
int replacement_evicted(struct buf *out, const char *what);
int replacement_rerun(struct buf *out, const char *command, const char *why);

/* Lines from 0, up to but without `last`, of the text as it is now. */
struct range {
	uint32_t first, last;
};

/*
 * A read, as it would look if it were made now: the lines it showed, carried
 * to where they are, in the shape its tool gave them. With `only` just those
 * of them are shown, and a line of ours says which were left out.
 */
struct refresh {
	const struct shape *shape;
	const char *path, *why;
	uint32_t start, end; /* as read: lines from 1; 0: first, last */
	const struct linediff *since; /* the file then and now */
	const struct range *only;     /* rising, not overlapping; NULL: all */
	uint32_t only_count;
};
/* -ENOENT: nothing is left of the lines. -ENOMEM. */
int replacement_refresh(struct buf *out, const struct refresh *r);

#endif
