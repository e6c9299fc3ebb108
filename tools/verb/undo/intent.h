/*
 * What is about to be done to files, as it is written down before the first
 * step: in the state directory `undo.json`, locked meanwhile and empty
 * otherwise, and `undo.saved` with the contents that would be lost. A process
 * that was killed leaves them, and the next one takes back what it did.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_INTENT_H
#define STATETAPE_TOOLS_VERB_UNDO_INTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "graph/base/array.h"

struct undo_plan;

/* One file. */
struct intent_file {
	char *from; /* its name; NULL: there is none yet */
	char *to;   /* its new name; NULL: it is removed */
	char *via;  /* where it waits in between; NULL: it does not */
	char *temp; /* where new content waits; NULL: none is written */
	char from_hash[33], to_hash[33];
	uint32_t from_mode, to_mode; /* st_mode, 0: not known */
	/* The content that goes away; NULL: it stays. */
	const char *text;
	size_t len;
	uint32_t index; /* in the plan */
};

/* In the order in which they are done, each for all files. */
enum intent_phase {
	PHASE_STAGE, /* new contents, under temporary names */
	PHASE_REMOVE,
	PHASE_ASIDE, /* files that leave their name to another */
	PHASE_MOVE,
	PHASE_PUT, /* new contents get their names */
	PHASE_MODE,
	PHASES
};

struct intent {
	const char *command;
	bool redo;
	pid_t pid; /* of the process that does it */
	uint64_t start;
	enum intent_phase phase; /* the last one that was begun */
	ARRAY(struct intent_file) files;
	char *words, *saved; /* what the texts may point to */
};

/* Both keep what they are given. Release it with intent_release(). */
void intent_of_plan(struct intent *x, const struct undo_plan *p,
		    const char *command, bool redo);
void intent_release(struct intent *x);

/* Locked, or a negative errno, -EWOULDBLOCK: by another process. */
int intent_open(int state_fd);
int intent_write(const struct intent *x, int fd, int state_fd);
/* The phase begins. */
int intent_begin(struct intent *x, int fd, enum intent_phase phase);
void intent_clear(int fd, int state_fd);
/* What a killed process left; false: nothing. */
bool intent_read(struct intent *x, int fd, int state_fd);
/* Without the lock: the command that was interrupted (free it), or NULL. */
char *intent_left(int state_fd);

#endif
