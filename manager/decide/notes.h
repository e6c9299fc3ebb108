/*
 * The texts that the model reads from us: notes in the newest results, and
 * replacements of records. Pure and deterministic: no clock, no counter.
 *
 * Each of our sentences begins with NOTES_MARK at the start of a line, so that
 * the model can tell it from the tool's text, and the tape flags a file it is
 * copied into.
 *
 * What is quoted cannot pass for ours or the user's: lines of the repository in
 * a note are fenced and each begins with a bar; names and commands are one line
 * each (graph/base/quote.h); where a file has our mark, a backslash is put in.
 *
 * All functions append to `out` and return 0, or -EMSGSIZE: `out` cannot hold
 * it, and nothing was appended.
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

/* -- Sections of a note. `why` is the tape's reason, without a full stop. */

/* The diff from what was shown of `path` to what it is now. */
int note_changes(struct buf *out, const char *path, const char *why,
		 const char *diff, size_t len);
/* It changed, and has to be read again. */
int note_read_again(struct buf *out, const char *path, const char *why);
/* Lines from `line` on have moved by `shift`, by the model's own edits. */
int note_moved(struct buf *out, const char *path, uint32_t line, int shift);
/* The file no longer exists. */
int note_gone(struct buf *out, const char *path, const char *why);
/* The output of a command is out of date. */
int note_outdated(struct buf *out, const char *what, const char *why);
/* The text is unchanged, but callees or constants changed. */
int note_elsewhere(struct buf *out, const char *path, const char *why);
/* Commands ran before later changes; the output of none can be relied on. */
int note_runs(struct buf *out, const char *const *commands, uint32_t count,
	      const char *why);
/*
 * Of `all` files shown above, the first `count` by name: whether they changed
 * could not be checked in time. Of none: what is shown may be outdated. One
 * line.
 */
int note_unchecked(struct buf *out, const char *const *paths, uint32_t count,
		   uint32_t all);
/* Where the note stands behind the user's own words, not a tool's. */
int note_automatic(struct buf *out);
/* Retrieved code that the next step may need. */
int note_retrieved(struct buf *out, const char *text, size_t len);

/* -- Replacements. */
int replacement_tombstone(struct buf *out, const char *path, uint32_t start,
			  uint32_t end, const char *why);
/* The file no longer exists. */
int replacement_gone(struct buf *out, const char *path, const char *why);
/* A later result shows the current text. */
int replacement_superseded(struct buf *out, const char *path, const char *why);
/* It was true, and no longer needed. */
int replacement_evicted(struct buf *out, const char *what);
int replacement_rerun(struct buf *out, const char *command, const char *why);

/*
 * A read as its tool would print it now: the lines it showed, at their current
 * numbers, in the same layout. With `only`, just these lines; a line of ours
 * names each gap.
 */
struct refresh {
	const struct shape *shape;
	const char *path, *why;
	uint32_t start, end; /* as read: lines from 1; 0: first, last */
	const struct linediff *since; /* from the file at its birth to now */
	const struct range *only;     /* rising, not overlapping; NULL: all */
	uint32_t only_count;
};
/* -ENOENT: none of the lines is left. -ENOMEM. */
int replacement_refresh(struct buf *out, const struct refresh *r);

#endif
