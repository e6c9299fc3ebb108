/*
 * Which changes the model made itself, word for word, by calls of its editing
 * tools. Such a call, standing behind a record in the same request, says what
 * changed: the record needs no note. It needs one again when somebody else
 * changes the file, or when the call leaves the transcript.
 *
 * An edit is credited with an entry of the tape in the request that brings its
 * result: of the entries on its file since the request before, there must be no
 * more than edits, and none by somebody else. What a command of the agent
 * changed (sed -i, a formatter) is nobody's edit: the model has not seen it.
 * Where entries and edits do not match, nothing is credited, so that a change
 * is told twice rather than never.
 *
 * Callers hold the conversation's lock.
 */
#ifndef STATETAPE_MANAGER_DECIDE_OWN_H
#define STATETAPE_MANAGER_DECIDE_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conversation;
struct evidence;
struct held;
struct records;

/* List what all edits wrote, and where they stand in this request. */
void own_list(struct conversation *c);

/*
 * Do the edits that concern `h`, of entries after `from` up to `to`, all stand
 * behind it?
 */
bool own_stand(const struct conversation *c, const struct held *h,
	       uint64_t from, uint64_t to);
/* Did the model's edits alone outdate `h`, wherever they stand now? */
bool own_alone(const struct conversation *c, const struct held *h);

/* The newest entry up to `to` by which an edit changed what `h` shows; or 0. */
uint64_t own_newest(const struct conversation *c, const struct held *h,
		    uint64_t to);

/* Set held.known as of the last request; before new nominations. */
void own_before(const struct evidence *e, struct held *const *held,
		size_t count);
/* Credit the new edits, and set held.foreign and held.known; after them. */
void own_learn(struct evidence *e, struct held *const *held, size_t count,
	       struct records *r);

#endif
