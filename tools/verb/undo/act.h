/*
 * Carries out a plan, all of it or nothing: what is to be done is written down
 * (intent.h), every new content is written under a temporary name, then files
 * are compared once more with what the plan saw, and only then renamed, removed
 * and changed. If a step fails, or the process is killed, those before it are
 * taken back: then by the process that comes next.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_ACT_H
#define STATETAPE_TOOLS_VERB_UNDO_ACT_H

#include <stdbool.h>

struct undo_plan;

struct act {
	int root_fd;  /* below it the plan is made */
	int state_fd; /* the state directory */
	const char *command;
	bool redo;
};

/* What a killed process had begun, and this one has taken back. */
enum act_before { ACT_NONE, ACT_UNDO, ACT_REDO };

/*
 * Keep others from starting meanwhile, and take back what a killed process did,
 * with a message: so before the plan is made. A descriptor (close it at the
 * end) or, after a message, a negative errno.
 */
int act_begin(const struct act *a, enum act_before *ret);
/* Say so, if a killed process left something, and change nothing. */
void act_tell(int state_fd);

/* On failure prints a message and returns a negative errno: nothing changed. */
int act_plan(const struct act *a, int intent_fd, const struct undo_plan *p);

#endif
