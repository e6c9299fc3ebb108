/*
 * Carries out a plan, all of it or nothing: every new content is written under
 * a temporary name first, then files are compared once more with what the plan
 * saw, and only then renamed, removed and changed. If a step fails, those
 * before it are taken back.
 *
 * While that is under way, a note in the state directory lists the temporary
 * names. If the process is killed, the next one finds it, removes what is left
 * and says so; the same command then does the rest, because a file that is as
 * wanted needs nothing.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_ACT_H
#define STATETAPE_TOOLS_VERB_UNDO_ACT_H

struct undo_plan;

struct act {
	int root_fd;  /* below it the plan was made */
	int state_fd; /* the state directory */
	const char *command;
};

/*
 * Clean up after a killed command, if there was one, and keep others from
 * starting meanwhile. A descriptor (close it at the end) or, after a message, a
 * negative errno.
 */
int act_begin(const struct act *a);

/* On failure prints a message and returns a negative errno: nothing changed. */
int act_plan(const struct act *a, int note_fd, const struct undo_plan *p);

#endif
