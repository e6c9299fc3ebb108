/*
 * Applies decisions to a body: replaces texts of results, and appends notes to
 * the last result of a message. All other bytes stay as they are. Pure.
 * manager/README.md, The rewritten request, says what may change and why.
 *
 * Blocks are never removed. If a result's text is in several pieces, those that
 * the new text begins with stay, the rest of the new text goes into the next
 * piece, and each further piece becomes REWRITE_REST. Empty pieces stay empty.
 * A text that is already as wanted keeps its bytes, and a note that is already
 * at its place is not written again, so that rewriting twice equals rewriting
 * once.
 *
 * A note goes to the end of the result that is its place (struct item): as a
 * further part if the content is a list, otherwise into the string, after
 * REWRITE_GAP. So it is said by that tool, not by the user. Only a file that
 * the user attached gets it as a text block behind itself, and a message of the
 * user's without results at the end of its last text: clients send the same
 * text now as a block, now as a string.
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
 * A text for the place of `item` (struct item). A cache mark on the part or
 * block that the note follows moves to the note; one on the result stays.
 */
struct rewrite_note {
	uint32_t item;
	const char *text;
	size_t len;
};

struct rewriting {
	const struct replacement *replacements; /* ascending by item */
	size_t replacements_count;
	/* Ascending by item; one per place. */
	const struct rewrite_note *notes;
	size_t notes_count;
};

/*
 * Allocates *ret (free it). With nothing to do it equals the body. The result
 * is parsed again and compared with the request (ids, order, count, hashes of
 * unchanged items, cache marks): -EBADMSG if anything else changed. -EMSGSIZE:
 * beyond the limit on bodies. -EINVAL: an item that is not a result, an empty
 * text, a wrong order, two notes at one place. -ENODATA: a result without text
 * to replace, or without content to append a note to.
 */
int rewrite(const struct transcript *t, const struct rewriting *r, char **ret,
	    size_t *ret_len);

#endif
