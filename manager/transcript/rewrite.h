/*
 * Putting decisions into a body: texts of results replaced, notes appended
 * after the results of a message. All other bytes stay as they are. Pure.
 *
 * Blocks are never removed. Where a result's text stands in several pieces,
 * those the new text begins with stay, the rest of it goes into the next, and
 * any further piece is left with REWRITE_REST. Pieces that were empty stay
 * empty. A text that is already what it should be keeps its bytes, so writing
 * twice is writing once; a note that already stands at its place is not
 * written again.
 *
 * A note is, in Messages, a text block directly behind the last result of its
 * message; in Responses and Chat it is put at the end of the last result of
 * the run: a further part if the content is a list, otherwise behind the
 * string, with REWRITE_GAP between.
 */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_REWRITE_H
#define STATETAPE_MANAGER_TRANSCRIPT_REWRITE_H

#include <stddef.h>
#include <stdint.h>

struct transcript;

#define REWRITE_REST "[statetape] see above"
#define REWRITE_GAP  "\n\n"

/* The whole text of result `item` becomes `text` (never empty). */
struct replacement {
	uint32_t item;
	const char *text;
	size_t len;
};

/*
 * A text block after result `item` and all results that belong with it (those
 * of its message; in Chat and Responses the run of results it stands in). A
 * cache mark on the last block of that place moves onto the note.
 */
struct rewrite_note {
	uint32_t item;
	const char *text;
	size_t len;
};

struct rewriting {
	const struct replacement *replacements; /* by item, rising */
	size_t replacements_count;
	/* By item, rising; one per place (struct item). */
	const struct rewrite_note *notes;
	size_t notes_count;
};

/*
 * Allocates *ret (free it). With nothing to do it equals the body. The result
 * is read again and compared with what was asked for (ids, order, count, all
 * that was not to change by its hash, cache marks): -EBADMSG if anything else
 * changed, -EMSGSIZE beyond the limit on bodies. -EINVAL: an item that is no
 * result, an empty text, a wrong order, two notes at one place. -ENODATA: a
 * result without any text to replace, or without content to put a note to.
 */
int rewrite(const struct transcript *t, const struct rewriting *r, char **ret,
	    size_t *ret_len);

#endif
