/*
 * What the chosen entries did to each file, and where the file is now.
 *
 * A file keeps its identity over renames. Chosen entries of one file between
 * which nobody else changed it count as one change: from what was before the
 * first to what was after the last.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_HISTORY_H
#define STATETAPE_TOOLS_VERB_UNDO_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "graph/base/paths.h"

struct choice;
struct tape_reader;

/* A file at one time. */
struct undo_version {
	char *path;    /* from the root; NULL: there was none */
	char hash[33]; /* of its content */
	uint32_t mode; /* st_mode, 0: not known */
};

struct undo_change {
	uint64_t first, last; /* the entries */
	struct undo_version before, after;
};

struct undo_file {
	struct paths_node at; /* first; its name now, or when it went away */
	char *name;	      /* the same, also when another file has it now */
	bool lost;	      /* another file has that name */
	bool apart;	      /* an entry of others follows the last change */
	ARRAY(struct undo_change) changes; /* oldest first */
	/* The newest entry of others after the first change, 0: none. */
	uint64_t since;
	char *by; /* its author */
};

struct history {
	struct table names;  /* of files that have theirs */
	ARRAY(void *) files; /* struct undo_file, those with changes */
	ARRAY(char *)
	remarks;       /* sentences about entries that stay as they are */
	uint64_t head; /* the newest entry */
	bool *used;    /* by index of the patterns: did one choose something? */
};

/*
 * Read all entries from the first chosen one on. `patterns` (from the root,
 * NULL-terminated) restrict what is chosen; none: everything. On failure prints
 * a message and returns a negative errno. Release `h` with history_release(),
 * also then.
 */
int history_read(struct history *h, struct tape_reader *t,
		 const struct choice *c, char *const *patterns);
void history_release(struct history *h);

#endif
