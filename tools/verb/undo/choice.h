/*
 * Which entries of the tape are undone, from the words of a command line.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_CHOICE_H
#define STATETAPE_TOOLS_VERB_UNDO_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "tools/cli/verbs.h"

struct tape_reader;

struct choice {
	ARRAY(uint64_t) entries; /* rising, each once */
	bool numbered;		 /* the user named their numbers */
};

/*
 * Do the options of `in` choose entries in one way? If not, prints a message
 * and returns false. *ret_paths: its arguments that are paths.
 */
bool choice_check(const struct invocation *in, char ***ret_paths);

/*
 * Ask the tape for them. On failure, or if there are none, prints a message and
 * returns a negative errno; -EINVAL: a wrong command line. Release `c` with
 * choice_release(), also then.
 */
int choice_read(struct choice *c, const struct invocation *in,
		struct tape_reader *t);
/* The same for redo, of which *ret_n is the argument, 0: none. */
bool choice_redo_check(const struct invocation *in, uint64_t *ret_n);
/*
 * What the newest 'statetape undo' did that no 'statetape redo' took back; or,
 * if `n` is not 0, what the one did that made entry `n`. As choice_read().
 */
int choice_redo(struct choice *c, uint64_t n, struct tape_reader *t);
void choice_release(struct choice *c);

#endif
