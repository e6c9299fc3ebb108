/*
 * How each file becomes what it would be if the chosen entries had not
 * happened. What others changed since stays: by a merge of the text, by
 * following renames, by changing only those bits of the mode that the entries
 * changed. Where that is not possible the file is left alone as a whole.
 *
 * Making a plan changes nothing.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_PLAN_H
#define STATETAPE_TOOLS_VERB_UNDO_PLAN_H

#include "graph/base/array.h"
#include "tools/verb/undo/files.h"
#include "tools/verb/undo/merge.h"

struct history;
struct tape_reader;
struct undo_file;

enum plan_fate {
	PLAN_SAME,    /* it is so already */
	PLAN_CHANGED, /* from `now` to `then` */
	PLAN_LEFT,    /* `why` it is left alone */
};

struct plan_file {
	const struct undo_file *of;
	enum plan_fate fate;
	struct file_copy now, then;
	char *why; /* of PLAN_LEFT: the rest of a sentence */
};

struct undo_plan {
	ARRAY(struct plan_file) files; /* by name */
	size_t changed, left;
};

/*
 * Files are read below `root_fd`, contents of the past asked of `t`. `favour`
 * decides conflicts. Release `p` with undo_plan_release().
 */
void undo_plan_init(struct undo_plan *p, const struct history *h,
		    struct tape_reader *t, int root_fd,
		    enum merge_favour favour);
void undo_plan_release(struct undo_plan *p);

#endif
