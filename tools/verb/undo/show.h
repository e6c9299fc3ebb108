/*
 * A plan printed for people: as a diff before it is carried out, and as a list
 * of what was done after it.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_SHOW_H
#define STATETAPE_TOOLS_VERB_UNDO_SHOW_H

#include "tools/verb/unified.h"

struct history;
struct undo_plan;
struct where;

/* In the form of git's diffs, with paths from the current directory. */
void show_diff(const struct undo_plan *p, const struct where *w,
	       struct unified_style style);
/* One line per file that was changed. */
void show_done(const struct undo_plan *p, const struct where *w);
/* What is left as it is, on stderr. */
void show_left(const struct undo_plan *p, const struct history *h,
	       const struct where *w);

#endif
